"""Rows of numbers for plans and runs; a row refers to rows of other tables by their places."""

import math
from typing import Annotated, Any, Final, NamedTuple

from cprsim.job.platform import (
    SERVER_IN,
    SERVER_OUT,
    STORE_READ,
    STORE_WRITE,
    TRAINER_IN,
    TRAINER_OUT,
)
from cprsim.machine.codes import NONE

LINKS: Final = (SERVER_OUT, SERVER_IN, TRAINER_OUT, TRAINER_IN, STORE_WRITE, STORE_READ)


Six = Annotated[list[float], 6]
Four = Annotated[list[float], 4]


class Row:
    """Numbers by name; the compiled engine has records of the same columns instead."""

    # Each column's value in a new row; lengths of the columns that are lists, one for each row.
    _zeros: dict[str, Any]
    _lists: dict[str, int]

    def __init_subclass__(cls) -> None:
        columns = cls.__annotations__.items()
        cls._lists = {n: c.__metadata__[0] for n, c in columns if hasattr(c, "__metadata__")}
        cls._zeros = {name: getattr(cls, name, None) for name, _ in columns}

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(self._zeros)
        for name, count in self._lists.items():
            self.__dict__[name] = [0.0] * count
        self.__dict__.update(values)

    def become(self, other: "Row") -> None:
        """Copy all numbers of another row."""
        for name, value in other.__dict__.items():
            setattr(self, name, value.copy() if isinstance(value, list) else value)


class TransferRow(Row):
    """A transfer (`cprsim.job.transfer.Transfer`)."""

    # Bytes or seconds; their largest rate per second: by its cap, and with free links.
    volume: float = 0.0
    cap: float = 0.0
    limit: float = 0.0

    # Weight per unit; whether it draws on links, and units of each link per unit of volume.
    share: float = 0.0
    linked: bool = False
    uses: Six


class SaveRow(Row):
    """A save (`cprsim.contract.Save`)."""

    # Tier and transfer, by number; place in `real` of the updates that it leaves unsaved after 1,
    # 2, ... saves, in useful seconds (rule 25), and their count.
    tier: int = 0
    transfer: int = 0
    unsaved: int = 0
    unsaved_count: int = 0

    # Whether training waits for its end; whether a failed save is tried again; whether it can fail;
    # whether it leaves no rows to other saves.
    blocking: bool = False
    tries_again: bool = False
    can_be_void: bool = False
    alone: bool = False

    # Share of the rows; bytes that a load reads, and bytes written to the store and to peers, in
    # full checkpoints; seconds that training waits for the snapshot of a background save; volume
    # added to each save, whatever its size.
    portion: float = 0.0
    reads: float = 0.0
    stored: float = 0.0
    sent: float = 0.0
    snapshot_s: float = 0.0
    besides: float = 0.0


class ScheduleRow(Row):
    """A schedule of saves to one tier (`cprsim.contract.Schedule`), and its chain."""

    # Useful seconds between two saves: the current plan, and the first period.
    period_s: float = 0.0
    first_period_s: float = 0.0

    # Largest number of saves under way; the save; place of the chain in `whole`, and its links.
    most: int = 0
    save: int = 0
    chain: int = 0
    links: int = 0

    # Whether its saves and training never slow each other; whether its tier keeps older
    # checkpoints; whether the tier is live: copies that train along, in which no mark lasts.
    beside: bool = False
    keeps_older: bool = False
    live: bool = False


class AnswerRow(Row):
    """An answer to a loss (`cprsim.contract.Recover`)."""

    # Depth of the rollback; tier that lost nodes return to, and tier that nodes which are up return
    # to; whether the job returns to a mirror.
    depth: int = 0
    source: int = 0
    healthy: int = 0
    has_healthy: bool = False
    mirrored: bool = False

    # Transfers: a useful second while nodes are down; a load where no server and where one server
    # is down; units of the store per unit of volume for each further server. The answer by which
    # replacements are filled.
    training: int = 0
    nothing: int = 0
    load: int = 0
    each: float = 0.0
    fills: int = 0

    # Whether the other nodes train on; lost shards come from copies or parities; loads can fail;
    # other servers serve the lost shards until replacements come; all processes restart.
    keep: bool = False
    made_anew: bool = False
    can_fail: bool = False
    regrows: bool = False
    starts_again: bool = False

    # Shards read for each lost shard; seconds to put a replacement into its place; seconds until
    # other nodes have taken over.
    reads: float = 0.0
    takeover_s: float = 0.0
    pause_s: float = 0.0


class CaseRow(Row):
    """A set of losses and their answer (`cprsim.contract.Case`)."""

    # The answer; severities, one bit each.
    answer: int = 0
    severities: int = NONE

    # Place in `whole` of the sets of servers, one of which must be down entirely; number of sets
    # of each server, and servers in each set.
    sets: int = 0
    count: int = 0
    width: int = 0

    # Bounds on the numbers of servers and trainers that are down.
    least_servers: float = 0.0
    most_servers: float = 0.0
    least_trainers: float = 0.0
    most_trainers: float = 0.0


class PlanRow(Row):
    """A plan and its job."""

    # Servers, all nodes, leaves of the tree of their lives; spare machines; source of failures.
    servers: int = 0
    nodes: int = 0
    leaves: int = 0
    spares: int = 0
    source: int = 0

    # First schedule and first case, by number, and their counts.
    schedules: int = 0
    first_schedule: int = 0
    cases: int = 0
    first_case: int = 0

    # The last save of a job, and how many saves to its tier may be under way; the transfer of a
    # useful second; links that flows may fill, one bit each.
    last_save: int = 0
    most_last: int = 0
    last_mirrored: bool = False
    training: int = 0
    tight: int = 0

    # Whether the policy's own code decides; whether training runs at full speed; which fast path
    # fits: `turns.py`, `beside.py`.
    own: bool = False
    unslowed: bool = False
    in_turn: bool = False
    beside: bool = False

    # The job: useful seconds, its options, and seconds of detection and of rescheduling.
    useful_s: float = 0.0
    nearly_done_s: float = 0.0
    final_save: bool = False
    during_recovery: bool = False
    while_waiting: bool = False
    holds_nodes: bool = False
    detect_s: float = 0.0
    delay_s: float = 0.0
    reschedule_s: float = 0.0

    # Restarts in place: severities that are cured so, one bit each; seconds of a restart, and the
    # probability that it fails.
    restarts: int = 0
    restart_s: float = 0.0
    restart_fails: float = 0.0

    # Seconds to form the group of processes again where not all nodes return.
    regroup_s: float = 0.0

    # Share of all updates that a shard makes in a useful second. Places in `real` of the shares of
    # each shard: of all updates, and of the updates that saves leave.
    per_shard: float = 0.0
    updates: int = 0
    uneven: bool = False
    left: int = 0
    uneven_left: bool = False

    # The mirror: seconds of a step, and the number of steps that it is behind.
    step_s: float = 0.0
    behind: float = 0.0

    # Probabilities that a save fails, that a load fails, that a save is torn; whether the store
    # has outages; whether saves are checked for being torn.
    save_fails: float = 0.0
    load_fails: float = 0.0
    torn: float = 0.0
    has_outages: bool = False
    checksum: bool = False

    # Whether checkpoints have marks (rule 34), and how many a tier keeps before its last.
    marked: bool = False
    older: int = 0

    # Verification: saves between two, and seconds; place in `whole` of the answers that return to a
    # verified checkpoint of each tier; the one that returns to the initial state.
    verifies: bool = False
    verify_every: int = 0
    verify_s: float = 0.0
    returns: int = 0
    last_return: int = 0

    # The sequence that chooses saves, and its interval in useful seconds.
    sequence: int = 0
    interval_s: float = 0.0

    # Growing intervals: useful seconds added, and the overhead of a save above which they are.
    more_s: float = 0.0
    max_overhead: float = 0.0

    # Learned intervals: prior MTBF, its weight in failures, prior cost of a save; partial recovery:
    # its interval in MTBFs, the seconds it spares, and the two answers to choose from.
    prior_mtbf_s: float = 0.0
    prior_weight: float = 0.0
    prior_save_s: float = 0.0
    partial_mtbfs: float = 0.0
    spared_s: float = 0.0
    partial_answer: int = 0
    full_answer: int = 0

    # Rotations of experts: their count, place of their saves in `whole`, servers, and the updates
    # lost above which the next rotation is taken, in useful seconds.
    rotations: int = 0
    rotations_at: int = 0
    rotation_servers: int = 0
    limit_s: float = 0.0

    # Differences: variant; useful seconds from one merging to the next; sizes of a baseline and of
    # the tracked rows, in full checkpoints; place in `real` and number of the points of the
    # modified share.
    variant: int = 0
    merge_s: float = 0.0
    whole: float = 0.0
    rows: float = 0.0
    at: int = 0
    points: int = 0

    # Starts; allocations, in seconds; the answer by which the next allocation loads.
    starts: bool = False
    cache_on_node: bool = False
    start_costs: Four
    allocated: bool = False
    allocation_s: float = 0.0
    stop_s: float = 0.0
    hands_over: int = 0

    # Notices: seconds ahead, share of failures announced; the save or the drain in answer.
    notices: bool = False
    lead_s: float = 0.0
    recall: float = 0.0
    emergency: int = 0
    emergency_s: float = 0.0
    drains: bool = False
    drain_s: float = 0.0

    # Capacities of the links, in bytes per second; whether other jobs draw on them as well, and
    # the share of its first period after which the first save is due.
    capacity: Six
    shared: bool = False
    first_due: float = 1.0


class DrawsRow(Row):
    """Random numbers of one run: places in `numbers` and `choices`, and counts.

    `NONE` where a run may do without: other columns say then what there is.
    """

    # Gaps or instants of failures, s; seconds after which a log repeats.
    gaps: int = 0
    gap_count: int = 0
    circle_s: float = math.inf

    # Nodes hit by each failure: drawn by kind of node, or given by `hits`.
    victims: int = 0
    victim_count: int = 0
    kinds: int = NONE
    victim_trainers: int = 0
    per_servers: int = 0
    per_trainers: int = 0
    hits: int = NONE

    # Severity of each failure, and seconds until it is noticed, and until its nodes are back.
    severities: int = NONE
    severity_count: int = 0
    detections: int = NONE
    repairs: int = NONE

    # Restarts in place: numbers, 0 to 1, that decide whether they fail; seconds of each. Seconds to
    # form the group of processes again.
    tries: int = 0
    restarts: int = NONE
    regroups: int = NONE
    restart_count: int = 0

    # Lives of nodes, s, by generation of the node.
    lives: int = 0
    life_count: int = 0
    life_stride: int = 0

    # Numbers, 0 to 1, that decide which machines are bad, placed as lives are; and `Offenders`:
    # shares, how often bad ones fail, and repairs until a machine is retired (0: never).
    states: int = NONE
    bad_share: float = 0.0
    bad_times: float = 1.0
    cured: float = 1.0
    misdiagnosed: float = 0.0
    retired_after: int = 0

    # Instants of bursts, s, and the nodes that they hit.
    bursts: int = NONE
    burst_count: int = 0
    burst_nodes: int = 0
    burst_width: int = 0

    # Rescheduling delays, s; parts of starts and shutdowns, s.
    delays: int = 0
    delay_count: int = 0
    starts: int = 0
    start_count: int = 0

    # Numbers, 0 to 1, that decide whether saves fail, are torn, and loads fail; starts and ends of
    # outages, s; silent faults, in seconds of training.
    voids: int = 0
    void_count: int = 0
    torn: int = 0
    loads: int = 0
    load_count: int = 0
    outages: int = 0
    outage_count: int = 0
    silent: int = 0
    silent_count: int = 0

    # Numbers, 0 to 1, that decide which failures are announced; instants of false alarms, s.
    notices: int = 0
    notice_count: int = 0
    alarms: int = 0
    alarm_count: int = 0


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
    in_vain: int = 0
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
    """State of a run by schedule, of its tier, and of its save in a fast path (`beside.py`)."""

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


class Running(NamedTuple):
    """One run under way: its plan, its random numbers, its state, and working memory."""

    plan: Any
    schedules: Any
    saves: Any
    transfers: Any
    answers: Any
    cases: Any
    whole: Any  # int64: sets of servers, chains and rotations of saves, answers by tier
    real: Any  # float64: updates that saves leave, shares of differences
    draws: Any
    numbers: Any  # float64: random numbers
    choices: Any  # int32: random nodes and severities
    run: Any
    tiers: Any
    kept: Any
    links: Any
    spent: Any  # seconds charged to each cause
    flows: Any
    ended: Any  # flows that have just ended
    comings: Any
    lists: Any  # int32: lists of nodes (`node_lists.py`)
    nodes: Any
    shards: Any
    losses: Any  # what shards have lost for good (`learning.py`)
    tree: Any  # ends of lives of nodes, s (`cursors.py`)
    ready_s: Any  # instants at which the machines of the pool are ready, in order
    rated: Any  # transfers derived in the run: loads
    outside: Any  # observer and controller (`cprsim.sim.outside`)


def close_up(rows: Any, place: int, count: int) -> None:  # noqa: ARG001  (records need it)
    """Remove row `place` of the first `count` rows; later rows move up."""
    rows.append(rows.pop(place))


def part(rows: Any, first: int, count: int) -> Any:
    """Return `count` elements from place `first` on."""
    return rows[first : first + count]
