"""Autopilot: full recovery whose interval is planned anew by what the job has seen."""

from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import PositiveSeconds
from cprsim.contract import Context, Learned, Plan, Policy, every
from cprsim.policies.full import FULL_ROLLBACK, checkpoint_interval_s


class Autopilot(Policy):
    """Full recovery at (E3) of CPR, of the MTBF and the cost of a save that were seen so far.

    Who starts a job seldom knows how often it will fail. The MTBF is believed to be `prior` at
    first, which counts as `weight` failures: a gamma law of the hazard, the conjugate one of
    exponential failures. After n failures in a time t it is taken for (weight prior + t) / (weight
    + n), and the cost of a save for the mean of those that were seen; the interval is planned anew
    after each save and each recovery. One failure more or less moves it by less than 1 part in 2
    (weight + n), so it doesn't oscillate.

    `prior`: the MTBF of the job that is believed in at first. `weight`: how many failures it counts
    as.
    """

    system: Literal["autopilot"]
    prior_s: PositiveSeconds = Field(alias="prior")
    weight: Annotated[float, Field(gt=0)] = 1.0

    def plan(self, context: Context) -> Plan:
        """Start from (E3) at the prior."""
        first_s = checkpoint_interval_s("optimal", context.save_s, self.prior_s)
        learned = Learned(self.prior_s, self.weight, context.save_s)
        return Plan("full", every(first_s), FULL_ROLLBACK, sequence=learned)
