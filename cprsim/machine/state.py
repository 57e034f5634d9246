"""What the job has learned, what of it is safe and where, and what was lost."""

import math
from typing import Any, NamedTuple

from cprsim.contract import rules
from cprsim.machine import marks, node_lists
from cprsim.machine.codes import NONE, TIERS
from cprsim.machine.node_lists import FIRST
from cprsim.machine.rows import Running, part

_START = rules.VERIFIED


class Held(NamedTuple):
    """As `cprsim.sim.state.Checkpoint`."""

    progress_s: float
    slowdown_s: float
    updates_lost: float
    reads: float
    marks: int


def taken(it: Running, reads: float) -> Held:
    """What a save that starts now will hold."""
    run = it.run
    return Held(run.progress_s, run.slowdown_s, run.updates_lost, reads, marks.of_taken(it))


def under_way(row: Any) -> Held:
    """What the save of a flow, or of a tier's row, will hold."""
    return Held(
        row.taken_s, row.taken_slowdown_s, row.taken_updates_lost, row.taken_reads, row.taken_marks
    )


def saved(it: Running, tier: int, mirrored: bool) -> Held:
    """What the job would return to from that tier; its initial state where nothing is saved."""
    if mirrored:
        return _mirrored(it)
    if tier == NONE:
        return Held(0.0, 0.0, 0.0, 1.0, _START)
    return Held(
        it.tiers[tier].last_s,
        it.tiers[tier].last_slowdown_s,
        it.tiers[tier].last_updates_lost,
        it.tiers[tier].last_reads,
        it.tiers[tier].last_marks,
    )


def usable(it: Running, checkpoint: Held, save: Any, writes: float) -> None:
    """The last byte of it is stored; a blocking save is in the nearer tiers, too."""
    it.run.saves += 1
    ended(it, save, writes)
    for tier in range(0 if save.blocking else save.tier, save.tier + 1):
        _put(it, tier, checkpoint, save)


def ended(it: Running, save: Any, writes: float) -> None:
    """All of its bytes were written, be it void or not."""
    it.run.stored += save.stored * writes
    it.run.sent += save.sent * writes


def _put(it: Running, tier: int, checkpoint: Held, save: Any) -> None:
    if checkpoint.progress_s < it.tiers[tier].last_s:
        return  # a newer one was usable before it
    own = checkpoint.marks
    if it.plan.marked:
        own = marks.stored(it, tier, save, checkpoint.marks, checkpoint.reads)
        marks.put_away(it, tier)
    set_last(it, tier, checkpoint, checkpoint.reads)
    it.tiers[tier].last_marks = own
    it.tiers[tier].unsaved, it.tiers[tier].unsaved_count = save.unsaved, save.unsaved_count
    complete, it.tiers[tier].portions = rules.r25_round(it.tiers[tier].portions, save.portion)
    if complete:
        it.tiers[tier].whole_s = checkpoint.progress_s


def set_last(it: Running, tier: int, checkpoint: Held, reads: float) -> None:
    """The last checkpoint that a tier holds."""
    it.tiers[tier].last_s = checkpoint.progress_s
    it.tiers[tier].last_slowdown_s = checkpoint.slowdown_s
    it.tiers[tier].last_updates_lost = checkpoint.updates_lost
    it.tiers[tier].last_reads = reads
    it.tiers[tier].last_marks = checkpoint.marks


def roll_back(
    it: Running, source: int, mirrored: bool, has_healthy: bool, healthy: int, down: int
) -> None:
    """The whole job returns to the last usable checkpoint of a tier."""
    run = it.run
    to = saved(it, source, mirrored)
    own_marks = to.marks
    if it.plan.marked:
        own_marks = rules.r35_returned(to.marks, mirrored, marks.is_corrupt(it))
        marks.returned(it, to.progress_s, own_marks, source)
    run.lost_s += run.progress_s - to.progress_s + run.slowdown_s - to.slowdown_s
    run.progress_s, run.slowdown_s = to.progress_s, to.slowdown_s
    stale = _stale(it, source, has_healthy, healthy, down)
    run.updates_lost = to.updates_lost
    if stale:
        run.updates_lost += stale
    to = Held(to.progress_s, to.slowdown_s, run.updates_lost, to.reads, own_marks)
    run.returned_s, run.returned_slowdown_s = to.progress_s, to.slowdown_s
    run.returned_updates_lost = to.updates_lost
    run.epoch += 1
    run.back_since = run.epoch  # shards that were set back before are whole again
    nearer = source != NONE  # a mirror is nearer than all of them
    for tier in range(it.plan.schedules):
        # Nearer tiers are filled on the way; none may hold what the job has yet to do again.
        if tier == source:
            _become(it, tier, to, to.reads)
            if has_healthy:
                _hold(it, tier, down)
            else:
                _hold_all(it, tier)
            nearer = False
        elif nearer or it.tiers[tier].last_s > to.progress_s:
            _become(it, tier, to, 1.0)
            _hold_all(it, tier)


def _become(it: Running, tier: int, to: Held, reads: float) -> None:
    """Hold what the job has returned to."""
    set_last(it, tier, to, reads)
    it.tiers[tier].whole_s, it.tiers[tier].portions = to.progress_s, 0.0


def _hold_all(it: Running, tier: int) -> None:
    """No shard is older there than what it has become."""
    it.run.epoch += 1
    it.tiers[tier].start_s, it.tiers[tier].tier_since = it.tiers[tier].last_s, it.run.epoch


def _hold(it: Running, tier: int, down: int) -> None:
    """Only these servers' rows are no older there than what it has become."""
    for i in range(node_lists.server_count(it.lists, down, it.plan.servers)):
        shard = it.shards[it.lists[down][FIRST + i] * TIERS + tier]
        shard.start_s, shard.epoch = it.tiers[tier].last_s, it.run.epoch


def _tier_start_s(it: Running, tier: int, server: int) -> float:
    """Progress when a tier last held all of that shard."""
    shard = it.shards[server * TIERS + tier]
    known = shard.epoch >= it.tiers[tier].tier_since
    return shard.start_s if known else it.tiers[tier].start_s


def _whole_s(it: Running, server: int, otherwise_s: float) -> float:
    """Progress when that shard was last set back, if it was since the job returned."""
    node = it.nodes[server]
    return node.set_back_s if node.back_epoch >= it.run.back_since else otherwise_s


def _set_back(it: Running, server: int) -> None:
    node = it.nodes[server]
    node.set_back_s, node.back_epoch = it.run.progress_s, it.run.epoch


def lose(it: Running, servers: int, source: int) -> None:
    """The shards of these servers alone return to the last usable checkpoint of a tier."""
    run, per_shard = it.run, it.plan.per_shard
    last_s = it.tiers[source].last_s if source != NONE else 0.0
    lost_s = rules.r23_lost(run.progress_s, it.tiers[source].whole_s if source != NONE else 0.0)
    for i in range(node_lists.server_count(it.lists, servers, it.plan.servers)):
        server = it.lists[servers][FIRST + i]
        run.pls += lost_s * per_shard
        whole_s = _whole_s(it, server, run.returned_s)
        unsaved_s = _updates(it, server, run.progress_s - max(whole_s, last_s))
        if whole_s < last_s:
            unsaved_s += _left(it, server, _unsaved_of(it, source, whole_s))
        run.updates_lost += unsaved_s * per_shard
        _set_back(it, server)


def refill(it: Running, servers: int) -> None:
    """These shards serve again; what was trained while they were down passed them by."""
    run = it.run
    for i in range(node_lists.server_count(it.lists, servers, it.plan.servers)):
        server = it.lists[servers][FIRST + i]
        whole_s = _whole_s(it, server, run.returned_s)
        run.updates_lost += _updates(it, server, run.progress_s - whole_s) * it.plan.per_shard
        _set_back(it, server)


def _updates(it: Running, server: int, trained_s: float) -> float:
    """What this shard learns in so many useful seconds, in seconds of a mean one."""
    if not it.plan.uneven:
        return trained_s
    return trained_s * it.real[it.plan.updates + server] * it.plan.servers


def _left(it: Running, server: int, mean_s: float) -> float:
    """What saves leave of this shard, where they leave so much of a mean one."""
    if not it.plan.uneven_left:
        return mean_s
    return mean_s * it.real[it.plan.left + server] * it.plan.servers


def _leaves_nothing(it: Running, tier: int) -> bool:
    return it.tiers[tier].unsaved_count == 1 and it.real[it.tiers[tier].unsaved] == 0.0


def _unsaved_of(it: Running, tier: int, whole_s: float) -> float:
    """What its saves leave of a shard that was whole at `whole_s`, useful seconds of updates."""
    if _leaves_nothing(it, tier):
        return 0.0
    first = it.tiers[tier].unsaved
    period_s = it.schedules[it.plan.first_schedule + tier].period_s
    left_s = part(it.real, first, it.tiers[tier].unsaved_count)
    return rules.r25_unsaved_s(left_s, (it.tiers[tier].last_s - whole_s) / period_s)


def _stale(it: Running, source: int, has_healthy: bool, healthy: int, down: int) -> float:
    """Share of updates that the last saves have left of the rows that the job returns to."""
    if source == NONE or _leaves_nothing(it, source):
        return 0.0
    total_s = 0.0
    for server in range(it.plan.servers):
        tier = source
        if has_healthy and not node_lists.holds(it.lists, down, server):
            tier = healthy
        # Rows that came back from a nearer tier are as old in this one as they were.
        whole_s = _whole_s(it, server, _tier_start_s(it, tier, server))
        if whole_s < it.tiers[tier].last_s:
            total_s += _left(it, server, _unsaved_of(it, tier, whole_s))
    return total_s * it.plan.per_shard


def _mirrored(it: Running) -> Held:
    """The end of the last full step since the job returned, or so many steps before it."""
    run, plan = it.run, it.plan
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
