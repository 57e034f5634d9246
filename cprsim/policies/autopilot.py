"""Autopilot: an interval, and a kind of recovery, planned again by what the job has seen."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Part, PositiveSeconds
from cprsim.contract import Accepted, Context, Learned, Plan, Policy
from cprsim.contract.expected import expected
from cprsim.formulas.pls import pls_interval_s
from cprsim.machine.schedules import partial_costs_less
from cprsim.policies.full import checkpoint_interval_s, full_plan
from cprsim.policies.partial import partial_plan


class Autopilot(Policy):
    """Save at an interval that follows the failures and save times seen so far.

    Source: CPR's intervals (Maeng et al., MLSys 2021), with an MTBF estimated while the job runs.

    Who starts a job seldom knows how often it will fail. The MTBF is believed to be `prior` at
    first, which counts as `weight` failures: a gamma law of the hazard, the conjugate one of
    exponential failures. After n failures in a time t it is taken for (weight prior + t) / (weight
    + n), and the cost of a save for the mean of those that were seen; all is planned again after
    each save and each recovery. One failure more or less moves the MTBF by less than 1 part in
    weight + n, so nothing oscillates.

    `prior`: the MTBF of the job that is believed in at first. `weight`: how many failures it counts
    as. `target_pls`: the portion of lost samples to accept, but for those that are lost in saves
    and recoveries. With it, recovery is partial at (E6) of CPR while (E7) has that cost less;
    without it, recovery is full at (E3).
    """

    system: Literal["autopilot"]
    prior_s: PositiveSeconds = Field(alias="prior")
    weight: Annotated[float, Field(gt=0)] = 1.0
    target_pls: Annotated[float, Field(gt=0, le=1), Part] | None = None

    def plan(self, context: Context) -> Plan:
        """Start from what is planned at the prior."""
        learned = Learned(
            self.prior_s, self.weight, self.whole_save_s(context), self._accepted(context)
        )
        return replace(self._believed(learned), sequence=learned)

    def _accepted(self, context: Context) -> Accepted | None:
        """Return the numbers for partial recovery, where it is allowed."""
        if self.target_pls is None:
            return None
        mtbfs = pls_interval_s(self.target_pls, 1.0, context.servers, context.servers_hit)
        spared_s = _recovery_s(full_plan, context) - _recovery_s(partial_plan, context)
        return Accepted(mtbfs, spared_s)

    def _believed(self, learned: Learned) -> Plan:
        """The plan at the prior."""
        accepted, save_s = learned.accepted, learned.save_s
        full_s = checkpoint_interval_s("optimal", save_s, self.prior_s)
        if accepted and partial_costs_less(save_s, full_s, accepted.mtbfs, accepted.spared_s):
            return partial_plan(accepted.mtbfs * self.prior_s)
        return full_plan(full_s)


def _recovery_s(plan: Callable[[float], Plan], context: Context) -> float:
    """Return the mean time of one recovery, s, whatever the interval."""
    if math.isinf(context.mtbf_s):
        return 0.0
    shares = expected(plan(context.useful_time_s), context)
    return (shares.load + shares.reschedule + shares.start) * context.mtbf_s
