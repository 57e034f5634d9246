"""CPR: partial recovery at the interval that a target on lost samples allows."""

import math
from typing import Annotated, Literal

from pydantic import Field

from cprsim.analytic.expected import expected
from cprsim.closed_form.intervals import pls_interval_s
from cprsim.contract import Context, Interval, Plan, Policy
from cprsim.policies.full import checkpoint_interval_s, full_plan
from cprsim.policies.partial import partial_plan


def partial_costs_less(partial: Plan, full: Plan, context: Context) -> bool:
    """(E7): whether partial recovery is expected to cost less than full recovery."""
    return expected(partial, context).overhead < expected(full, context).overhead


class Cpr(Policy):
    """Partial recovery with checkpoints as rare as `target_pls` allows (CPR, MLSys 2021).

    (E6): T_save = 2 PLS N_emb T_fail, divided by the mean number of servers that one failure takes
    down, since each of them loses its own share. (E7): where (E2) at that interval costs no less
    than (E1) at full recovery's optimum, the plan is full recovery. A given `interval` leaves
    nothing to resolve or decide: it is partial recovery at that interval.
    """

    target_pls: Annotated[float, Field(gt=0, le=1)] = 0.1
    interval: Interval | None = None

    def plan(self, context: Context) -> Plan:
        """Resolve (E6) and decide by (E7), or take the interval that is given."""
        partial = self.partial(context, self.interval_s(context))
        if self.interval is not None:
            return partial
        full = full_plan(checkpoint_interval_s("optimal", context.save_s, context.mtbf_s))
        return partial if partial_costs_less(partial, full, context) else full

    def partial(self, _context: Context, interval_s: float) -> Plan:
        """Partial recovery at that interval, s."""
        return partial_plan(interval_s)

    def interval_s(self, context: Context) -> float:
        """(E6), or the interval that was set, s."""
        if self.interval is not None:
            return checkpoint_interval_s(self.interval, context.save_s, context.mtbf_s)
        if context.servers_hit == 0:  # only trainers fail: no shard is ever lost
            return math.inf
        return pls_interval_s(self.target_pls, context.mtbf_s, context.servers, context.servers_hit)


class CprVanilla(Cpr):
    """CPR without priorities: each save is of everything."""

    system: Literal["cpr-vanilla"]
