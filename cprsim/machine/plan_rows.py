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
from cprsim.machine.rows import Row, of_columns

LINKS: Final = (SERVER_OUT, SERVER_IN, TRAINER_OUT, TRAINER_IN, STORE_WRITE, STORE_READ)


@of_columns
class TransferRow(Row):
    """A transfer (`cprsim.job.transfer.Transfer`)."""

    # Bytes or seconds; their largest rate per second: by its cap, and with free links.
    volume = cap = limit = 0.0

    # Weight per unit; whether it draws on links, and units of each link per unit of volume.
    share = 0.0
    linked = False
    uses = (0.0,) * 6


@of_columns
class SaveRow(Row):
    """A save (`cprsim.contract.Save`)."""

    # Tier and transfer, by number; place in `real` of the updates that it leaves unsaved after 1,
    # 2, ... saves, in useful seconds (rule 25), and their count.
    tier = transfer = unsaved = unsaved_count = 0

    # Whether training waits for its end; whether a failed save is tried again; whether it can fail;
    # whether it needs no other save; whether the one it needs is the last baseline.
    blocking = tries_again = can_fail = alone = from_base = False

    # Share of the rows; bytes that a load reads, and bytes written to the store and to peers, in
    # full checkpoints; seconds that training waits for the snapshot of a background save; volume
    # added to each save, whatever its size.
    portion = reads = stored = sent = snapshot_s = besides = 0.0


@of_columns
class ScheduleRow(Row):
    """A schedule of saves to one tier (`cprsim.contract.Schedule`), and its chain."""

    # Useful seconds between two saves: the current plan, and the first period.
    period_s = first_period_s = 0.0

    # Largest number of saves under way; the save; place of the chain in `whole`, and its links.
    most = save = chain = links = 0

    # Whether its saves and training never slow each other; whether its tier keeps older
    # checkpoints; whether the tier is live: copies that train along, in which no mark lasts.
    undisturbed = keeps_older = live = False


@of_columns
class AnswerRow(Row):
    """An answer to a loss (`cprsim.contract.Recover`)."""

    # Depth of the rollback; tier that lost nodes return to, and tier that nodes which are up return
    # to; whether the job returns to a mirror.
    depth = source = healthy = 0
    has_healthy = mirrored = False

    # Transfers: a useful second while nodes are down; a load where no server and where one server
    # is down; units of the store per unit of volume for each further server. The answer by which
    # replacements are filled.
    training = nothing = load = fills = 0
    each = 0.0

    # Whether the other nodes train on; lost shards come from copies or parities; loads can fail;
    # other servers serve the lost shards until replacements come; all processes restart.
    keep = made_anew = can_fail = regrows = starts_again = False

    # Shards read for each lost shard; seconds to put a replacement into its place; seconds until
    # other nodes have taken over.
    reads = takeover_s = pause_s = 0.0


@of_columns
class CaseRow(Row):
    """A set of losses and their answer (`cprsim.contract.Case`)."""

    # The answer; severities, one bit each.
    answer = 0
    severities = NONE

    # Place in `whole` of the sets of servers, one of which must be down entirely; number of sets
    # of each server, and servers in each set.
    sets = count = width = 0

    # Bounds on the numbers of servers and trainers that are down.
    least_servers = most_servers = least_trainers = most_trainers = 0.0


@of_columns
class PlanRow(Row):
    """A plan and its job."""

    # Servers, all nodes, leaves of the tree of their lives; spare machines; source of failures.
    servers = nodes = leaves = spares = source = 0

    # First schedule and first case, by number, and their counts.
    schedules = first_schedule = cases = first_case = 0

    # The last save of a job, and how many saves to its tier may be under way; the transfer of a
    # useful second; links that flows may fill, one bit each.
    last_save = most_last = training = tight = 0
    last_mirrored = False

    # Whether the policy's own code decides; whether training runs at full speed; which fast path
    # fits: `fast_blocking.py`, `fast_background.py`.
    own = unslowed = fast_blocking = fast_background = False

    # The job: useful seconds, its options, and seconds of detection and of rescheduling.
    useful_s = nearly_done_s = detect_s = delay_s = reschedule_s = 0.0
    final_save = during_recovery = while_waiting = holds_nodes = False

    # Restarts in place: severities that are cured so, one bit each; seconds of a restart, and the
    # probability that it fails.
    restarts = 0
    restart_s = restart_fails = 0.0

    # Seconds to form the group of processes again where not all nodes return.
    regroup_s = 0.0

    # Share of all updates that a shard makes in a useful second. Places in `real` of the shares of
    # each shard: of all updates, and of the updates that saves leave.
    per_shard = 0.0
    updates = left = 0
    uneven = uneven_left = False

    # The mirror: seconds of a step, and the number of steps that it is behind.
    step_s = behind = 0.0

    # Probabilities that a save fails, that a load fails, that a save is torn; whether the store
    # has outages; whether saves are checked for being torn.
    save_fails = load_fails = torn = 0.0
    has_outages = checksum = False

    # Whether checkpoints have marks (rule 34), and how many a tier keeps before its last.
    marked = False
    older = 0

    # Verification: saves between two, and seconds; place in `whole` of the answers that return to a
    # verified checkpoint of each tier; the one that returns to the initial state.
    verifies = False
    verify_every = returns = last_return = 0
    verify_s = 0.0

    # The sequence that chooses saves, and its interval in useful seconds.
    sequence = 0
    interval_s = 0.0

    # Growing intervals: useful seconds added, and the overhead of a save above which they are.
    more_s = max_overhead = 0.0

    # Learned intervals: prior MTBF, its weight in failures, prior cost of a save; partial recovery:
    # its interval in MTBFs, the seconds it spares, and the two answers to choose from.
    prior_mtbf_s = prior_weight = prior_save_s = partial_mtbfs = spared_s = 0.0
    partial_answer = full_answer = 0

    # Rotations of experts: their count, place of their saves in `whole`, servers, and the updates
    # lost above which the next rotation is taken, in useful seconds.
    rotations = rotations_at = rotation_servers = 0
    limit_s = 0.0

    # Differences: variant; useful seconds from one merging to the next; sizes of a baseline and of
    # the tracked rows, in full checkpoints; place in `real` and number of the points of the
    # modified share.
    variant = at = points = 0
    merge_s = whole = rows = 0.0

    # Starts; allocations, in seconds; the answer by which the next allocation loads.
    starts = cache_on_node = allocated = False
    start_costs = (0.0,) * 4
    allocation_s = stop_s = 0.0
    hands_over = 0

    # Notices: seconds ahead, share of failures announced; the save or the drain in answer.
    notices = drains = False
    lead_s = recall = emergency_s = drain_s = 0.0
    emergency = 0

    # Capacities of the links, in bytes per second; whether other jobs draw on them as well, and
    # the share of its first period after which the first save is due.
    capacity = (0.0,) * 6
    shared = False
    first_due = 1.0
