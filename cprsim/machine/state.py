"""State of training: progress, checkpoints by tier and shard, and updates lost."""

import math
from typing import Any, NamedTuple

from cprsim.machine import learning, marks, node_lists, rules
from cprsim.machine.codes import NONE
from cprsim.machine.node_lists import FIRST
from cprsim.machine.rows import Running, part

_START = rules.VERIFIED


class Held(NamedTuple):
    """The content of a checkpoint.

    `progress_s`: useful seconds. `slowdown_s`: extra seconds that training them took.
    `updates_lost`: share of all updates. `reads`: bytes that a load reads, in full checkpoints.
    `marks`: bits of `cprsim.machine.rules`.
    """

    progress_s: float
    slowdown_s: float
    updates_lost: float
    reads: float
    marks: int


def taken(job: Running, reads: float) -> Held:
    """Return the content of a save that starts now."""
    run = job.run
    return Held(run.progress_s, run.slowdown_s, run.updates_lost, reads, marks.of_taken(job))


def under_way(row: Any) -> Held:
    """Return the content of the save in a flow's row or a tier's row."""
    return Held(
        row.taken_s, row.taken_slowdown_s, row.taken_updates_lost, row.taken_reads, row.taken_marks
    )


def saved(job: Running, tier: int, mirrored: bool) -> Held:
    """Return the checkpoint in a tier that the job would return to, or the job's initial state."""
    if mirrored:
        return _mirrored(job)
    if tier == NONE:
        return Held(0.0, 0.0, 0.0, 1.0, _START)
    row = last(job, tier)
    return Held(row.progress_s, row.slowdown_s, row.updates_lost, row.reads, row.marks)


def last(job: Running, tier: int) -> Any:
    """Return the last checkpoint of a tier, as a row."""
    return job.kept[job.tiers[tier].last]


def usable(job: Running, checkpoint: Held, save: Any, writes: float) -> None:
    """Count a save whose last byte is stored, and make it the last checkpoint of its tiers.

    A blocking save serves the nearer tiers as well (rule 5 of docs/semantics.md).
    """
    job.run.saves += 1
    ended(job, save, writes)
    for tier in range(0 if save.blocking else save.tier, save.tier + 1):
        _put(job, tier, checkpoint, save, writes)


def ended(job: Running, save: Any, writes: float) -> None:
    """Count the bytes of a save that has ended, failed or not, in full checkpoints."""
    job.run.stored += save.stored * writes
    job.run.sent += save.sent * writes


def _put(job: Running, tier: int, checkpoint: Held, save: Any, writes: float) -> None:
    row = last(job, tier)
    if checkpoint.progress_s < row.progress_s:
        return  # a newer checkpoint became usable earlier
    own = checkpoint.marks
    if job.plan.marked:
        # A difference of a sequence is read together with the save that it was taken from.
        own = marks.stored(job, tier, save, checkpoint.marks, checkpoint.reads > writes)
        marks.put_away(job, tier, own, checkpoint.progress_s)
        row = last(job, tier)
    set_content(row, checkpoint, checkpoint.reads)
    row.marks = own
    row.unsaved, row.unsaved_count = save.unsaved, save.unsaved_count
    complete, row.portions = rules.next_round(row.portions, save.portion)
    if complete:
        row.whole_s = checkpoint.progress_s


def set_content(row: Any, checkpoint: Held, reads: float) -> None:
    """Set what a tier's checkpoint holds."""
    row.progress_s, row.slowdown_s = checkpoint.progress_s, checkpoint.slowdown_s
    row.updates_lost, row.reads, row.marks = checkpoint.updates_lost, reads, checkpoint.marks


def roll_back(job: Running, answer: Any, down: int) -> None:
    """Return the whole job to the last usable checkpoint of a tier (rule 8 of docs/semantics.md).

    Servers in the list `down` load it; where the answer has a tier for healthy servers, the others
    return to that.
    """
    run, source = job.run, answer.source
    to = saved(job, source, answer.mirrored)
    own_marks = to.marks
    if job.plan.marked:
        own_marks = marks.returned(job, to.progress_s, to.marks, answer.mirrored, source)
    run.lost_s += run.progress_s - to.progress_s + run.slowdown_s - to.slowdown_s
    run.progress_s, run.slowdown_s = to.progress_s, to.slowdown_s
    stale = _stale(job, answer, down)
    learning.take_back(job, to.updates_lost)
    run.updates_lost = to.updates_lost
    if stale:
        run.updates_lost += stale
        for server in range(job.plan.servers):
            learning.note(job, server, _stale_s(job, answer, down, server))
    to = Held(to.progress_s, to.slowdown_s, run.updates_lost, to.reads, own_marks)
    run.returned_s, run.returned_slowdown_s = to.progress_s, to.slowdown_s
    run.returned_updates_lost = to.updates_lost
    run.epoch += 1
    run.back_since = run.epoch  # shards that were rolled back earlier are whole again
    nearer = source != NONE  # a mirror is nearer than every tier
    for tier in range(job.plan.schedules):
        # Nearer tiers are filled by the load; no tier may hold progress ahead of the job.
        if tier == source:
            _become(job, tier, to, to.reads)
            if answer.has_healthy:
                _hold(job, tier, down)
            else:
                _hold_all(job, tier)
            nearer = False
        elif nearer or last(job, tier).progress_s > to.progress_s:
            _become(job, tier, to, 1.0)
            _hold_all(job, tier)


def _become(job: Running, tier: int, to: Held, reads: float) -> None:
    """Make the checkpoint that the job has returned to the last one of a tier."""
    row = last(job, tier)
    set_content(row, to, reads)
    row.whole_s, row.portions = to.progress_s, 0.0


def _hold_all(job: Running, tier: int) -> None:
    """Record that the last checkpoint of a tier holds all of every shard."""
    job.run.epoch += 1
    job.tiers[tier].start_s, job.tiers[tier].tier_since = last(job, tier).progress_s, job.run.epoch


def _hold(job: Running, tier: int, down: int) -> None:
    """Record that the last checkpoint of a tier holds all of the shards in `down`."""
    for i in range(node_lists.server_count(job.lists, down, job.plan.servers)):
        shard = job.shards[job.lists[down][FIRST + i] * job.plan.schedules + tier]
        shard.start_s, shard.epoch = last(job, tier).progress_s, job.run.epoch


def _tier_start_s(job: Running, tier: int, server: int) -> float:
    """Return progress when a tier last held all of a shard, in useful seconds."""
    shard = job.shards[server * job.plan.schedules + tier]
    known = shard.epoch >= job.tiers[tier].tier_since
    return shard.start_s if known else job.tiers[tier].start_s


def _whole_s(job: Running, server: int, otherwise_s: float) -> float:
    """Return progress when a shard was last rolled back, in useful seconds.

    `otherwise_s` where it was not since the whole job last returned to a checkpoint.
    """
    node = job.nodes[server]
    return node.rolled_back_at_s if node.back_epoch >= job.run.back_since else otherwise_s


def _roll_shard_back(job: Running, server: int) -> None:
    node = job.nodes[server]
    node.rolled_back_at_s, node.back_epoch = job.run.progress_s, job.run.epoch


def lose(job: Running, servers: int, source: int) -> None:
    """Return the lost shards alone to the last usable checkpoint of a tier (rule 9).

    Adds to PLS (rule 23) and to the share of updates lost (rule 24).
    """
    run, per_shard = job.run, job.plan.per_shard
    last_s = whole_s = 0.0
    if source != NONE:
        last_s, whole_s = last(job, source).progress_s, last(job, source).whole_s
    lost_s = rules.lost_samples(run.progress_s, whole_s)
    for i in range(node_lists.server_count(job.lists, servers, job.plan.servers)):
        server = job.lists[servers][FIRST + i]
        run.pls += lost_s * per_shard
        whole_s = _whole_s(job, server, run.returned_s)
        unsaved_s = _updates(job, server, run.progress_s - max(whole_s, last_s))
        if whole_s < last_s:
            unsaved_s += _left(job, server, _unsaved_of(job, source, whole_s))
        run.updates_lost += unsaved_s * per_shard
        learning.note(job, server, unsaved_s)
        _roll_shard_back(job, server)


def refill(job: Running, servers: int) -> None:
    """Let rebuilt shards serve again, and count the updates that they missed as lost (rule 13)."""
    run = job.run
    for i in range(node_lists.server_count(job.lists, servers, job.plan.servers)):
        server = job.lists[servers][FIRST + i]
        missed_s = run.progress_s - _whole_s(job, server, run.returned_s)
        updates_s = _updates(job, server, missed_s)
        run.updates_lost += updates_s * job.plan.per_shard
        learning.note(job, server, updates_s)
        _roll_shard_back(job, server)


def _updates(job: Running, server: int, trained_s: float) -> float:
    """Return the updates of a shard in `trained_s` useful seconds, in seconds of a mean shard."""
    if not job.plan.uneven:
        return trained_s
    return trained_s * job.real[job.plan.updates + server] * job.plan.servers


def _left(job: Running, server: int, mean_s: float) -> float:
    """Return the updates that saves leave of a shard, where they leave `mean_s` of a mean shard."""
    if not job.plan.uneven_left:
        return mean_s
    return mean_s * job.real[job.plan.left + server] * job.plan.servers


def _leaves_nothing(job: Running, tier: int) -> bool:
    row = last(job, tier)
    return row.unsaved_count == 1 and job.real[row.unsaved] == 0.0


def _unsaved_of(job: Running, tier: int, whole_s: float) -> float:
    """Return the updates that saves of a tier leave of a shard, in useful seconds (rule 25).

    The shard was whole at progress `whole_s`.
    """
    if _leaves_nothing(job, tier):
        return 0.0
    row, period_s = last(job, tier), job.schedules[job.plan.first_schedule + tier].period_s
    left_s = part(job.real, row.unsaved, row.unsaved_count)
    return rules.updates_unsaved_s(left_s, (row.progress_s - whole_s) / period_s)


def _stale(job: Running, answer: Any, down: int) -> float:
    """Return the share of all updates that the last saves lack of the rows the job returns to."""
    if answer.source == NONE or _leaves_nothing(job, answer.source):
        return 0.0
    total_s = 0.0
    for server in range(job.plan.servers):
        total_s += _stale_s(job, answer, down, server)
    return total_s * job.plan.per_shard


def _stale_s(job: Running, answer: Any, down: int, server: int) -> float:
    """Return the same of one shard, in seconds of a mean shard."""
    tier = answer.source
    if answer.has_healthy and not node_lists.holds(job.lists, down, server):
        tier = answer.healthy
    # Rows loaded from a nearer tier stay as old in this tier as they were.
    whole_s = _whole_s(job, server, _tier_start_s(job, tier, server))
    if whole_s < last(job, tier).progress_s:
        return _left(job, server, _unsaved_of(job, tier, whole_s))
    return 0.0


def _mirrored(job: Running) -> Held:
    """Return the state that a mirror holds: the end of a full step (rule 8).

    The last full step since the job returned to a checkpoint, or `plan.behind` steps before it.
    """
    run, plan = job.run, job.plan
    trained_s = run.progress_s - run.returned_s
    steps = math.floor(trained_s / plan.step_s) - plan.behind
    if steps <= 0:
        return Held(run.returned_s, run.returned_slowdown_s, run.returned_updates_lost, 1.0, 0)
    share = min(steps * plan.step_s / trained_s, 1.0)
    slower_s = run.slowdown_s - run.returned_slowdown_s
    return Held(
        run.returned_s + share * trained_s,
        run.returned_slowdown_s + share * slower_s,
        run.returned_updates_lost,
        1.0,
        0,
    )
