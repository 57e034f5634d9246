"""Rows of the state of one run: the run, its tiers, checkpoints, flows, machines and nodes."""

from cprsim.machine.rows import Row, Six


class RunRow(Row):
    """The state of one run."""

    # Status; wall clock; instants of the next failure and of the next end of a flow, s.
    status: int = 0
    now: float = 0.0
    next_s: float = 0.0
    next_end_s: float = 0.0

    # The phase: volume, rate on free links, start, end, volume done; its flow where others may slow
    # it down; progress at its start, and progress to train to.
    phase: int = 0
    volume: float = 0.0
    rate: float = 0.0
    began_s: float = 0.0
    ends_s: float = 0.0
    done: float = 0.0
    foreground: int = 0
    from_s: float = 0.0
    to_s: float = 0.0

    # Whether a flow has ended meanwhile, which interrupts training.
    news: bool = False

    # Progress and lost training, s; portion of lost samples; share of updates lost; bytes written
    # to the store and to peers, in full checkpoints.
    progress_s: float = 0.0
    slowdown_s: float = 0.0
    lost_s: float = 0.0
    pls: float = 0.0
    updates_lost: float = 0.0
    stored: float = 0.0
    sent: float = 0.0

    # Counts: failures, saves, failures masked by the timeline and by the job, saves in a row
    # without training, failed saves and loads, open flows, failures waiting for machines,
    # losses that a checkpoint may take back.
    failures: int = 0
    saves: int = 0
    absorbed: int = 0
    passed: int = 0
    idle_saves: int = 0
    wasted: int = 0
    flows: int = 0
    comings: int = 0
    losses: int = 0

    # State that the job last returned to; counter of rollbacks, and its value at that return: a
    # shard set back since has a later one.
    returned_s: float = 0.0
    returned_slowdown_s: float = 0.0
    returned_updates_lost: float = 0.0
    epoch: int = 0
    back_since: int = 0

    # The save that training waits for, its start, bytes written and read in full checkpoints; the
    # phase that a failure has interrupted, and the rest of its volume.
    saving: int = 0
    hold_s: float = 0.0
    writes: float = 0.0
    reads: float = 0.0
    held: int = 0
    held_left: float = 0.0

    # Verification: progress at the last one, saves begun since; training undone by rollbacks, s;
    # silent faults so far, and whether one is in the state; torn checkpoints yet to be loaded.
    verified_s: float = 0.0
    begun: int = 0
    redone_s: float = 0.0
    faults: int = 0
    corrupt: bool = False
    torn: bool = False
    torn_loads: int = 0

    # The recovery: the deepest answer and its depth; whether the other nodes train on; whether
    # failures strike while it waits; whether they strike again only after the load; whether
    # another failure has cut the wait; the rest of the wait, s; start and volume of the load.
    deepest: int = 0
    depth: int = 0
    trains_on: bool = False
    fails_while_waiting: bool = False
    fails_after_load: bool = False
    wait_cut: bool = False
    wait_s: float = 0.0
    load_s: float = 0.0
    load_volume: float = 0.0

    # Schedules: progress at which a save is due next, and progress to train to now; the last
    # rollback: its tier, its answer, and servers down; the answer that a sequence has chosen.
    train_s: float = 0.0
    train_to_s: float = 0.0
    source: int = 0
    answered: int = 0
    answered_down: float = 0.0
    chosen: int = 0

    # Sequences: start of the measurement, and saves and seconds measured; progress at the last
    # rollback of a rotation, the rotation, and the updates lost in it.
    since_s: float = 0.0
    since_progress_s: float = 0.0
    timed_saves: float = 0.0
    saving_s: float = 0.0
    turned_s: float = 0.0
    rotation: int = 0
    rotation_lost_s: float = 0.0

    # The transfer of a useful second; whether it is up to date with the nodes that are down.
    training: int = 0
    knows_degraded: bool = False

    # Failures and bursts passed; the failure that struck last, by number, and how its nodes
    # are cured (`restarts.py`); whether failures strike; rest of a paused gap, s.
    struck: int = 0
    last_struck: int = 0
    restart: int = 0
    bursts: int = 0
    running: bool = False
    paused_s: float = 0.0

    # Random numbers used: for saves and for loads.
    void: int = 0
    load: int = 0

    # Starts and shutdowns so far; whether the compile cache is warm; whether the job stops; when
    # it may get nodes, and got them, s; progress at the start of the allocation.
    starts: int = 0
    ends: int = 0
    warm: bool = False
    stops: bool = False
    until_s: float = 0.0
    nodes_s: float = 0.0
    allocation_began_s: float = 0.0
    handing_over: bool = False

    # Notices: instants of the failure last announced and of the next timer, s; progress last
    # saved; deadlines for a save and for a drain, s; nodes to drain; false alarms so far.
    told_s: float = 0.0
    notice_s: float = 0.0
    stored_s: float = 0.0
    deadline_s: float = 0.0
    drain_by_s: float = 0.0
    drained_nodes: int = 0
    alarms: int = 0

    # Working memory: the levels at which links are full.
    full_at: Six


class TierRow(Row):
    """State of a run by schedule, of its tier, and of its save in `fast_background.py`."""

    # Progress at which the next save is due, its period, and saves under way.
    due_s: float = 0.0
    period_s: float = 0.0
    pending: int = 0

    # The last checkpoint, with the numbers of `state.Held`.
    last_s: float = 0.0
    last_slowdown_s: float = 0.0
    last_updates_lost: float = 0.0
    last_reads: float = 0.0
    last_marks: int = 0

    # Progress at the last full round, and at which all shards were whole; portions since; epoch of
    # that; place in `real` of the updates that the last save leaves, and their count.
    whole_s: float = 0.0
    start_s: float = 0.0
    portions: float = 0.0
    tier_since: int = 0
    unsaved: int = 0
    unsaved_count: int = 0

    # Older checkpoints, in a ring of rows of `kept`.
    kept_first: int = 0
    kept_count: int = 0

    # Last links of the chain that were taken, and that are stored.
    taken_link: int = 0
    stored_link: int = 0

    # The background save in a fast path: its order, instants, and content.
    under_way: int = 0
    order: int = 0
    begins_s: float = 0.0
    lands_s: float = 0.0
    writes: float = 0.0
    taken_s: float = 0.0
    taken_slowdown_s: float = 0.0
    taken_updates_lost: float = 0.0
    taken_reads: float = 0.0
    taken_marks: int = 0


class KeptRow(Row):
    """A checkpoint that a tier keeps before its last."""

    last_s: float = 0.0
    last_slowdown_s: float = 0.0
    last_updates_lost: float = 0.0
    last_reads: float = 0.0
    last_marks: int = 0
    whole_s: float = 0.0
    portions: float = 0.0
    unsaved: int = 0
    unsaved_count: int = 0


class LinkRow(Row):
    """A checkpoint in a chain of differences: stored, under way, or chosen last.

    `diffs`: differences since the baseline; `total`, `last`: size of all of them and of the last,
    in baselines. `base_s`, `taken_s`: progress at the baseline and at the checkpoint itself.
    `reads`, `writes`: bytes, and `whole` those of the baseline, in full checkpoints.
    """

    has_link: bool = False
    diffs: int = 0
    base_s: float = 0.0
    taken_s: float = 0.0
    total: float = 0.0
    last: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    whole: float = 0.0


class FlowRow(Row):
    """A flow in the background, or foreground work that such flows may slow down."""

    # Kind; the save; of lost nodes the answer, and lists of nodes that are down and to be placed.
    kind: int = 0
    save: int = 0
    answer: int = 0
    down: int = 0
    place: int = 0

    # Volume, and volume done; since `since_s` it grows from `done_then` at `rate`; largest rate,
    # share of a full link, end and start.
    volume: float = 0.0
    done: float = 0.0
    done_then: float = 0.0
    since_s: float = 0.0
    rate: float = 0.0
    limit: float = 0.0
    share: float = 0.0
    ends_at: float = 0.0
    opened_s: float = 0.0

    # Whether it draws on links, and on which; working memory of `fabric.py`: rate of the flow, and
    # whether it still rises.
    linked: bool = False
    uses: Six
    rises: bool = False
    taken_rate: float = 0.0

    # Content of a save; start of this try of a save or a load, s.
    writes: float = 0.0
    taken_s: float = 0.0
    taken_slowdown_s: float = 0.0
    taken_updates_lost: float = 0.0
    taken_reads: float = 0.0
    taken_marks: int = 0
    began_s: float = 0.0


class ComingRow(Row):
    """Replacement machines on their way after one failure.

    `hit`, `lost`: lists of the nodes that need machines, and of those with state to lose.
    `left_s`: seconds until the machines come.
    """

    hit: int = 0
    lost: int = 0
    left_s: float = 0.0


class NodeRow(Row):
    """A node: how often it was replaced and when last; of a server, its last rollback alone.

    `set_back_s`: progress at that rollback. It counts where `back_epoch` is no less than
    `back_since` of the run: otherwise the whole job has returned to a checkpoint since. `lost_s`:
    useful seconds in which the shard gets as many updates as it has lost for good. `bad`,
    `repairs`, `is_away` and `stays`: of its machine, whether it fails more often, how often it was
    repaired, whether it is down, and whether it restarts in place then.
    """

    generation: int = 0
    placed_s: float = 0.0
    bad: bool = False
    repairs: int = 0
    is_away: bool = False
    stays: bool = False
    set_back_s: float = 0.0
    back_epoch: int = 0
    lost_s: float = 0.0


class LossRow(Row):
    """Updates of a shard that were lost for good (`learning.py`).

    `lost_s`: of its node, before; `updates_lost`: of the run, afterwards.
    """

    server: int = 0
    lost_s: float = 0.0
    updates_lost: float = 0.0


class ShardRow(Row):
    """Progress at which a tier last held all of a shard.

    It counts where `epoch` is no less than `tier_since`: otherwise `start_s` of the tier does.
    """

    start_s: float = 0.0
    epoch: int = 0
