"""Plans and runs as rows of numbers; a row names those of other tables by their places."""

from typing import Annotated, Any, Final, NamedTuple

from cprsim.job.platform import (
    SERVER_IN,
    SERVER_OUT,
    STORE_READ,
    STORE_WRITE,
    TRAINER_IN,
    TRAINER_OUT,
)

LINKS: Final = (SERVER_OUT, SERVER_IN, TRAINER_OUT, TRAINER_IN, STORE_WRITE, STORE_READ)


Six = Annotated[list[float], 6]
Four = Annotated[list[float], 4]


class Row:
    """Numbers by name. The compiled engine has records of the same columns in its place."""

    def __init__(self, **values: Any) -> None:
        kind = type(self)
        for name, column in kind.__annotations__.items():
            count = getattr(column, "__metadata__", None)
            setattr(self, name, [0.0] * count[0] if count else getattr(kind, name))
        self.__dict__.update(values)

    def become(self, other: "Row") -> None:
        """Take over all numbers of another."""
        for name, value in other.__dict__.items():
            setattr(self, name, value.copy() if isinstance(value, list) else value)


class TransferRow(Row):
    """What is to be moved (`cprsim.job.transfer.Transfer`)."""

    # How much, and how fast at most: by its cap, and with the links to itself.
    volume: float = 0.0
    cap: float = 0.0
    limit: float = 0.0

    # Its weight by its unit; whether it is on any link, and what it takes of each for one of it.
    share: float = 0.0
    linked: bool = False
    uses: Six


class SaveRow(Row):
    """A save (`cprsim.contract.Save`)."""

    # Numbers of its tier and its transfer; where in `real` what it leaves stands, and how many.
    tier: int = 0
    transfer: int = 0
    unsaved: int = 0
    unsaved_count: int = 0

    # Whether training waits for its end; whether a void one is tried again, and can be void at all;
    # whether it counts on no other.
    blocking: bool = False
    tries_again: bool = False
    can_be_void: bool = False
    alone: bool = False

    # Share of the rows; what returning to it reads; what it writes to the store and to peers, in
    # full checkpoints; what it holds training up for in the background; volume beside its share of
    # the transfer.
    portion: float = 0.0
    reads: float = 0.0
    stored: float = 0.0
    sent: float = 0.0
    snapshot_s: float = 0.0
    besides: float = 0.0


class ScheduleRow(Row):
    """When saves to a tier are due (`cprsim.contract.Schedule`), and its chain."""

    # Useful seconds between two of them, at first and later.
    period_s: float = 0.0
    first_period_s: float = 0.0

    # How many may be under way; the save; where in `whole` its chain stands, and how many links.
    most: int = 0
    save: int = 0
    chain: int = 0
    links: int = 0

    # Whether its saves and training never meet; whether its tier keeps older ones, or is live.
    beside: bool = False
    keeps_older: bool = False
    live: bool = False


class AnswerRow(Row):
    """An answer to a loss (`cprsim.contract.Recover`)."""

    # How deep the rollback is; the tiers that are returned to, and that nodes which are up return
    # to.
    depth: int = 0
    source: int = 0
    healthy: int = 0
    has_healthy: bool = False
    mirrored: bool = False

    # Transfers: a useful second meanwhile; a load where no server, and where one, is down; what
    # each other one takes of the store; the answer by which replacements are filled.
    training: int = 0
    nothing: int = 0
    load: int = 0
    each: float = 0.0
    fills: int = 0

    # Whether the rest trains on; shards are made anew; loads can fail; others take over until
    # replacements are there; all processes start again.
    keep: bool = False
    made_anew: bool = False
    can_fail: bool = False
    regrows: bool = False
    starts_again: bool = False

    # Shards that are read for a lost one; seconds to take over, and until others serve.
    reads: float = 0.0
    takeover_s: float = 0.0
    pause_s: float = 0.0


class CaseRow(Row):
    """Losses that have an answer (`cprsim.contract.Case`)."""

    # The answer; bits of severities.
    answer: int = 0
    severities: int = 0

    # Where in `whole` the sets of servers stand of which one must be down as a whole; how many each
    # server has, and of how many.
    sets: int = 0
    count: int = 0
    width: int = 0

    # How many are down.
    least_servers: float = 0.0
    most_servers: float = 0.0
    least_trainers: float = 0.0
    most_trainers: float = 0.0


class PlanRow(Row):
    """A plan and its job."""

    # Nodes, and leaves of the tree of their lives; spare machines; where failures come from.
    servers: int = 0
    nodes: int = 0
    leaves: int = 0
    spares: int = 0
    source: int = 0

    # Numbers of its first schedule and case, and how many.
    schedules: int = 0
    first_schedule: int = 0
    cases: int = 0
    first_case: int = 0

    # The last save, and how many may be under way; the transfer of a useful second; bits of links
    # that what is under way may fill.
    last_save: int = 0
    most_last: int = 0
    last_mirrored: bool = False
    training: int = 0
    tight: int = 0

    # Whether it has a controller of its own, nothing slows it, saves and training take turns or go
    # beside each other.
    own: bool = False
    unslowed: bool = False
    in_turn: bool = False
    beside: bool = False

    # What holds of the job.
    useful_s: float = 0.0
    nearly_done_s: float = 0.0
    final_save: bool = False
    during_recovery: bool = False
    while_waiting: bool = False
    holds_nodes: bool = False
    detect_s: float = 0.0
    delay_s: float = 0.0
    reschedule_s: float = 0.0

    # Shares of updates, of all and of what saves leave: where in `real` they stand.
    per_shard: float = 0.0
    updates: int = 0
    uneven: bool = False
    left: int = 0
    uneven_left: bool = False

    # The mirror: seconds of a step, and how many it is behind.
    step_s: float = 0.0
    behind: float = 0.0

    # What can be in vain: chances, outages, torn checkpoints and whether saves are checked for it.
    save_fails: float = 0.0
    load_fails: float = 0.0
    torn: float = 0.0
    has_outages: bool = False
    checksum: bool = False

    # Whether checkpoints are marked, and how many older ones a tier keeps.
    marked: bool = False
    older: int = 0

    # Verification: how often, for how long; answers by tier that return to a verified one.
    verifies: bool = False
    verify_every: int = 0
    verify_s: float = 0.0
    returns: int = 0
    last_return: int = 0

    # Which save comes next: the sequence, and its interval.
    sequence: int = 0
    interval_s: float = 0.0

    # Growing intervals.
    more_s: float = 0.0
    max_overhead: float = 0.0

    # Learned ones: what is believed at first, and what partial recovery gains.
    prior_mtbf_s: float = 0.0
    prior_weight: float = 0.0
    prior_save_s: float = 0.0
    partial_mtbfs: float = 0.0
    spared_s: float = 0.0
    partial_answer: int = 0
    full_answer: int = 0

    # Rotations of experts.
    rotations: int = 0
    rotations_at: int = 0
    rotation_servers: int = 0
    limit_s: float = 0.0

    # Differences: variant, sizes, and points of the share that is modified.
    variant: int = 0
    whole: float = 0.0
    rows: float = 0.0
    at: int = 0
    points: int = 0

    # Starts and allocations; the answer that is loaded in the next.
    starts: bool = False
    cache_on_node: bool = False
    start_costs: Four
    allocated: bool = False
    allocation_s: float = 0.0
    stop_s: float = 0.0
    hands_over: int = 0

    # Windows in which servers are withdrawn: how many, and where in `real`.
    windows: int = 0
    windows_at: int = 0

    # Notices: how long before, of what share; what answers them.
    notices: bool = False
    lead_s: float = 0.0
    recall: float = 0.0
    emergency: int = 0
    emergency_s: float = 0.0
    drains: bool = False
    drain_s: float = 0.0

    # Capacities of the links.
    capacity: Six


class DrawsRow(Row):
    """What one run draws: places in `numbers` and `choices`, and how many there are."""

    # Gaps or instants of failures; the time after which a log comes again.
    gaps: int = 0
    gap_count: int = 0
    circle_s: float = 0.0

    # Whom each takes down: drawn by kind, or told.
    victims: int = 0
    victim_count: int = 0
    kinds: int = 0
    victim_trainers: int = 0
    per_servers: int = 0
    per_trainers: int = 0
    hits: int = 0

    # How severe each is.
    severities: int = 0
    severity_count: int = 0

    # Lives of nodes by generation.
    lives: int = 0
    life_count: int = 0
    life_stride: int = 0

    # Bursts, and whom they take down.
    bursts: int = 0
    burst_count: int = 0
    burst_nodes: int = 0
    burst_width: int = 0

    # Rescheduling delays; starts.
    delays: int = 0
    delay_count: int = 0
    starts: int = 0
    start_count: int = 0

    # How saves and loads turn out; when the store is away; silent faults.
    voids: int = 0
    void_count: int = 0
    torn: int = 0
    loads: int = 0
    load_count: int = 0
    outages: int = 0
    outage_count: int = 0
    silent: int = 0
    silent_count: int = 0

    # Notices and false alarms.
    notices: int = 0
    notice_count: int = 0
    alarms: int = 0
    alarm_count: int = 0


class RunRow(Row):
    """The state of one run."""

    # Why it has ended, the clock, when the next failure strikes, and when the next flow ends.
    status: int = 0
    now: float = 0.0
    next_s: float = 0.0
    next_end_s: float = 0.0

    # What is under way: how much of it, how fast alone, since when, until when, how much is done;
    # its flow where it may be slowed; progress at its start, and to train to.
    phase: int = 0
    volume: float = 0.0
    rate: float = 0.0
    began_s: float = 0.0
    ends_s: float = 0.0
    done: float = 0.0
    foreground: int = 0
    from_s: float = 0.0
    to_s: float = 0.0

    # Whether a flow has ended meanwhile, which is news for who trains.
    news: bool = False

    # What it has learned and lost, and what it took.
    progress_s: float = 0.0
    slowdown_s: float = 0.0
    lost_s: float = 0.0
    pls: float = 0.0
    updates_lost: float = 0.0
    stored: float = 0.0
    sent: float = 0.0

    # Counts.
    failures: int = 0
    saves: int = 0
    absorbed: int = 0
    passed: int = 0
    idle_saves: int = 0
    in_vain: int = 0
    flows: int = 0
    comings: int = 0

    # Where it last returned to, and since when shards were set back by themselves.
    returned_s: float = 0.0
    returned_slowdown_s: float = 0.0
    returned_updates_lost: float = 0.0
    epoch: int = 0
    back_since: int = 0

    # The save that is under way, since when, and what it writes; what a failure has cut into.
    saving: int = 0
    hold_s: float = 0.0
    writes: float = 0.0
    reads: float = 0.0
    held: int = 0
    held_left: float = 0.0

    # Verification: progress where it last was, saves since; training in vain; faults so far.
    verified_s: float = 0.0
    begun: int = 0
    redone_s: float = 0.0
    faults: int = 0
    corrupt: bool = False
    torn: bool = False
    torn_loads: int = 0

    # The recovery: the deepest answer; whether the others train on, failures go on while it waits,
    # and the clock of failures starts when it is over; whether another has struck; the wait; the
    # load.
    deepest: int = 0
    depth: int = 0
    trains_on: bool = False
    goes_on: bool = False
    resumes: bool = False
    struck_again: bool = False
    wait_s: float = 0.0
    load_s: float = 0.0
    load_volume: float = 0.0

    # Schedules: progress to train to; the last answer, and how many servers were down; the answer
    # that was chosen.
    train_s: float = 0.0
    train_to_s: float = 0.0
    source: int = 0
    answered: int = 0
    answered_down: float = 0.0
    chosen: int = 0

    # Sequences: what was measured since; turns of the rotation.
    since_s: float = 0.0
    since_progress_s: float = 0.0
    timed_saves: float = 0.0
    saving_s: float = 0.0
    turned_s: float = 0.0
    rotation: int = 0
    rotation_lost_s: float = 0.0

    # The transfer of a useful second, if it is known.
    training: int = 0
    knows_degraded: bool = False

    # The way through failures.
    struck: int = 0
    bursts: int = 0
    running: bool = False
    paused_s: float = 0.0

    # Draws that were used.
    void: int = 0
    load: int = 0

    # Starts and allocations.
    starts: int = 0
    ends: int = 0
    warm: bool = False
    stops: bool = False
    until_s: float = 0.0
    nodes_s: float = 0.0
    allocation_began_s: float = 0.0
    handing_over: bool = False

    # Notices: deadlines, and what was told.
    told_s: float = 0.0
    notice_s: float = 0.0
    stored_s: float = 0.0
    deadline_s: float = 0.0
    drain_by_s: float = 0.0
    drained_nodes: int = 0
    alarms: int = 0

    # Withdrawn servers.
    window: int = 0
    leaving: bool = False
    leave: int = 0

    # Room to work in: the levels at which links are full.
    full_at: Six


class TierRow(Row):
    """What a run keeps of each schedule and its tier, and of its save beside training."""

    # When the next is due, and how many are under way.
    due_s: float = 0.0
    period_s: float = 0.0
    pending: int = 0

    # The last checkpoint: its progress, what that took, what it lacks, what it reads, its marks.
    last_s: float = 0.0
    last_slowdown_s: float = 0.0
    last_updates_lost: float = 0.0
    last_reads: float = 0.0
    last_marks: int = 0

    # The last full round; since when shards are whole there; what the last save left.
    whole_s: float = 0.0
    start_s: float = 0.0
    portions: float = 0.0
    tier_since: int = 0
    unsaved: int = 0
    unsaved_count: int = 0

    # Older checkpoints, in a ring.
    kept_first: int = 0
    kept_count: int = 0

    # Links of the chain that were taken and are stored.
    taken_link: int = 0
    stored_link: int = 0

    # The save under way beside training.
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
    """What a tier held before its last."""

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
    """A checkpoint in a chain of differences: that is stored, under way, or asked for."""

    has_link: bool = False
    diffs: int = 0
    base_s: float = 0.0
    taken_s: float = 0.0
    total: float = 0.0
    last: float = 0.0
    reads: float = 0.0
    writes: float = 0.0


class FlowRow(Row):
    """What goes on beside the foreground, or in it where something may slow it."""

    # What it is of; of lost nodes the answer, lists of who is down and who has to be placed.
    kind: int = 0
    save: int = 0
    answer: int = 0
    down: int = 0
    place: int = 0

    # Volume, what is done of it, and the line that it moves on.
    volume: float = 0.0
    done: float = 0.0
    done_then: float = 0.0
    since_s: float = 0.0
    rate: float = 0.0
    limit: float = 0.0
    share: float = 0.0
    ends_at: float = 0.0
    opened_s: float = 0.0

    # Links; while rates are found, whether it still rises, and its rate.
    linked: bool = False
    uses: Six
    rises: bool = False
    taken_rate: float = 0.0

    # What a save holds, and since when it or a load goes on.
    writes: float = 0.0
    taken_s: float = 0.0
    taken_slowdown_s: float = 0.0
    taken_updates_lost: float = 0.0
    taken_reads: float = 0.0
    taken_marks: int = 0
    began_s: float = 0.0


class ComingRow(Row):
    """Machines on their way: lists of whom they are for, and how long it takes."""

    hit: int = 0
    lost: int = 0
    left_s: float = 0.0


class NodeRow(Row):
    """A node; of a server also when its shard was last set back."""

    generation: int = 0
    placed_s: float = 0.0
    set_back_s: float = 0.0
    back_epoch: int = 0


class ShardRow(Row):
    """Since when a tier holds all of a shard."""

    start_s: float = 0.0
    epoch: int = 0


class Running(NamedTuple):
    """One run under way: its plan, its draws, its state, and room to work in."""

    plan: Any
    schedules: Any
    saves: Any
    transfers: Any
    answers: Any
    cases: Any
    whole: Any  # int64: sets of servers, orders of saves
    real: Any  # float64: what saves leave, sizes of differences
    draws: Any
    numbers: Any  # float64, drawn
    choices: Any  # int32, drawn
    run: Any
    tiers: Any
    kept: Any
    links: Any
    spent: Any
    flows: Any
    ended: Any
    comings: Any
    lists: Any  # int32: of nodes (`node_lists.py`)
    nodes: Any
    shards: Any
    tree: Any
    ready_s: Any
    rated: Any  # transfers that are made up
    outside: Any  # who watches it, or decides in it (`cprsim.sim.outside`)


def close_up(rows: Any, place: int, count: int) -> None:  # noqa: ARG001  (records need it)
    """Leave one of the first `count` rows out; those after it move up."""
    rows.append(rows.pop(place))


def part(rows: Any, first: int, count: int) -> Any:
    """Return so many elements from one on."""
    return rows[first : first + count]
