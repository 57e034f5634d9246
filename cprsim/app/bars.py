"""What the page draws of each policy: means, their intervals, and how they are written."""

import math
from typing import Any, Final

from cprsim.analytic.expected import expected
from cprsim.basics.units import format_duration, percent
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.report.means import money_between, share_between
from cprsim.runs.mean import Mean
from cprsim.runs.result import Result, finite
from cprsim.scenario import Scenario

#: What is drawn: shares of the useful time, of samples and of updates, and money.
MEASURES: Final = ("overhead", "updates_lost", "pls", "cost")


def simulated(result: Result) -> list[dict[str, Any]]:
    """A row a policy, of a run."""
    return [
        {
            "policy": str(name),
            "system": row["system"],
            "saves": _saves(row["recovery"], row["interval_s"]),
            "interval_s": finite(row["interval_s"]),
            "causes": {cause: finite(row[cause]) for cause in OVERHEAD_CAUSES},
            "measures": {
                each: _measure(Mean(row[each], row[f"{each}_low"], row[f"{each}_high"]), each)
                for each in MEASURES
                if each in row
            },
        }
        for name, row in result.summary.iterrows()
    ]


def by_equations(scenario: Scenario) -> list[dict[str, Any]]:
    """The same to first order: nothing is simulated, and no interval is known."""
    rows = []
    for name, policy in scenario.policies.items():
        plan = scenario.plan(name)
        share = expected(plan, scenario.context)
        means = {each: getattr(share, each) for each in MEASURES if each != "cost"}
        rows.append(
            {
                "policy": name,
                "system": policy.system,
                "saves": _saves(plan.recovery, plan.interval_s),
                "interval_s": finite(plan.interval_s),
                "causes": {cause: finite(getattr(share, cause)) for cause in OVERHEAD_CAUSES},
                "measures": {
                    each: _measure(Mean.around(mean, math.nan), each)
                    for each, mean in means.items()
                },
            }
        )
    return rows


def _saves(recovery: str, interval_s: float) -> str:
    every = format_duration(interval_s)
    saves = "never saves" if every == "never" else f"saves every {every}"
    return f"{recovery} recovery, {saves}"


def _measure(mean: Mean, name: str) -> dict[str, Any]:
    """The mean, the ends of its interval where that is known, and all of it in words."""
    if not math.isfinite(mean.mean):
        return {"mean": None, "low": None, "high": None, "text": "not known"}
    known = math.isfinite(mean.low)
    if name == "cost":
        text = money_between(mean) if known else f"{mean.mean:,.2f}"
    else:
        text = share_between(mean) if known and mean.mean else f"{percent(mean.mean)} %"
    return {"mean": mean.mean, "low": finite(mean.low), "high": finite(mean.high), "text": text}
