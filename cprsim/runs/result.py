"""Results of a run: a row a policy with intervals, and its replications where kept."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from cprsim.basics.units import counted, format_duration
from cprsim.contract import Plan
from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES, told_causes
from cprsim.errors import UsageError
from cprsim.job.accuracy import Drop
from cprsim.metrics import Reading, Readings
from cprsim.runs.by_cause import by_cause
from cprsim.runs.digest import Replications
from cprsim.runs.engines import Engine
from cprsim.runs.measures import MEASURES, PLANNED, Basis
from cprsim.runs.notebook import between, dataset, notebook_html, percent
from cprsim.runs.summaries import IN_TIME, finite, half_width
from cprsim.runs.vocabulary import Vocabulary
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Result:
    """Results of a run; `kept`: its replications, or a digest of them.

    Examples
    --------
    >>> result = cprsim.run("quickstart", ["full"], replications=20, engine="sim")
    >>> result.replications[["policy", "failures"]].head(2).values.tolist()
    [['full', 1], ['full', 5]]
    """

    scenario: Scenario
    seed: int
    engines: dict[str, Engine]
    plans: dict[str, Plan]
    kept: Replications

    #: Names of the pictures that there are of it.
    PICTURES: ClassVar[tuple[str, ...]] = ("breakdown",)

    @classmethod
    def build(
        cls, scenario: Scenario, kept: Replications, *, seed: int, engines: dict[str, Engine]
    ) -> "Result":
        """From what was kept of the policies that `engines` played."""
        plans = {name: scenario.plan(name) for name in engines}
        return cls(scenario, seed, engines, plans, kept)

    @property
    def replications(self) -> pd.DataFrame:
        """A row a policy and replication.

        Seconds by cause (`save_s`, ...), `wall_s`, `overhead` (wall / useful - 1), `ettr` (useful /
        wall), `pls`, `updates_lost`, `learning_lost`, and counts of `failures` that struck,
        failures `absorbed` in downtimes, and usable `saves`; `corrupt`: 1 where a silent fault is
        in what it ends with. `stored` and `sent`: what saves wrote to the remote store and to
        peers, in full checkpoints. Also all that `cprsim.runs.measures` lists.

        Raises
        ------
        UsageError
            Where there were so many that they are not kept: see `cprsim.runs.digest`.
        """
        return self.kept.table

    @property
    def count(self) -> int:
        """Number of replications under each policy."""
        return self.kept.count

    @property
    def engine(self) -> str:
        """`"sim"`, `"batch"`, or `"batch, sim"` where each played some of the policies."""
        return ", ".join(sorted(set(self.engines.values())))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row a policy, in the scenario's order, indexed by its name.

        For each of `MEASURES` that there is, the mean (under its own name), the 95 % confidence
        interval of the mean (`_low`, `_high`, which allows for losses that no replication met; not
        a number for one replication), median (`_p50`)
        and 95th percentile (`_p95`, both of the first replications where not all are kept); for
        each cause mean seconds over useful seconds; and of the plan `system`, `recovery`,
        `interval_s`, `memory_overhead` and `spares`. With `failures.silent` the share of
        replications that end `corrupt`.
        """
        useful_s = self.scenario.job.useful_time_s
        rows = {}
        for name, plan in self.plans.items():
            means = self.kept.means(name)
            row: dict[str, Any] = {
                "system": self.scenario.policies[name].system,
                "recovery": plan.recovery,
                "interval_s": plan.interval_s,
            }
            row |= self.kept.statistics(name)
            lacks = self.kept.lacks(name, min(plan.unmet_s, useful_s))
            row |= {f"{each}_high": row[f"{each}_high"] + lacks for each in IN_TIME}
            row |= {cause: means[f"{cause}_s"] / useful_s for cause in OVERHEAD_CAUSES}
            basis = Basis.of(self.scenario, name)
            row |= {each: getattr(basis, each) for each in PLANNED}
            if self.scenario.failures.silent is not None:
                row["corrupt"] = means["corrupt"]
            rows[name] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    @cached_property
    def auc_drops(self) -> dict[str, Drop]:
        """Predicted loss of AUC under each policy; empty without the section `[accuracy]`."""
        accuracy = self.scenario.accuracy
        if accuracy is None:
            return {}
        return {
            str(name): accuracy.auc_drop(
                row["system"],
                (row["pls"], row["pls_high"] - row["pls"]),
                (row["learning_lost"], row["learning_lost_high"] - row["learning_lost"]),
            )
            for name, row in self.summary.iterrows()
        }

    @property
    def currency(self) -> str | None:
        """That `cost` is in; None where nothing has a price."""
        return self.scenario.currency

    def of(self, policy: str) -> pd.DataFrame:
        """The replications of one policy."""
        return self.replications[self.replications["policy"] == policy]

    def paired_difference(
        self, policy: str, than: str, measure: str = "overhead"
    ) -> tuple[float, float]:
        """Return how much more one policy has than another, and half the 95 % interval.

        Both were played on the same failures, replication by replication, so most of what chance
        does to one it does to the other. `measure`: a column of `replications`.

        Raises
        ------
        UsageError
            Where replications are not kept, or there is no such policy or measure.
        """
        known: dict[str, Collection[str]] = {policy: self.plans, than: self.plans}
        for name, among in (known | {measure: [*map(str, self.replications)]}).items():
            if name not in among:
                raise UsageError(f"{name!r} is not among {', '.join(among)}")
        more = self.of(policy)[measure].to_numpy(float) - self.of(than)[measure].to_numpy(float)
        return float(more.mean()), float(half_width(more))

    def figure(self, name: str = "breakdown") -> "Figure":
        """A picture of the result.

        `"breakdown"`: where the time goes under each policy. `"causes"`: what failures of each
        cause cost under the first policy.
        """
        from cprsim.figures import draw  # noqa: PLC0415  (matplotlib is slow to import)

        return draw(name, self.causes if name == "causes" else self.summary, title=self.about)

    @property
    def about(self) -> str:
        """The title of the scenario and the number of replications."""
        return "; ".join(filter(None, (self.scenario.title, counted(self.count, "replication"))))

    def to_xarray(self) -> "xarray.Dataset":
        """The replications as labelled arrays, policy by replication, a variable a column.

        Raises
        ------
        UsageError
            Where xarray is not installed, or replications are not kept.
        """
        told = {"title": self.scenario.title, "seed": self.seed, "engine": self.engine}
        table = self.replications
        numbers = pd.unique(table["replication"])
        return dataset(table, {"policy": [*self.plans], "replication": numbers}, told)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.scenario.title!r}: {', '.join(self.plans)}; "
            f"{self.count:,} replications, seed {self.seed}>"
        )

    def _repr_html_(self) -> str:
        useful = format_duration(self.scenario.job.useful_time_s)
        causes = told_causes(lambda cause: self.summary[cause].any())
        lost = ("PLS", "updates lost", "learning lost")
        headings = ("policy", "overhead", "95 %", *causes, *lost)
        rows = [
            [
                str(name),
                percent(row["overhead"]),
                between(row, "overhead"),
                *(percent(row[cause]) for cause in causes),
                *(percent(row[each]) for each in ("pls", "updates_lost", "learning_lost")),
                format_duration(row["interval_s"]),
            ]
            for name, row in self.summary.iterrows()
        ]
        head = f"{self.count:,} replications, seed {self.seed}; in % of the useful {useful}"
        return notebook_html(self.scenario.title, head, (*headings, "saves every"), rows)

    def to_toml(self) -> str:
        """Return what was run as a scenario file."""
        return self.scenario.to_toml()

    @cached_property
    def causes(self) -> pd.DataFrame:
        """Costs of the failures of each cause, see `cprsim.runs.by_cause.by_cause`.

        Raises `UsageError` where the scenario has no causes.
        """
        return by_cause(self)

    def wall_shares(self, words: Vocabulary) -> dict[str, dict[str, float]]:
        """Return shares of the wall clock of all replications together, by policy and term."""
        summary: Any = self.summary.to_dict("index")
        return {name: words.shares(row) for name, row in summary.items()}

    def readings(self, words: Vocabulary | None = None) -> Readings:
        """Means over the replications, a reading a policy, for exporters of metrics.

        Their labels are the policy and the scenario. `words`: other terms for causes.
        """
        found = []
        for name, row in self.summary.iterrows():
            means = self.kept.means(str(name))
            told = ("failures", "saves", "pls", "updates_lost", "learning_lost")
            counts = {key: means[key] for key in told}
            if not math.isnan(row["store_bytes"]):
                counts["bytes_saved"] = row["store_bytes"]
            found.append(
                Reading(
                    {cause: means[f"{cause}_s"] for cause in CAUSES},
                    counts,
                    {"policy": str(name), "scenario": self.scenario.title},
                    {} if words is None else words.words,
                )
            )
        return Readings(found)

    def document(self, words: Vocabulary | None = None) -> dict[str, Any]:
        """The result as one JSON document; numbers that are not finite are null.

        `words`: terms in which each policy also has shares of the wall clock.
        """
        shares = {} if words is None else self.wall_shares(words)
        return {
            "scenario": self.scenario.title,
            "seed": self.seed,
            "replications": self.count,
            "engine": self.engine,
            **in_currency(self.currency),
            **self._of_all(),
            "policies": {
                str(name): self._entry(str(name), row, shares.get(str(name)))
                for name, row in self.summary.iterrows()
            },
        }

    def _of_all(self) -> dict[str, Any]:
        """Return what the document has of all policies together: of a run nothing more."""
        return {}

    def _entry(self, name: str, row: Any, shares: Mapping[str, float] | None) -> dict[str, Any]:
        """Return what the document has of a policy."""
        costs = self.plans[name].costs_document()
        more: dict[str, Any] = {"engine": self.engines[name], "costs": costs}
        if self.scenario.failures.causes is not None:
            own = self.causes[self.causes["policy"] == name].drop(columns="policy")
            more["causes"] = own.set_index("cause").to_dict("index")
        if self.plans[name].note is not None:
            more["note"] = self.plans[name].note
        if self.auc_drops:
            more["predicted_auc_drop"] = self.auc_drops[name].document()
        return entry(row, shares) | more


def entry(row: Any, shares: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return a row of a summary as JSON documents have it; `shares`: of `Result.wall_shares`."""
    entry = {
        "system": row["system"],
        "recovery": row["recovery"],
        "interval_s": finite(row["interval_s"]),
        "breakdown": {cause: finite(row[cause]) for cause in OVERHEAD_CAUSES},
        **{name: finite(row[name]) for name in PLANNED},
    }
    for measure in (name for name in MEASURES if name in row):
        entry[measure] = {
            "mean": finite(row[measure]),
            "ci95": [finite(row[f"{measure}_low"]), finite(row[f"{measure}_high"])],
            "p50": finite(row[f"{measure}_p50"]),
            "p95": finite(row[f"{measure}_p95"]),
        }
    if "corrupt" in row:
        entry["corrupt"] = finite(row["corrupt"])
    if shares is not None:
        entry["wall_shares"] = {term: finite(each) for term, each in shares.items()}
    return entry


def in_currency(currency: str | None) -> dict[str, str]:
    """Return the entry of a JSON document for the currency; nothing where there is none."""
    return {} if currency is None else {"currency": currency}
