"""The CPR decision: full recovery at its optimum, or partial recovery at a target PLS."""

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from cprsim.contract import Context, Plan
from cprsim.contract.expected import Expected, expected
from cprsim.contract.ledger import OVERHEAD_CAUSES, overhead
from cprsim.errors import UsageError
from cprsim.formulas.makespan import blocking_makespan_s, segment_count
from cprsim.policies.cpr import Cpr, CprVanilla, expected_to_cost_less
from cprsim.policies.full import checkpoint_interval_s, full_plan
from cprsim.policies.partial import partial_plan
from cprsim.policies.priority import CprMfu, PrioritySaving
from cprsim.scenario import Scenario, scenario_of

#: What a target bounds: the portion of lost samples, or the share of updates lost.
Quality = Literal["pls", "updates"]
_PRECISION = 1.001  # of the interval, a ratio


@dataclass(frozen=True, slots=True)
class Option:
    """One way to run the job, and what it should cost to first order (E1, E2, E5)."""

    interval_s: float
    expected: Expected

    @classmethod
    def of(cls, plan: Plan, context: Context) -> "Option":
        """Make the numbers of a plan."""
        return cls(plan.interval_s, expected(plan, context))

    def document(self) -> dict[str, Any]:
        """Return one JSON object; an interval of never is null."""
        return {
            "interval_s": self.interval_s if self.interval_s < float("inf") else None,
            "overhead": self.expected.overhead,
            "overhead_retrained": self.expected.overhead_retrained,
            "expected_pls": self.expected.pls,
            "expected_updates_lost": self.expected.updates_lost,
            "breakdown": {k: v for k, v in asdict(self.expected).items() if k in OVERHEAD_CAUSES},
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision, and the options it was made between.

    `target_pls`: the share of learning lost that is accepted, `quality`: how it is counted.
    `recommendation`: which of `full` and `partial` costs less. `benefit`: the share of full
    recovery's overhead that it takes away. `mean_pls`: what `partial` loses with all that (E5)
    leaves out, see `formulas.pls`. `save_s`: what one save of everything takes.

    Examples
    --------
    >>> decision = cprsim.decide("criteo-kaggle", target_pls=0.02)
    >>> round(decision.partial.interval_s / 3600, 1)
    9.0
    """

    full: Option
    partial: Option
    naive_partial: Option
    recommendation: str
    benefit: float
    target_pls: float
    quality: Quality
    mtbf_s: float
    mean_pls: float
    useful_time_s: float
    save_s: float

    @property
    def never_saves(self) -> bool:
        """Return whether partial recovery at the target makes no save in the whole job."""
        return self.partial.interval_s >= self.useful_time_s

    @property
    def gets_nowhere(self) -> bool:
        """Return whether a save takes as long as the job lasts between failures."""
        return self.save_s >= self.mtbf_s

    @property
    def recommendation_retrained(self) -> str:
        """The recommendation if every lost update were trained again."""
        full, partial = self.full.expected, self.partial.expected
        if self.recommendation == "full" or partial.overhead_retrained >= full.overhead_retrained:
            return "full"
        return "partial"

    def document(self) -> dict[str, Any]:
        """The decision as one JSON document."""
        return {
            "full": self.full.document(),
            "partial": self.partial.document(),
            "naive_partial": self.naive_partial.document(),
            "recommendation": self.recommendation,
            "recommendation_retrained": self.recommendation_retrained,
            "benefit": self.benefit,
            "target_pls": self.target_pls,
            "quality": self.quality,
            "mtbf_s": self.mtbf_s if self.mtbf_s < float("inf") else None,
            "mean_pls": self.mean_pls,
        }


def decide(
    scenario: Scenario | str | Path, target_pls: float | None = None, quality: Quality = "pls"
) -> Decision:
    """Compare full recovery at its optimum, naive partial recovery, and CPR at a target.

    Parameters
    ----------
    scenario
        The job, its file, or the name of a shipped scenario; its policies matter only for the
        default of `target_pls`, and for which rows are saved by priority.
    target_pls
        Share of learning lost that is accepted; by default that of the scenario's first CPR policy,
        or CPR's own default, 0.1.
    quality
        What the target bounds. `"pls"`: the portion of lost samples, by (E6). `"updates"`: the
        expected share of updates lost, at the longest interval that meets it (or at the shortest
        that costs no more than full recovery), with the scenario's first policy that saves rows by
        priority, or `cpr-mfu`.

    Returns
    -------
    Decision
        The interval and the expected overhead of each, and which costs less.

    Raises
    ------
    ScenarioError
        If a cost that the estimate needs is neither measured nor derivable.
    UsageError
        If `target_pls` is not a share > 0, `quality` isn't known, or the scenario doesn't say how
        its rows are accessed.

    Examples
    --------
    >>> decision = cprsim.decide("criteo-kaggle")
    >>> decision.recommendation, round(decision.benefit, 2)
    ('partial', 0.94)
    """
    scenario = scenario_of(scenario)
    if quality not in get_args(Quality):
        raise UsageError(f"quality {quality!r} is not known; known: {', '.join(get_args(Quality))}")
    cpr = _cpr(scenario, target_pls)
    context = scenario.context
    try:
        saves_rows = (p for p in scenario.policies.values() if isinstance(p, PrioritySaving))
        saving = next(saves_rows, CprMfu(system="cpr-mfu"))
        policy = cpr if quality == "pls" else saving
        save_s, checksum = policy.whole_save_s(context), bool(policy.checksum)
        optimum_s = checkpoint_interval_s("optimal", save_s, context.mtbf_s)
        returns_all = replace(full_plan(optimum_s), checksum=checksum)
        full = Option.of(returns_all, context)
        before = full.expected.overhead
        if quality == "pls":
            # Where no interval meets the target, the shortest that costs no more than `full`.
            interval_s = cpr.interval_s(context) or save_s / before
            plan = replace(partial_plan(interval_s), after_void=cpr.after_void, checksum=checksum)
        else:
            plan = _kept_to(saving, cpr.target_pls, before, context)
        mean_pls = policy.mean_pls(context, plan.interval_s)
    except ValueError as error:
        raise UsageError(f"no advice: {error}") from None
    partial = Option.of(plan, context)
    if quality == "pls" and cpr.pls_interval == "mean":
        partial = replace(partial, expected=replace(partial.expected, pls=mean_pls))
    better = expected_to_cost_less(plan, returns_all, context)
    return Decision(
        full=full,
        partial=partial,
        naive_partial=Option.of(replace(partial_plan(optimum_s), checksum=checksum), context),
        recommendation="partial" if better else "full",
        benefit=1 - (partial if better else full).expected.overhead / before if before else 0.0,
        target_pls=cpr.target_pls,
        quality=quality,
        mtbf_s=context.mtbf_s,
        mean_pls=mean_pls,
        useful_time_s=context.useful_time_s,
        save_s=save_s,
    )


def accepted_pls(scenario: Scenario, target_pls: float | None = None) -> float:
    """The portion of lost samples that is accepted, as of `decide`."""
    return _cpr(scenario, target_pls).target_pls


def _cpr(scenario: Scenario, target_pls: float | None) -> Cpr:
    """CPR as the scenario's first such policy resolves its interval, or as the paper does."""
    found = next((each for each in scenario.policies.values() if isinstance(each, Cpr)), None)
    keys: dict[str, Any] = {"pls_interval": "E6"}
    if found is not None:
        copied = ("target_pls", "pls_interval", "after_void", "checksum")
        keys = {each: getattr(found, each) for each in copied}
    cpr = CprVanilla(system="cpr-vanilla", **keys)
    if target_pls is None:
        return cpr
    if not 0 < target_pls <= 1:
        raise UsageError(
            f"target PLS {target_pls:g} is out of range: it is a share, > 0 and <= 1, e.g. 0.1 for "
            "10 %"
        )
    return cpr.model_copy(update={"target_pls": target_pls})


def _kept_to(saving: PrioritySaving, target: float, full: float, context: Context) -> Plan:
    """Plan with the longest interval that meets a target on updates lost.

    Where none does, with the shortest that costs no more than `full`, what full recovery costs.
    """

    def at(interval_s: float) -> Plan:
        return saving.model_copy(update={"interval": interval_s}).planned(context)

    def kept(interval_s: float) -> bool:
        return expected(at(interval_s), context).updates_lost <= target

    longest_s = context.useful_time_s / saving.fraction  # beyond it there is no save at all
    if kept(math.inf):
        return at(math.inf)
    # Below it saving alone costs what full recovery does.
    least_s = min(saving.whole_save_s(context) / full, longest_s)
    shortest_s = longest_s
    while not kept(shortest_s):
        if shortest_s <= least_s:
            return at(least_s)
        shortest_s = max(shortest_s / 2, least_s)
    while longest_s > shortest_s * _PRECISION:
        middle_s = math.sqrt(shortest_s * longest_s)
        if kept(middle_s):
            shortest_s = middle_s
        else:
            longest_s = middle_s
    return at(shortest_s)


def closed_form(context: Context, system: str, interval_s: float) -> float:
    """Expected overhead at an interval under exponential failures, as a share.

    Exact for full recovery. Partial recovery repeats no work, so each failure costs its recovery
    alone; failures in recoveries are neglected.
    """
    plan = full_plan(interval_s) if system == "full" else partial_plan(interval_s)
    shares, mtbf_s, useful_s = expected(plan, context), context.mtbf_s, context.useful_time_s
    load_s, away_s = shares.load * mtbf_s, (shares.reschedule + shares.detect) * mtbf_s
    save_s = context.save_s
    if system == "full":
        wall_s = blocking_makespan_s(useful_s, interval_s, save_s, mtbf_s, load_s, away_s)
    else:
        saving_s = (segment_count(useful_s, interval_s) - 1) * save_s
        wall_s = (useful_s + saving_s) * (1 + (load_s + away_s) / mtbf_s)
    return float(overhead(wall_s, useful_s))
