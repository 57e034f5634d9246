"""Jobs that hold their nodes for so long at a stretch."""

import math

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods

Floats = NDArray[np.float64]
#: Of the interval: steps of the renewal equations, whose error goes with their square (chosen).
_STEPS = 100


def allocated_makespan_s(
    useful_time_s: float,
    interval_s: float,
    allocation_s: float,
    save_s: float,
    *,
    load_s: float = 0.0,
    schedule_s: float = 0.0,
    cold_s: float = 0.0,
    warm_s: float = 0.0,
    shutdown_s: float = 0.0,
) -> float:
    """Wall time of a job without failures, in as many allocations as it takes; exact.

    `allocation_s`: from when nodes are there until they are given back. Each allocation waits for
    `schedule_s`, starts (`cold_s`, later ones `warm_s` and a load), trains and saves in turn, and
    shuts down. A save that is under way at the end of what is left for that is the last one, and
    the allocation lasts longer.
    """
    wall_s, left_s, before_s = 0.0, useful_time_s, cold_s
    while True:
        rest_s = allocation_s - before_s - save_s - shutdown_s
        if rest_s <= 0:
            raise ValueError(f"allocation_s = {allocation_s} leaves no time to train")
        periods = whole_periods(rest_s, interval_s + save_s)
        last_s = max(rest_s - periods * (interval_s + save_s), 0.0)
        trained_s = periods * interval_s + min(last_s, interval_s)
        wall_s += schedule_s + before_s + shutdown_s
        if trained_s >= left_s:
            saves = math.ceil(left_s / interval_s * (1 - 1e-12)) - 1
            return wall_s + left_s + saves * save_s
        wall_s += trained_s + (periods + (last_s > 0)) * save_s
        left_s -= trained_s
        before_s = warm_s + load_s


def allocated_goodput(
    interval_s: float,
    allocation_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    before_s: float,
    shutdown_s: float,
    schedule_s: float,
) -> float:
    """Useful share of the wall clock of a long job in allocations, under full recovery.

    Nothing fails in the start of an allocation and its load, `before_s`, nor in a recovery. Where
    training may go on for `h` at most, `p(h)` is handed over, and takes `v(h)`: with no failure by
    the end of the next save (`min(h, W) + C`) what that and the rest come to; with one after `t`,
    `p(h - t - R)` and `t + R + v(h - t - R)`. Volterra equations, solved by the trapezoidal rule.
    """
    most_s = allocation_s - before_s - save_s - shutdown_s
    steps = math.ceil(max(most_s / interval_s, 1.0) * _STEPS)
    step_s = most_s / steps
    at_s = np.arange(steps + 1) * step_s
    handed_s, takes_s = np.zeros(steps + 1), np.zeros(steps + 1)
    takes_s[0] = save_s  # just above 0

    def value(known: Floats, left_s: Floats) -> Floats:
        return np.where(left_s >= 0, np.interp(left_s, at_s, known), 0.0)

    for i in range(steps + 1):
        trained_s = min(at_s[i], interval_s)
        segment_s = trained_s + save_s
        survives = math.exp(-segment_s / mtbf_s)
        struck_s = np.linspace(0.0, segment_s, max(2, math.ceil(segment_s / step_s) + 1))
        density = np.exp(-struck_s / mtbf_s) / mtbf_s
        rest_s = np.array([at_s[i] - segment_s])
        goes_on = rest_s[0] > 0
        left_s = at_s[i] - struck_s - recovery_s
        for _ in range(2):  # with no recovery the equation is implicit in its first node
            again = np.trapezoid(density * value(handed_s, left_s), struck_s)
            handed_s[i] = survives * (trained_s + value(handed_s, rest_s)[0]) + again
            again = density * (struck_s + recovery_s + value(takes_s, left_s))
            more_s = value(takes_s, rest_s)[0] if goes_on else 0.0
            takes_s[i] = survives * (segment_s + more_s) + np.trapezoid(again, struck_s)
    length_s = schedule_s + before_s + takes_s[-1] + shutdown_s
    return float(handed_s[-1] / length_s)
