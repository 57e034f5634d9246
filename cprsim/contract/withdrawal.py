"""Servers that are withdrawn for a while, known in advance: what a plan makes of it."""

from typing import NamedTuple

from cprsim.contract.actions import Loss, Recover
from cprsim.contract.plan import Plan
from cprsim.job.costs import CostModel
from cprsim.machine import rules


class Window(NamedTuple):
    """`servers` are withdrawn until `until_s`; the job sees to it from `due_s` on, s.

    `answer`: how the rest goes on with none down beside them, or None where the job stops instead,
    in time for what that takes.
    """

    due_s: float
    until_s: float
    servers: int
    answer: Recover | None


def windows(plan: Plan, costs: CostModel) -> tuple[Window, ...]:
    """Those of the job, one after the other."""
    found = []
    for each in costs.job.withdrawn or ():
        count, servers = each.parameter_servers, costs.cluster.parameter_servers
        last = frozenset(range(max(servers - count, 0), servers))
        answer = plan.recover(Loss(last, frozenset()))
        goes_on = rules.r39_goes_on(answer.regrow is not None, servers, count)
        due_s = each.at_s
        if not goes_on:
            due_s = rules.r37_stop_s(0.0, each.at_s, plan.stop_s(costs))
        found.append(Window(due_s, each.until_s, count, answer if goes_on else None))
    return tuple(found)
