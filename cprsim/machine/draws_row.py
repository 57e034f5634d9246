"""The row of the random numbers of one run."""

import math

from cprsim.machine.codes import NONE
from cprsim.machine.rows import Row


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
