"""Overhead against the checkpoint interval: by closed forms, and simulated at some intervals."""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from cprsim.analytic.expected import expected
from cprsim.closed_form.intervals import exact_interval_s, young_interval_s
from cprsim.contract.ledger import overhead
from cprsim.errors import CprsimError
from cprsim.gallery.interval import closed_form
from cprsim.gallery.points import at
from cprsim.runs.engines import attempt, chosen
from cprsim.runs.mean import Mean
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

#: What saves at each interval: full recovery, and partial recovery as CPR does it.
SYSTEMS: Final = {"full": "full recovery", "cpr-vanilla": "partial recovery"}
_POINTS = 120  # of a curve
_SIMULATED = 8  # intervals
_AROUND = 16.0  # either way of Young's interval, as a ratio
_MOST = 1.0  # overhead: beyond it a job takes twice its time, and nobody asks for it
#: An interval in seconds, and the mean overhead, a share, with the ends of its 95 % interval.
Point = tuple[float, float, float, float]
REPLICATIONS: Final = 256  # at each interval: a cohort, whose draws are shared


def curve(scenario: Scenario) -> dict[str, Any] | None:
    """Closed forms under exponential failures, and where full recovery's is least.

    None where saves or failures cost nothing, or have no cost, so that no interval is best; and
    where full recovery takes more than twice the time at every interval.
    """
    try:
        span = _span(scenario)
    except (CprsimError, ValueError):
        return None
    if span is None:
        return None
    context, (least_s, most_s, young_s) = scenario.context, span
    exact_s = min(exact_interval_s(context.save_s, context.mtbf_s), most_s)
    intervals = [*np.geomspace(least_s, most_s, _POINTS).tolist(), young_s, exact_s]
    lines = {
        system: [
            (each_s, share)
            for each_s in sorted(intervals)
            if (share := closed_form(context, system, each_s)) <= _MOST
        ]
        for system in SYSTEMS
    }
    if not lines["full"]:
        return None
    best_s, least = min(lines["full"], key=lambda point: point[1])
    return {"names": SYSTEMS, "lines": lines, "best": [best_s, least]}


def simulated(scenario: Scenario, seed: int) -> Iterator[tuple[str, list[Point]]]:
    """Points of each system under the scenario's own failures, one system after the other.

    A point: an interval, and the mean overhead there with the ends of its 95 % interval. Intervals
    at which the job gets nowhere are left out.
    """
    span = _span(scenario)
    if span is None:
        return
    least_s, most_s, _ = span
    for system in SYSTEMS:
        intervals = [
            each_s
            for each_s in np.geomspace(least_s, most_s, _SIMULATED).tolist()
            if closed_form(scenario.context, system, each_s) <= _MOST
        ]
        policies = {
            f"{number}": {"system": system, "interval": f"{each_s!r} s"}
            for number, each_s in enumerate(intervals)
        }
        yield system, _played(at(scenario, {"policies": policies}), intervals, seed)


def _span(scenario: Scenario) -> tuple[float, float, float] | None:
    """The least and the most interval, and Young's, s; None where none is best."""
    context = scenario.context
    young_s = young_interval_s(context.save_s, context.mtbf_s)
    expected(scenario.plan(next(iter(scenario.policies))), context)
    if not 0 < young_s < math.inf:
        return None
    most_s = min(young_s * _AROUND, context.useful_time_s)
    return min(young_s / _AROUND, most_s / 2), most_s, min(young_s, most_s)


def _played(scenario: Scenario, intervals: list[float], seed: int) -> list[Point]:
    if not intervals:
        return []
    engines = chosen(scenario, list(scenario.policies), "auto")
    values = attempt(scenario, engines, range(REPLICATIONS), seed)
    shares = overhead(values[:, :, COLUMNS.index("wall")], scenario.job.useful_time_s)
    means = [Mean.of(each) for each in shares.T]
    return [
        (each_s, *mean)
        for each_s, mean in zip(intervals, means, strict=True)
        if math.isfinite(mean.mean)
    ]
