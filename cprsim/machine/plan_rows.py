"""Rows of plans: transfers, saves, schedules, answers, cases, and the plan with its job."""

from typing import Final

from cprsim.job.platform import (
    SERVER_IN,
    SERVER_OUT,
    STORE_READ,
    STORE_WRITE,
    TRAINER_IN,
    TRAINER_OUT,
)
from cprsim.machine.codes import NONE
from cprsim.machine.rows import Four, Row, Six

LINKS: Final = (SERVER_OUT, SERVER_IN, TRAINER_OUT, TRAINER_IN, STORE_WRITE, STORE_READ)


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
    can_fail: bool = False
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
    undisturbed: bool = False
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
    # fits: `fast_blocking.py`, `fast_background.py`.
    own: bool = False
    unslowed: bool = False
    fast_blocking: bool = False
    fast_background: bool = False

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
