"""What the engine reads and writes: plans and runs as rows of numbers.

Codes stand for words, -1 for none. A row of one table names those of another by their places.
"""

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


#: The most tiers that a plan saves to.
TIERS: Final = 8
NONE: Final = -1
ZERO: Final = 0
NO, YES = False, True
#: Causes of foreground seconds, places in `RUN.spent`.
TRAIN, SAVE, LOAD, RESCHEDULE, DETECT, STALL, VERIFY, START, SHUTDOWN = range(9)
CAUSES: Final = 9
#: Phases of a run that take time. Training, a save that holds it up, the snapshot of one in the
#: background, the verification before one; noticing a failure, waiting for machines, until others
#: serve for those that are lost, starting again, loading.
TRAINING, SAVING_IT, SNAPSHOT, VERIFYING, DETECTING, ARRIVING, TAKING_OVER, RESTARTING = range(8)
#: Waiting for a save in the background at the end, draining, moving rows of withdrawn servers,
#: until these have left; getting nodes, starting, loading on them, giving them back, the end.
LOADING, AWAITING, DRAINING, MOVING_ROWS, LEAVING, GETTING_NODES, STARTING = range(8, 15)
LOADING_ANEW, GIVING_BACK, ENDING = range(15, 18)
#: And those that take none: what is next, what is held goes on, all is over.
TURN, HELD, OVER = range(18, 21)
#: Of each that takes time, what that is charged to.
CAUSE_OF: Final = (
    *(TRAIN, SAVE, STALL, VERIFY, DETECT, RESCHEDULE, RESCHEDULE, START),
    *(LOAD, SAVE, RESCHEDULE, LOAD, RESCHEDULE, RESCHEDULE, START, LOAD, SHUTDOWN, SHUTDOWN),
)
#: What a flow is of: the foreground, a save, the time to a planned stop, to a notice, or until
#: servers are withdrawn, the wait for machines, or for those to come back, the filling of shards.
FOREGROUND, SAVING, STOPPING, NOTICING, NEARING, REPLACING, RETURNING, FILLING = range(8)
#: Which save comes next: by schedules, by `contract`'s words for more.
SCHEDULED, CHAINS, GROWING, LEARNED, ROTATIONS, DIFFERENCES = range(6)
#: Where failures come from.
RENEWAL, ABSOLUTE, LIVES, SHARED, OTHER = range(5)
#: Why a run is given up: failures come too often, or saves too rarely for them; saves come too
#: often, or nothing else does; saves and loads, or verifications, or drains are in vain; nodes are
#: held too shortly; training is asked for that is done; there is no such tier, or no such load.
TOO_MANY, TOO_RARELY_SAVED, TOO_OFTEN_SAVED, ONLY_SAVES, IN_VAIN, CORRUPT = range(6)
DRAINED_IN_VAIN, HELD_SHORTLY, NOT_AHEAD, NO_TIER, NO_LOAD = range(6, 11)
#: What ends a run: its end; more numbers have to be drawn of something, or more room is needed;
#: or `cprsim.sim` has to say why it is given up.
DONE, MORE_GAPS, MORE_VICTIMS, MORE_SEVERITIES, MORE_LIVES, MORE_BURSTS = range(6)
MORE_DELAYS, MORE_VOIDS, MORE_LOADS, MORE_OUTAGES, MORE_SILENT, MORE_ROOM, GIVEN_UP = range(13)[6:]
MORE_STARTS, MORE_NOTICES, MORE_ALARMS = range(35)[32:]


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
    """As `cprsim.job.transfer.Transfer`; `limit`: its rate with the links to itself."""

    volume: float = 0.0
    cap: float = 0.0
    limit: float = 0.0
    share: float = 0.0
    linked: bool = False
    uses: Six


class SaveRow(Row):
    """`contract.Save`. `stored`, `sent`: what it writes to the store and to peers, full checkpoints; `besides`: volume that a run adds to its share of that of the transfer."""

    tier: int = 0
    transfer: int = 0
    unsaved: int = 0
    unsaved_count: int = 0
    blocking: bool = False
    tries_again: bool = False
    can_be_void: bool = False
    alone: bool = False
    portion: float = 0.0
    reads: float = 0.0
    stored: float = 0.0
    sent: float = 0.0
    snapshot_s: float = 0.0
    besides: float = 0.0


class ScheduleRow(Row):
    """`contract.Schedule`, and its chain. `beside`: whether its saves and training never meet. `keeps_older`, `live`: of its tier."""

    period_s: float = 0.0
    first_period_s: float = 0.0
    most: int = 0
    save: int = 0
    chain: int = 0
    links: int = 0
    beside: bool = False
    keeps_older: bool = False
    live: bool = False


class AnswerRow(Row):
    """`contract.Recover`. `source`, `healthy`: numbers of schedules. `nothing`, `load`: transfers where no server, and where one, is down; `each`: what of the store's link every other one takes."""

    depth: int = 0
    source: int = 0
    healthy: int = 0
    training: int = 0
    nothing: int = 0
    load: int = 0
    fills: int = 0
    keep: bool = False
    mirrored: bool = False
    has_healthy: bool = False
    made_anew: bool = False
    can_fail: bool = False
    regrows: bool = False
    starts_again: bool = False
    reads: float = 0.0
    takeover_s: float = 0.0
    pause_s: float = 0.0
    each: float = 0.0


class CaseRow(Row):
    """`contract.Case`: bits of severities; `sets` of `width` servers, `count` for each server."""

    answer: int = 0
    severities: int = 0
    sets: int = 0
    count: int = 0
    width: int = 0
    least_servers: float = 0.0
    most_servers: float = 0.0
    least_trainers: float = 0.0
    most_trainers: float = 0.0


class PlanRow(Row):
    """A plan."""

    servers: int = 0
    nodes: int = 0
    leaves: int = 0
    spares: int = 0
    schedules: int = 0
    last_save: int = 0
    most_last: int = 0
    first_schedule: int = 0
    first_case: int = 0
    cases: int = 0
    tight: int = 0
    training: int = 0
    sequence: int = 0
    rotations: int = 0
    rotations_at: int = 0
    rotation_servers: int = 0
    older: int = 0
    at: int = 0
    points: int = 0
    variant: int = 0
    updates: int = 0
    left: int = 0
    source: int = 0
    verify_every: int = 0
    returns: int = 0
    last_return: int = 0
    final_save: bool = False
    during_recovery: bool = False
    while_waiting: bool = False
    holds_nodes: bool = False
    unslowed: bool = False
    uneven: bool = False
    uneven_left: bool = False
    last_mirrored: bool = False
    has_outages: bool = False
    in_turn: bool = False
    beside: bool = False
    marked: bool = False
    verifies: bool = False
    checksum: bool = False
    useful_s: float = 0.0
    nearly_done_s: float = 0.0
    detect_s: float = 0.0
    per_shard: float = 0.0
    delay_s: float = 0.0
    step_s: float = 0.0
    behind: float = 0.0
    save_fails: float = 0.0
    load_fails: float = 0.0
    more_s: float = 0.0
    max_overhead: float = 0.0
    limit_s: float = 0.0
    interval_s: float = 0.0
    whole: float = 0.0
    rows: float = 0.0
    prior_mtbf_s: float = 0.0
    prior_weight: float = 0.0
    prior_save_s: float = 0.0
    verify_s: float = 0.0
    torn: float = 0.0
    partial_mtbfs: float = 0.0
    spared_s: float = 0.0
    allocation_s: float = 0.0
    stop_s: float = 0.0
    lead_s: float = 0.0
    recall: float = 0.0
    emergency_s: float = 0.0
    drain_s: float = 0.0
    reschedule_s: float = 0.0
    partial_answer: int = 0
    full_answer: int = 0
    hands_over: int = 0
    emergency: int = 0
    windows: int = 0
    windows_at: int = 0
    own: bool = False
    starts: bool = False
    cache_on_node: bool = False
    allocated: bool = False
    notices: bool = False
    drains: bool = False
    start_costs: Four
    capacity: Six


class DrawsRow(Row):
    """What one run draws: places in the arrays of draws, and how many there are."""

    gaps: int = 0
    gap_count: int = 0
    delays: int = 0
    delay_count: int = 0
    victims: int = 0
    victim_count: int = 0
    kinds: int = 0
    victim_trainers: int = 0
    per_servers: int = 0
    per_trainers: int = 0
    severities: int = 0
    severity_count: int = 0
    bursts: int = 0
    burst_count: int = 0
    burst_nodes: int = 0
    burst_width: int = 0
    voids: int = 0
    void_count: int = 0
    loads: int = 0
    load_count: int = 0
    outages: int = 0
    outage_count: int = 0
    hits: int = 0
    lives: int = 0
    life_count: int = 0
    life_stride: int = 0
    torn: int = 0
    silent: int = 0
    silent_count: int = 0
    starts: int = 0
    start_count: int = 0
    notices: int = 0
    notice_count: int = 0
    alarms: int = 0
    alarm_count: int = 0
    circle_s: float = 0.0


class RunRow(Row):
    """The state of one run, as `cprsim.sim` has it."""

    phase: int = 0
    held: int = 0
    saving: int = 0
    deepest: int = 0
    depth: int = 0
    leave: int = 0
    volume: float = 0.0
    done: float = 0.0
    rate: float = 0.0
    began_s: float = 0.0
    ends_s: float = 0.0
    from_s: float = 0.0
    to_s: float = 0.0
    held_left: float = 0.0
    hold_s: float = 0.0
    writes: float = 0.0
    reads: float = 0.0
    wait_s: float = 0.0
    load_s: float = 0.0
    load_volume: float = 0.0
    nodes_s: float = 0.0
    trains_on: bool = False
    goes_on: bool = False
    resumes: bool = False
    struck_again: bool = False
    handing_over: bool = False

    now: float = 0.0
    next_s: float = 0.0
    progress_s: float = 0.0
    slowdown_s: float = 0.0
    lost_s: float = 0.0
    pls: float = 0.0
    updates_lost: float = 0.0
    stored: float = 0.0
    sent: float = 0.0
    returned_s: float = 0.0
    returned_slowdown_s: float = 0.0
    returned_updates_lost: float = 0.0
    train_s: float = 0.0
    train_to_s: float = 0.0
    next_end_s: float = 0.0
    since_s: float = 0.0
    since_progress_s: float = 0.0
    turned_s: float = 0.0
    rotation_lost_s: float = 0.0
    answered_down: float = 0.0
    timed_saves: float = 0.0
    saving_s: float = 0.0
    verified_s: float = 0.0
    redone_s: float = 0.0
    status: int = 0
    failures: int = 0
    saves: int = 0
    absorbed: int = 0
    passed: int = 0
    idle_saves: int = 0
    in_vain: int = 0
    flows: int = 0
    comings: int = 0
    struck: int = 0
    bursts: int = 0
    void: int = 0
    load: int = 0
    source: int = 0
    rotation: int = 0
    answered: int = 0
    epoch: int = 0
    back_since: int = 0
    foreground: int = 0
    training: int = 0
    chosen: int = 0
    begun: int = 0
    faults: int = 0
    torn_loads: int = 0
    starts: int = 0
    ends: int = 0
    cut: bool = False
    news: bool = False
    knows_degraded: bool = False
    running: bool = False
    corrupt: bool = False
    torn: bool = False
    warm: bool = False
    stops: bool = False
    paused_s: float = 0.0
    allocation_began_s: float = 0.0
    until_s: float = 0.0
    told_s: float = 0.0
    notice_s: float = 0.0
    stored_s: float = 0.0
    deadline_s: float = 0.0
    drain_by_s: float = 0.0
    alarms: int = 0
    drained_nodes: int = 0
    window: int = 0
    leaving: bool = False
    full_at: Six


class TierRow(Row):
    """What a run keeps of each schedule and its tier; and, beside training, of its save under way."""

    due_s: float = 0.0
    period_s: float = 0.0
    last_s: float = 0.0
    last_slowdown_s: float = 0.0
    last_updates_lost: float = 0.0
    last_reads: float = 0.0
    whole_s: float = 0.0
    start_s: float = 0.0
    portions: float = 0.0
    pending: int = 0
    taken_link: int = 0
    stored_link: int = 0
    unsaved: int = 0
    unsaved_count: int = 0
    tier_since: int = 0
    last_marks: int = 0
    lands_s: float = 0.0
    begins_s: float = 0.0
    writes: float = 0.0
    taken_s: float = 0.0
    taken_slowdown_s: float = 0.0
    taken_updates_lost: float = 0.0
    taken_reads: float = 0.0
    under_way: int = 0
    order: int = 0
    taken_marks: int = 0
    kept_first: int = 0
    kept_count: int = 0


class KeptRow(Row):
    """What a tier held before its last."""

    last_s: float = 0.0
    last_slowdown_s: float = 0.0
    last_updates_lost: float = 0.0
    last_reads: float = 0.0
    whole_s: float = 0.0
    portions: float = 0.0
    last_marks: int = 0
    unsaved: int = 0
    unsaved_count: int = 0


class LinkRow(Row):
    """A checkpoint in a chain of differences: of the one that is stored, under way, or asked for."""

    base_s: float = 0.0
    taken_s: float = 0.0
    total: float = 0.0
    last: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    diffs: int = 0
    has_link: bool = False


class FlowRow(Row):
    """A flow; of a save what it holds, of lost nodes the answer, and who they are."""

    kind: int = 0
    save: int = 0
    answer: int = 0
    down: int = 0
    place: int = 0
    taken_marks: int = 0
    volume: float = 0.0
    done: float = 0.0
    done_then: float = 0.0
    since_s: float = 0.0
    rate: float = 0.0
    limit: float = 0.0
    share: float = 0.0
    ends_at: float = 0.0
    taken_rate: float = 0.0
    writes: float = 0.0
    taken_s: float = 0.0
    taken_slowdown_s: float = 0.0
    taken_updates_lost: float = 0.0
    taken_reads: float = 0.0
    began_s: float = 0.0
    opened_s: float = 0.0
    linked: bool = False
    rises: bool = False
    uses: Six


class ComingRow(Row):
    """A plan."""

    hit: int = 0
    lost: int = 0
    left_s: float = 0.0


class NodeRow(Row):
    """A node; of a server when its shard was last set back."""

    generation: int = 0
    back_epoch: int = 0
    placed_s: float = 0.0
    set_back_s: float = 0.0


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


def close_up(rows: Any, place: int, count: int) -> None:
    """Leave one of the first `count` rows out; those after it move up."""
    rows.append(rows.pop(place))


def part(rows: Any, first: int, count: int) -> Any:
    """Return so many elements from one on."""
    return rows[first : first + count]
