"""What windows cost in which servers are withdrawn, to first order."""

import math
from collections.abc import Iterator

from cprsim.closed_form.attempts import mean_attempts
from cprsim.contract import Context, Plan
from cprsim.contract.withdrawal import Window, windows
from cprsim.job.start import mean_start


def of_windows(plan: Plan, context: Context, wall: float) -> Iterator[tuple[str, float]]:
    """By cause, over useful time, where the job takes `wall` without them.

    Of those that begin before its end, as without failures in them.
    """
    wall_s = wall * context.useful_time_s
    for window in windows(plan, context.costs):
        if window.due_s >= wall_s:
            return
        found = (
            _stops(plan, context, window)
            if window.answer is None
            else _goes_on(plan, context, window)
        )
        for cause, seconds in found:
            wall_s += seconds
            yield cause, seconds / context.useful_time_s


def _goes_on(plan: Plan, context: Context, window: Window) -> Iterator[tuple[str, float]]:
    """Rows are moved, and a useful second takes longer until the servers are filled again."""
    costs, answer = context.costs, window.answer
    assert answer is not None
    tier = plan.tier(answer.fills.source)
    filled_s = costs.seconds(costs.load(tier, answer.fills.loads, window.servers))
    yield "load", filled_s
    yield "reschedule", answer.pause_s
    slow_s = max(window.until_s - window.due_s - filled_s - answer.pause_s, 0.0) + filled_s
    yield "slowdown", answer.degraded / (1 + answer.degraded) * slow_s


def _stops(plan: Plan, context: Context, window: Window) -> Iterator[tuple[str, float]]:
    """A last save, of which about half one would have come anyway; the end, and a new start."""
    costs = context.costs
    schedule_s, cold_s, warm_s, shutdown_s = mean_start(costs.costs)
    start, stop_s = costs.costs.start, plan.stop_s(costs)
    tier = plan.tier(plan.last_save.tier)
    load_s = costs.seconds(costs.load(tier, "all", 0)) * mean_attempts(costs.load_fails(tier))
    period_s = plan.schedules[-1].period_s if plan.schedules else math.inf
    spared = min(window.due_s / period_s, 0.5)
    if window.due_s > 0:  # else nothing was trained that could be saved
        yield "save", (stop_s - shutdown_s) * (1 - spared)
    yield "shutdown", shutdown_s
    yield "reschedule", window.until_s - window.due_s - stop_s
    yield "start", schedule_s + (cold_s if start is not None and start.on_node else warm_s)
    yield "load", load_s
