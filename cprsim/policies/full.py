"""Full recovery: after a failure the whole job returns to its last checkpoint."""

import math
from typing import Literal

from cprsim.contract.actions import Recover
from cprsim.contract.answers import Always
from cprsim.contract.plan import Plan, every
from cprsim.contract.policy import Context, Interval, Policy
from cprsim.formulas.intervals import exact_interval_s, young_interval_s

#: Whoever is hit, server or trainer: the job restarts as a whole from its last checkpoint.
FULL_ROLLBACK = Always(Recover(rollback="all"))
#: Its name before, which policies of users import.
everything_returns = FULL_ROLLBACK


def checkpoint_interval_s(rule: str | float, charge_s: float, mtbf_s: float) -> float:
    """Return seconds of an `interval` setting; `charge_s`: time that a save stops training.

    `"optimal"` is (E3), sqrt(2 O_save T_fail) (Young 1974); `"exact"` minimises the exact expected
    makespan under exponential failures. Raises `ValueError` for a charge of 0: it has no optimum.
    """
    if isinstance(rule, str) and charge_s == 0 and mtbf_s < math.inf:
        raise ValueError(
            'the save takes no time, so no interval is optimal; give one, e.g. interval = "10 min"'
        )
    if rule == "optimal":
        return young_interval_s(charge_s, mtbf_s)
    if rule == "exact":
        return exact_interval_s(charge_s, mtbf_s)
    return float(rule)


def rare_interval_s(rule: str | float | None, charge_s: float, mtbf_s: float) -> float:
    """Return seconds of an `interval` that may be left out, which makes no saves."""
    return math.inf if rule is None else checkpoint_interval_s(rule, charge_s, mtbf_s)


def full_plan(interval_s: float) -> Plan:
    """Blocking saves of everything every `interval_s`, full rollback."""
    return Plan("full", every(interval_s), FULL_ROLLBACK)


class Full(Policy):
    """Save everything while training waits; a failure takes the whole job back to the last save.

    Source: common practice, with Young's interval (CACM 17(9), 1974).

    (E1) of CPR (Maeng et al., MLSys 2021): O_save T/T_save + (O_load + T_save/2 + O_res) T/T_fail.
    A failure of a trainer is treated like one of a server: the job restarts as a whole.

    With an answer to notices, `"optimal"` is the interval for failures that aren't announced (Aupy,
    Robert, Vivien, JPDC 74(2), 2014).
    """

    system: Literal["full"]
    interval: Interval = "optimal"

    def plan(self, context: Context) -> Plan:
        """Save at the interval, answer every loss with a full rollback."""
        return full_plan(checkpoint_interval_s(self.interval, *self._charged(context)))

    def _charged(self, context: Context) -> tuple[float, float]:
        """Return the time of a save and its share of a verification, and the MTBF to plan with, s.

        A silent fault costs all that was trained since it was last verified, a failure half an
        interval: with one verification a save it is the optimum of Benoit, Cavelan, Robert and Sun
        (ACM TOPC 3(2), 2016). Where that many saves don't come in the job, only its end
        is verified.
        """
        every, mtbf_s = self.verify_every, self.unannounced_s(context)
        if every is None:
            return self.whole_save_s(context), mtbf_s
        charge_s = self.whole_save_s(context) + context.costs.costs.verify_s / every
        rate = 1 / mtbf_s + 2 * every / context.silent_mtbf_s
        both_s = 1 / rate if rate else math.inf
        if every * young_interval_s(charge_s, both_s) >= context.useful_time_s:
            return self.whole_save_s(context), mtbf_s
        return charge_s, both_s
