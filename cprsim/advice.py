"""The CPR decision: full recovery at its optimum, or partial recovery at a target PLS."""

from dataclasses import asdict, dataclass
from typing import Any

from cprsim.analytic.expected import Expected, expected
from cprsim.contract import Context, Plan
from cprsim.errors import UsageError
from cprsim.policies.cpr import CprVanilla
from cprsim.policies.full import checkpoint_interval_s, full_plan
from cprsim.policies.partial import partial_plan
from cprsim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Option:
    """One way to run the job, and what it should cost to first order (E1, E2, E5)."""

    interval_s: float
    expected: Expected

    def document(self) -> dict[str, Any]:
        """As one JSON object; an interval of never is null."""
        return {
            "interval_s": self.interval_s if self.interval_s < float("inf") else None,
            "overhead": self.expected.overhead,
            "expected_pls": self.expected.pls,
            "breakdown": {k: v for k, v in asdict(self.expected).items() if k != "pls"},
        }


@dataclass(frozen=True, slots=True)
class Advice:
    """The decision, and the options it was made between.

    `benefit`: the share of full recovery's overhead that the recommended option takes away.
    """

    full: Option
    partial: Option
    naive_partial: Option
    recommendation: str
    benefit: float
    target_pls: float
    mtbf_s: float

    def document(self) -> dict[str, Any]:
        """The advice as one JSON document."""
        return {
            "full": self.full.document(),
            "partial": self.partial.document(),
            "naive_partial": self.naive_partial.document(),
            "recommendation": self.recommendation,
            "benefit": self.benefit,
            "target_pls": self.target_pls,
            "mtbf_s": self.mtbf_s if self.mtbf_s < float("inf") else None,
        }


def advise(scenario: Scenario, target_pls: float | None = None) -> Advice:
    """Compare full recovery at its optimum, naive partial recovery, and CPR at a target PLS.

    Parameters
    ----------
    scenario
        The job; its policies matter only for the default of `target_pls`.
    target_pls
        Portion of lost samples that is accepted; by default that of the scenario's first CPR
        policy, or CPR's own default, 0.1.

    Raises
    ------
    ScenarioError
        If a cost that the estimate needs is neither measured nor derivable.
    UsageError
        If `target_pls` is not a share > 0.
    """
    target = _target(scenario) if target_pls is None else target_pls
    if not 0 < target <= 1:
        raise UsageError(
            f"target PLS {target:g} is out of range: it is a share, > 0 and <= 1, e.g. 0.1 for 10 %"
        )
    context = scenario.context
    try:
        optimum_s = checkpoint_interval_s("optimal", context.save_s, context.mtbf_s)
    except ValueError as error:
        raise UsageError(f"no advice: {error}") from None
    cpr = CprVanilla(system="cpr-vanilla", target_pls=target)
    full = _option(full_plan(optimum_s), context)
    partial = _option(partial_plan(cpr.interval_s(context)), context)
    recommendation = cpr.plan(context).recovery
    best = partial if recommendation == "partial" else full
    before = full.expected.overhead
    return Advice(
        full=full,
        partial=partial,
        naive_partial=_option(partial_plan(optimum_s), context),
        recommendation=recommendation,
        benefit=1 - best.expected.overhead / before if before else 0.0,
        target_pls=target,
        mtbf_s=context.mtbf_s,
    )


def _target(scenario: Scenario) -> float:
    targets = [p.target_pls for p in scenario.policies.values() if isinstance(p, CprVanilla)]
    return targets[0] if targets else CprVanilla(system="cpr-vanilla").target_pls


def _option(plan: Plan, context: Context) -> Option:
    return Option(plan.interval_s, expected(plan, context))
