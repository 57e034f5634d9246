"""Rows of the state of one run: the run, its tiers, checkpoints, flows, machines and nodes."""

import math
from typing import Any

from cprsim.machine.codes import CAUSE_NAMES, NONE
from cprsim.machine.node_lists import FIRST, FIXED
from cprsim.machine.plan_rows import TransferRow
from cprsim.machine.rows import Row, of_columns
from cprsim.machine.rules import VERIFIED


@of_columns
class RunRow(Row):
    """The state of one run."""

    # Status; wall clock; instants of the next failure and of the next end of a flow, s.
    status = 0
    now = next_s = 0.0
    next_end_s = math.inf

    # The phase: volume, rate on free links, start, end, volume done; its flow where others may slow
    # it down; progress at its start, and progress to train to.
    phase, foreground = 0, NONE
    volume = rate = began_s = ends_s = done = from_s = to_s = 0.0

    # Whether a flow has ended meanwhile, which interrupts training.
    news = False

    # Progress and lost training, s; portion of lost samples; share of updates lost; bytes written
    # to the store and to peers, in full checkpoints.
    progress_s = slowdown_s = lost_s = pls = updates_lost = stored = sent = 0.0

    # Counts: failures, saves, failures masked by the timeline and by the job, saves in a row
    # without training, failed saves and loads, open flows, failures waiting for machines,
    # losses that a checkpoint may take back.
    failures = saves = absorbed = masked = idle_saves = wasted = flows = comings = losses = 0

    # State that the job last returned to; counter of rollbacks, and its value at that return: a
    # shard rolled back since has a later one.
    returned_s = returned_slowdown_s = returned_updates_lost = 0.0
    epoch = back_since = 0

    # The save that training waits for, its start, bytes written and read in full checkpoints; the
    # phase that a failure has interrupted, and the rest of its volume.
    saving = held = NONE
    hold_s = writes = reads = held_left = 0.0

    # Verification: progress at the last one, saves begun since; training undone by rollbacks, s;
    # silent faults so far, and whether one is in the state; torn checkpoints yet to be loaded.
    verified_s = redone_s = 0.0
    begun = faults = torn_loads = 0
    corrupt = torn = False

    # The recovery: the deepest answer and its depth; whether the other nodes train on; whether
    # failures strike while it waits; whether they strike again only after the load; whether
    # another failure has cut the wait; the rest of the wait, s; start and volume of the load.
    deepest_answer = depth = 0
    trains_on = can_fail_while_waiting = failures_resume_after_load = wait_cut = False
    wait_s = load_s = load_volume = 0.0

    # Schedules: progress at which a save is due next, and progress to train to now; the last
    # rollback: its tier, its answer, and servers down; the answer that a sequence has chosen.
    train_s = train_to_s = answered_down = 0.0
    source = answered = chosen = NONE

    # Sequences: start of the measurement, and saves and seconds measured; progress at the last
    # rollback of a rotation, the rotation, and the updates lost in it.
    since_s = since_progress_s = timed_saves = saving_s = turned_s = rotation_lost_s = 0.0
    rotation = 0

    # The transfer of a useful second; whether it is up to date with the nodes that are down.
    training, knows_degraded = 0, True

    # Failures and bursts passed; the failure that struck last, by number, and how its nodes
    # are cured (`restarts.py`); whether failures strike; rest of a paused gap, s.
    struck = last_struck = restart = bursts = 0
    running = True
    paused_s = 0.0

    # Random numbers used: for saves and for loads.
    void = load = 0

    # Starts and shutdowns so far; whether the compile cache is warm; whether the job stops; when
    # it may get nodes, and got them, s; progress at the start of the allocation.
    starts = ends = 0
    warm = stops = handing_over = False
    until_s = nodes_s = allocation_began_s = 0.0

    # Notices: instants of the failure last announced and of the next timer, s; progress last
    # saved; deadlines for a save and for a drain, s; nodes to drain; false alarms so far.
    told_s = notice_s = deadline_s = -math.inf
    stored_s, drain_by_s = 0.0, math.inf
    drained_nodes = alarms = 0

    # Working memory: the levels at which links are full.
    full_at = (0.0,) * 6


@of_columns
class TierRow(Row):
    """State of a run by schedule, of its tier, and of its save in `fast_background.py`."""

    # Progress at which the next save is due, its period, and saves under way.
    due_s = period_s = 0.0
    pending = 0

    # Place in `kept` of its last checkpoint, and how many older ones it keeps, in a ring.
    last = kept_count = 0

    # Progress at which all shards were whole, and its epoch.
    start_s = 0.0
    tier_since = 0

    # Last links of the chain that were taken, and that are stored; whether the last whole save is
    # torn, which differences may be taken from.
    taken_link = stored_link = 0
    torn_base = False

    # The background save in a fast path: its order, instants, and content.
    under_way = order = taken_marks = 0
    begins_s = lands_s = writes = taken_s = taken_slowdown_s = taken_updates_lost = 0.0
    taken_reads = 0.0


@of_columns
class CheckpointRow(Row):
    """A checkpoint of a tier, in a new row the initial state of the job."""

    # The numbers of `state.Held`.
    progress_s = slowdown_s = updates_lost = 0.0
    reads = 1.0
    marks = VERIFIED

    # Progress at the last full round of saves, and portions since; place in `real` of the updates
    # that this save leaves, and their count.
    whole_s = portions = 0.0
    unsaved = 0
    unsaved_count = 1

    # Progress at the first of those that lie in this place, if torn ones do (rule 35).
    first_s = 0.0


@of_columns
class LinkRow(Row):
    """A checkpoint in a chain of differences: stored, under way, or chosen last.

    `diffs`: differences since the baseline; `total`, `last`: size of all of them and of the last,
    in baselines. `base_s`, `taken_s`: progress at the baseline and at the checkpoint itself.
    `reads`, `writes`: bytes, and `whole` those of the baseline, in full checkpoints.
    """

    has_link = False
    diffs = 0
    base_s = taken_s = total = last = reads = writes = whole = 0.0


@of_columns
class FlowRow(Row):
    """A flow in the background, or foreground work that such flows may slow down."""

    # Kind; the save; of lost nodes the answer, and lists of nodes that are down and to be placed.
    kind = save = answer = down = place = 0

    # Volume, and volume done; since `since_s` it grows from `done_then` at `rate`; largest rate,
    # share of a full link, end and start.
    volume = done = done_then = since_s = rate = limit = share = ends_at = opened_s = 0.0

    # Whether it draws on links, and on which; working memory of `fabric.py`: rate of the flow, and
    # whether it still rises.
    linked = rises = False
    uses = (0.0,) * 6
    taken_rate = 0.0

    # Content of a save; start of this try of a save or a load, s.
    writes = taken_s = taken_slowdown_s = taken_updates_lost = taken_reads = began_s = 0.0
    taken_marks = 0


@of_columns
class ComingRow(Row):
    """Replacement machines on their way after one failure.

    `hit`, `lost`: lists of the nodes that need machines, and of those with state to lose.
    `left_s`: seconds until the machines come.
    """

    hit = lost = 0
    left_s = 0.0


@of_columns
class NodeRow(Row):
    """A node: how often it was replaced and when last; of a server, its last rollback alone.

    `rolled_back_at_s`: progress at that rollback. It counts where `back_epoch` is no less than
    `back_since` of the run: otherwise the whole job has returned to a checkpoint since. `lost_s`:
    useful seconds in which the shard gets as many updates as it has lost for good. `bad`,
    `repairs`, `is_away` and `stays`: of its machine, whether it fails more often, how often it was
    repaired, whether it is down, and whether it restarts in place then.
    """

    generation = repairs = back_epoch = 0
    placed_s = rolled_back_at_s = lost_s = 0.0
    bad = is_away = stays = False


@of_columns
class LossRow(Row):
    """Updates of a shard that were lost for good (`learning.py`).

    `lost_s`: of its node, before; `updates_lost`: of the run, afterwards.
    """

    server = 0
    lost_s = updates_lost = 0.0


@of_columns
class ShardRow(Row):
    """Progress at which a tier last held all of a shard.

    It counts where `epoch` is no less than `tier_since`: otherwise `start_s` of the tier does.
    """

    start_s = 0.0
    epoch = 0


def working_memory(
    servers: int, nodes: int, tiers: int, older: int, leaves: int, spares: int, flows: int
) -> dict[str, tuple[Any, Any]]:
    """Return the kind and the length of each table of a run, by its name in `Running`, in order.

    `older`: checkpoints that a tier keeps before its last. `flows`: how many flows, and failures
    waiting for machines, there is room for. Of lists: their number, and the length of each.
    """
    return {
        "states": (RunRow, 2),
        "tiers": (TierRow, tiers),
        "kept": (CheckpointRow, tiers * (older + 1) + 1),
        "links": (LinkRow, 3),
        "spent": (float, len(CAUSE_NAMES)),
        "flows": (FlowRow, flows),
        "ended": (FlowRow, flows),
        "comings": (ComingRow, flows),
        "lists": (int, (FIXED + 4 * flows, FIRST + 4 * nodes + flows)),
        "nodes": (NodeRow, nodes),
        "shards": (ShardRow, servers * tiers),
        "losses": (LossRow, 4 * servers + 8 * flows),
        "tree": (float, 2 * leaves),
        "ready_s": (float, spares + 1),
        "rated": (TransferRow, 2),
    }
