"""Costs of the ends of allocations, to first order."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from cprsim.contract import Context, Plan, rules
from cprsim.formulas.attempts import mean_attempts
from cprsim.job.start import mean_start


class _Stop(NamedTuple):
    """Mean seconds: in all until nodes can go, of which `shutdown_s` is no save; then a start."""

    takes_s: float
    shutdown_s: float
    schedule_s: float
    start_s: float
    load_s: float

    @property
    def save_s(self) -> float:
        """The last save, with a verification before it if there is one."""
        return self.takes_s - self.shutdown_s


def of_allocations(plan: Plan, context: Context, wall: float) -> Iterator[tuple[str, float]]:
    """Yield the costs of the ends of allocations where the job takes `wall` without them.

    As many as without failures, and a save each, of which about half one would have come anyway.
    """
    allocation_s = context.costs.job.allocation_s
    if allocation_s is None:
        return
    stop = _stop(plan, context)
    rest_s = allocation_s - stop.start_s - stop.load_s - stop.takes_s
    if rest_s <= 0:
        return  # an error says so when it is played
    stops = math.ceil(wall * context.useful_time_s / rest_s * (1 - rules.ROUNDING)) - 1
    each = stops / context.useful_time_s
    yield "save", each * stop.save_s * (1 - _comes_anyway(plan, rest_s / wall))
    yield "shutdown", each * stop.shutdown_s
    yield "start", each * (stop.schedule_s + stop.start_s)
    yield "load", each * stop.load_s


def _stop(plan: Plan, context: Context) -> _Stop:
    costs = context.costs
    schedule_s, cold_s, warm_s, shutdown_s = mean_start(costs.costs)
    start = costs.costs.start
    tier = plan.tier(plan.last_save.tier)
    return _Stop(
        plan.stop_s(costs),
        shutdown_s,
        schedule_s,
        cold_s if start is not None and start.on_node else warm_s,
        costs.seconds(costs.load(tier, "all", 0)) * mean_attempts(costs.load_fails(tier)),
    )


def _comes_anyway(plan: Plan, trained_s: float) -> float:
    """Share of the last save that is no more than one that was due, where so much was trained."""
    period_s = plan.schedules[-1].period_s if plan.schedules else math.inf
    return min(trained_s / period_s, 0.5)
