"""Replications to tables: a row a policy with intervals, a row a policy and replication."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.contract import Plan
from cprsim.engines import Engine
from cprsim.ledger import CAUSES, OVERHEAD_CAUSES
from cprsim.resources import RESOURCES, resources
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Measures of a replication that are summed up with an interval.
MEASURES = ("overhead", "pls", "updates_lost", "wall_s", "failures", "ettr")


@dataclass(frozen=True)
class Result:
    """What a run found.

    `replications`: a row a policy and replication: seconds by cause (`save_s`, ...), `wall_s`,
    `overhead` (wall / useful - 1), `ettr` (useful / wall), `pls`, `updates_lost`, and counts of
    `failures` that struck, failures `absorbed` in downtimes, and usable `saves`. `stored` and
    `sent`: what saves wrote to the remote store and to peers, in full checkpoints.
    """

    scenario: Scenario
    seed: int
    engines: dict[str, Engine]
    plans: dict[str, Plan]
    replications: pd.DataFrame

    #: Names of the pictures that there are of it.
    PICTURES: ClassVar[tuple[str, ...]] = ("breakdown",)

    @classmethod
    def build(
        cls,
        scenario: Scenario,
        names: Sequence[str],
        values: NDArray[np.float64],
        columns: Sequence[str],
        *,
        seed: int,
        engines: dict[str, Engine],
    ) -> "Result":
        """From `values` of shape (replications, policies, columns)."""
        table = tidy(names, values, columns, scenario.job.useful_time_s)
        plans = {name: scenario.plan(name) for name in names}
        return cls(scenario, seed, engines, plans, table)

    @property
    def engine(self) -> str:
        """`"sim"`, `"batch"`, or `"batch, sim"` where each played some of the policies."""
        return ", ".join(sorted(set(self.engines.values())))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row a policy, in the scenario's order, indexed by its name.

        For each of `MEASURES` the mean (under its own name), the 95 % confidence interval of the
        mean (`_low`, `_high`; not a number for one replication), median (`_p50`) and 95th
        percentile (`_p95`); for each cause mean seconds over useful seconds; and of the plan
        `system`, `recovery`, `interval_s`, and what it takes besides: see `cprsim.resources`.
        """
        useful_s = self.scenario.job.useful_time_s
        rows = {}
        for name, plan in self.plans.items():
            table = self.of(name)
            row: dict[str, Any] = {
                "system": self.scenario.policies[name].system,
                "recovery": plan.recovery,
                "interval_s": plan.interval_s,
            }
            row |= statistics(table[[*MEASURES]].to_numpy(dtype=np.float64).T)
            row |= {c: float(table[f"{c}_s"].mean()) / useful_s for c in OVERHEAD_CAUSES}
            row |= resources(plan, self.scenario, table)
            rows[name] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    def of(self, policy: str) -> pd.DataFrame:
        """The replications of one policy."""
        return self.replications[self.replications["policy"] == policy]

    def figure(self, name: str = "breakdown") -> "Figure":
        """A picture of the result; `"breakdown"`: where the time goes under each policy."""
        from cprsim.figures import draw  # noqa: PLC0415  (matplotlib is slow to import)

        return draw(name, self.summary, title=self.scenario.title)

    def to_toml(self) -> str:
        """What was run, as a scenario file."""
        return self.scenario.to_toml()

    def document(self) -> dict[str, Any]:
        """The result as one JSON document; numbers that are not finite are null."""
        return {
            "scenario": self.scenario.title,
            "seed": self.seed,
            "replications": int(self.replications["replication"].nunique()),
            "engine": self.engine,
            "policies": {
                str(name): entry(row) | {"engine": self.engines[str(name)]}
                for name, row in self.summary.iterrows()
            },
        }


def tidy(
    names: Sequence[str],
    values: NDArray[np.float64],
    columns: Sequence[str],
    useful_time_s: float | NDArray[np.float64],
) -> pd.DataFrame:
    """A row a policy and replication, from values of shape (replications, policies, columns).

    `useful_time_s`: of every job, or of that of each row.
    """
    count = len(values)
    flat = values.transpose(1, 0, 2).reshape(-1, len(columns))
    seconds = {*CAUSES, "wall"}
    table = pd.DataFrame(
        {
            "policy": np.repeat(np.asarray(names, dtype=object), count),
            "replication": np.tile(np.arange(count), len(names)),
            **{f"{c}_s" if c in seconds else c: flat[:, i] for i, c in enumerate(columns)},
        }
    )
    table = table.astype(dict.fromkeys(("failures", "absorbed", "saves"), "int64"))
    table["overhead"] = table["wall_s"] / useful_time_s - 1.0
    table["ettr"] = useful_time_s / table["wall_s"]
    return table


def statistics(values: NDArray[np.float64]) -> dict[str, float]:
    """Columns of a summary, from values of shape (len(MEASURES), replications)."""
    values = np.ascontiguousarray(values)  # sums of rows, whose order is that of the replications
    mean, half = values.mean(axis=1), half_width(values)
    median, p95 = np.quantile(values, [0.5, 0.95], axis=1)
    columns = {"": mean, "_low": mean - half, "_high": mean + half, "_p50": median, "_p95": p95}
    return {
        f"{measure}{suffix}": float(column[i])
        for i, measure in enumerate(MEASURES)
        for suffix, column in columns.items()
    }


def half_width(values: NDArray[np.float64], miss: float = 0.05) -> Any:
    """Half the confidence interval of the mean, along the last axis.

    Student's t times the standard error; not a number for a single value. `miss`: the chance that
    the interval doesn't hold the mean, 5 % by default.
    """
    from scipy.special import stdtrit  # noqa: PLC0415

    n = values.shape[-1]
    if n == 1:
        return np.full(values.shape[:-1], math.nan)
    return float(stdtrit(n - 1, 1 - miss / 2)) * values.std(axis=-1, ddof=1) / math.sqrt(n)


def paired_difference(
    values: NDArray[np.float64], others: NDArray[np.float64]
) -> tuple[float, float]:
    """Mean of `values - others` and half its 95 % interval, replication by replication.

    Replications meet the same failures, so this is narrower than what the two intervals tell.
    """
    differences = values - others
    return float(differences.mean()), float(half_width(differences))


def entry(row: Any) -> dict[str, Any]:
    """A row of a summary as it stands in a JSON document."""
    entry = {
        "system": row["system"],
        "recovery": row["recovery"],
        "interval_s": _finite(row["interval_s"]),
        "breakdown": {cause: _finite(row[cause]) for cause in OVERHEAD_CAUSES},
        **{name: _finite(row[name]) for name in RESOURCES},
    }
    for measure in MEASURES:
        entry[measure] = {
            "mean": _finite(row[measure]),
            "ci95": [_finite(row[f"{measure}_low"]), _finite(row[f"{measure}_high"])],
            "p50": _finite(row[f"{measure}_p50"]),
            "p95": _finite(row[f"{measure}_p95"]),
        }
    return entry


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
