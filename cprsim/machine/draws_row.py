"""The row of the random numbers of one run."""

import math

from cprsim.machine.codes import NONE
from cprsim.machine.rows import Row, of_columns


@of_columns
class DrawsRow(Row):
    """Random numbers of one run: places in `numbers` and `choices`, and counts.

    `NONE` where a run may do without: other columns say then what there is.
    """

    # Gaps or instants of failures, s; seconds after which a log repeats.
    gaps = gap_count = 0
    circle_s = math.inf

    # Nodes hit by each failure: drawn by kind of node, or given by `hits`.
    victims = victim_count = victim_trainers = per_servers = per_trainers = 0
    kinds = hits = NONE

    # Severity of each failure, and seconds until it is noticed, and until its nodes are back.
    severities = detections = repairs = NONE
    severity_count = 0

    # Restarts in place: numbers, 0 to 1, that decide whether they fail; seconds of each. Seconds to
    # form the group of processes again.
    tries = restart_count = 0
    restarts = regroups = NONE

    # Lives of nodes, s, by generation of the node.
    lives = life_count = life_stride = 0

    # Numbers, 0 to 1, that decide which machines are bad, placed as lives are; and `Offenders`:
    # shares, how often bad ones fail, and repairs until a machine is retired (0: never).
    states = NONE
    bad_share = misdiagnosed = 0.0
    bad_times = cured = 1.0
    retired_after = 0

    # Instants of bursts, s, and the nodes that they hit.
    bursts = NONE
    burst_count = burst_nodes = burst_width = 0

    # Rescheduling delays, s; parts of starts and shutdowns, s.
    delays = delay_count = starts = start_count = 0

    # Numbers, 0 to 1, that decide whether saves fail, are torn, and loads fail; starts and ends of
    # outages, s; silent faults, in seconds of training.
    voids = void_count = torn = loads = load_count = outages = outage_count = silent = 0
    silent_count = 0

    # Numbers, 0 to 1, that decide which failures are announced; instants of false alarms, s.
    notices = notice_count = alarms = alarm_count = 0
