"""The conclusion of a run, in one sentence, and notes on its policies.

A run compares the policies it was given. Only `cprsim advise` searches all systems, so that nothing
here recommends one.
"""

import math
from collections.abc import Sequence

from cprsim.basics.units import format_percent, listed
from cprsim.report.answer import HOPELESS
from cprsim.runs.result import Result
from cprsim.runs.selection.certificate import WITHIN, Certificate, judge
from cprsim.runs.selection.words import Unit, standing

#: Shares of learning below which lies only rounding.
_NOTHING = 1e-12


def certified(
    result: Result,
    measure: str = "overhead",
    within: float = WITHIN,
    among: Sequence[str] | None = None,
) -> Certificate:
    """Return which policy has the lowest mean of a measure of `COMPARED`, and how certain that is.

    Candidates are the policies `among` which it is, by default all, in their order.
    """
    can_fail = math.isfinite(result.scenario.context.mtbf_s)
    share = within / WITHIN / result.scenario.job.useful_time_s  # of the measure, for a second
    names = list(result.plans) if among is None else among
    unmet = {name: min(result.plans[name].unmet_s * share, within / WITHIN) for name in names}
    return judge(result.kept.evidence(unmet, measure, can_fail), (), within=within)


def conclusion(result: Result) -> str:
    """The fastest policy that loses nothing, how certain that is, and what a faster one loses."""
    names, overheads = list(result.plans), result.summary["overhead"].to_dict()
    sound = [name for name in names if not _corrupt(result, name)] or names
    safe = [name for name in sound if not _loses(result, name)]
    pool = safe or sound
    found = certified(result, among=pool)
    best = pool[found.best or 0]
    hopeless = "This job is hopeless under these policies. " * (overheads[best] >= HOPELESS)
    share = f"{format_percent(overheads[best])} overhead"
    if len(names) == 1:
        lost = "" if safe else f", {_lost(result, best)} of the updates lost"
        return f"{hopeless}{best}: {share}{lost}; no other policy was run."
    lossless = " that loses no updates" if safe and len(safe) < len(sound) else ""
    if len(sound) < len(names):
        lossless += f"{' and' * bool(lossless)} that ends without silent faults"
    certainty = f"; {standing(found, pool)}" if found.rivals else ""
    said = f"Of {len(names)} policies, {best} is the fastest{lossless}: {share}{certainty}"
    others = [each for each in sound if each not in pool]
    faster = min(others, key=lambda each: overheads[each], default=best)
    if not safe:
        said += f"; it loses {_lost(result, best)} of the updates"
    elif overheads[faster] < overheads[best]:
        taken = format_percent(overheads[faster])
        said += f"; {faster} takes {taken} and loses {_lost(result, faster)} of the updates"
    return f"{hopeless}{said}."


def findings(result: Result) -> list[str]:
    """Return notes on the policies, a sentence each."""
    what = _silent, _unknown_accuracy, _retrained, _cheapest
    return [*filter(None, (each(result) for each in what))]


def _silent(result: Result) -> str:
    """Return how often a policy ends with a silent fault."""
    shares = {name: _corrupt(result, name) for name in result.plans}
    ends = ", ".join(
        f"{name} in {format_percent(share)}" for name, share in shares.items() if share
    )
    said = f"Replications that end with a silent fault in the model: {ends}. Set verify_every to"
    return f"{said} find them." if ends else ""


def _unknown_accuracy(result: Result) -> str:
    """Policies that lose learning, where no slope was measured for any of them."""
    losing = [name for name in result.plans if _loses(result, name)]
    drops = [result.auc_drops.get(name) for name in losing]
    if not losing or any(drop is not None and not math.isnan(drop.mean) for drop in drops):
        return ""
    return f"What lost updates do to accuracy isn't known: {listed(losing)}."


def _retrained(result: Result) -> str:
    """The order of the policies if lost updates are trained again, where it differs."""
    by_time, by_worth = (
        sorted(result.plans, key=result.summary[measure].to_dict().__getitem__)
        for measure in ("overhead", "overhead_retrained")
    )
    if by_time == by_worth:
        return ""
    least = format_percent(_of(result, by_worth[0], "overhead_retrained"))
    return (
        f"Counting the time to train lost updates again, the order is {listed(by_worth)} "
        f"({by_worth[0]}: {least}); by overhead it is {listed(by_time)}."
    )


def _cheapest(result: Result) -> str:
    """The policy that costs the least money, and how certain that is."""
    if "cost" not in result.summary:
        return ""
    names = list(result.plans)
    lowest = min(_of(result, name, "cost") for name in names)
    found = certified(result, "cost", WITHIN * lowest)
    best = names[found.best or 0]
    certainty = ""
    if found.rivals:
        certainty = f"; {standing(found, names, Unit(str(result.currency), 1.0))}"
    paid = f"{_of(result, best, 'cost'):,.2f} {result.currency}"
    return f"Lowest cost: {best}, {paid}{certainty}."


def _lost(result: Result, policy: str) -> str:
    return format_percent(_of(result, policy, "updates_lost"))


def _loses(result: Result, policy: str) -> bool:
    lost = (_of(result, policy, measure) for measure in ("updates_lost", "pls"))
    return max(lost) > _NOTHING


def _corrupt(result: Result, policy: str) -> float:
    """Share of the replications that end with a silent fault."""
    return _of(result, policy, "corrupt") if "corrupt" in result.summary else 0.0


def _of(result: Result, policy: str, measure: str) -> float:
    """A mean of the summary."""
    return float(result.summary[measure].to_dict()[policy])
