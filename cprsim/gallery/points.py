"""A scenario at other points, and what its policies cost there: estimated and simulated."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from cprsim.contract import Policy
from cprsim.errors import UsageError
from cprsim.formulas.expected import expected
from cprsim.runs.runner import run
from cprsim.scenario import Scenario

#: What the CPR paper compares: full recovery, partial recovery at its interval, and CPR.
CPR_SYSTEMS = ("full", "partial", "cpr-vanilla")
#: Of `[failures]`: what says who fails and meanwhile, and not when.
_KEPT = ("hits", "severity", "causes", "during_recovery", "while_waiting")
_MEASURES = ("overhead", "pls", "updates_lost")
#: Columns of a row that `measured` takes over from a summary.
_COLUMNS = [
    "system",
    "interval_s",
    *(f"{m}{end}" for m in _MEASURES for end in ("", "_low", "_high")),
]


def at_mtbf(scenario: Scenario, mtbf_s: float, values: Mapping[str, object]) -> Scenario:
    """The scenario with other values, and exponential failures of the whole job."""
    failures = failing(scenario, {"distribution": "exponential", "mean": f"{mtbf_s!r} s"})
    return scenario.with_values({**values, "failures": failures})


def failing(scenario: Scenario, when: Mapping[str, object]) -> dict[str, object]:
    """`[failures]` with other times, of the same nodes by the same conventions."""
    mapping = scenario.failures.mapping()
    return {key: mapping[key] for key in _KEPT if key in mapping} | dict(when)


def check_fails(scenario: Scenario, picture: str) -> None:
    """Raise `UsageError` for a job that never fails."""
    if scenario.context.mtbf_s == math.inf:
        raise UsageError(
            f"figure {picture}: the job never fails; give failures.mean, or failures.exactly >= 1"
        )


def of_systems(scenario: Scenario, systems: Iterable[str], picture: str) -> dict[str, Policy]:
    """The scenario's first policy of each of the systems; `UsageError` if it has none of them."""
    first: dict[str, str] = {}
    for name, policy in scenario.policies.items():
        first.setdefault(policy.system, name)
    found = {first[s]: scenario.policies[first[s]] for s in systems if s in first}
    if not found:
        raise UsageError(
            f"figure {picture}: the scenario has no policy of system {', '.join(systems)}; add one"
        )
    return found


def measured(scenario: Scenario, replications: int, **point: Any) -> list[dict[str, Any]]:
    """A row a policy: the point, the overhead to first order, and means with 95 % intervals."""
    result = run(scenario, replications=replications)
    return [
        {
            **point,
            "policy": name,
            "first_order": expected(result.plans[str(name)], scenario.context).overhead,
            **{column: row[column] for column in _COLUMNS},
        }
        for name, row in result.summary.iterrows()
    ]


def tidy(rows: Iterable[list[dict[str, Any]]]) -> pd.DataFrame:
    """A table of the rows of many points."""
    return pd.DataFrame([row for some in rows for row in some])
