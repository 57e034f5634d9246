"""Results of a fleet: tables of jobs, of policies, of percentiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES
from cprsim.errors import RunError, UsageError
from cprsim.runs.digest import ReplicationTable
from cprsim.runs.engines import Engine
from cprsim.runs.fleet import Fleet, dotted
from cprsim.runs.measures import PLANNED, Basis
from cprsim.runs.result import Result, entry
from cprsim.runs.summaries import ratio_of_sums, tidy
from cprsim.runs.vocabulary import Vocabulary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Columns that measures are worked out with, and no table shows.
_OF_THE_PLAN: Final = [*Basis._fields[Basis._fields.index("peer_bytes_per_s") :]]
#: Percentiles of the jobs by overhead, in tables, and those whose causes are shown as well.
PERCENTILES: Final = (50, 75, 90, 95, 99)
BROKEN_DOWN: Final = (50, 75, 90, 95)
#: Jobs at a percentile are those up to so many percentiles of all from it, on both sides.
BAND: Final = 1.0


@dataclass(frozen=True, repr=False)
class FleetResult(Result):
    """Results of a run of a fleet; its replications are the jobs.

    `replications`: as of `Result`, a row a policy and job, each with its own `useful_s`; also
    the job's `nodes`, the policy's `interval_s`, whether it `fell_back` on another plan than its
    system is for (1 or 0), and a column for each value that is drawn, by
    its dotted key, in SI units (`job.useful_time_s`). `given_up`: numbers of the jobs that made
    no progress, by policy; they are in no table, under no policy. `scenario` and `plans` are
    those of the fleet's example.

    Examples
    --------
    >>> fleet = cprsim.load_fleet("production-fleet")
    >>> result = cprsim.run_fleet(fleet, ["full"], replications=5, engine="sim")
    >>> result.percentiles["percentile"].tolist()
    [50, 75, 90, 95]
    """

    fleet: Fleet
    given_up: Mapping[str, tuple[int, ...]]

    PICTURES: ClassVar[tuple[str, ...]] = ("breakdown", "fleet-breakdown")

    @classmethod
    def of_jobs(
        cls,
        fleet: Fleet,
        names: Sequence[str],
        values: NDArray[np.float64],
        columns: Sequence[str],
        *,
        seed: int,
        engine: Engine = "sim",
    ) -> "FleetResult":
        """From `values` of shape (jobs, policies, columns), not a number where none came of it.

        Raises
        ------
        RunError
            If there is no job that got somewhere under every policy.
        """
        nowhere = np.isnan(values[..., columns.index("wall")])
        given_up = {
            name: tuple(np.flatnonzero(nowhere[:, i]).tolist()) for i, name in enumerate(names)
        }
        kept = np.flatnonzero(~nowhere.any(axis=1))
        if not kept.size:
            raise RunError("every job of the fleet makes no progress under some policy")
        values = values[kept]
        of_jobs = [columns.index(each) for each in Basis._fields]
        bases = [Basis(*own[:, of_jobs].T) for own in values.swapaxes(0, 1)]
        table = tidy(names, values, columns, bases).drop(columns=_OF_THE_PLAN)
        table["replication"] = np.tile(kept, len(names))
        drawn = _drawn(fleet, seed, kept.tolist())
        for column, each in drawn.items():
            table[column] = each * len(names)
        plans = {name: fleet.example.plan(name) for name in names}
        engines: dict[str, Engine] = dict.fromkeys(names, engine)
        return cls(fleet.example, seed, engines, plans, ReplicationTable(table), fleet, given_up)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row a policy: means over the jobs, each with its own useful time.

        As of `Result`, but for these: of the overhead all of `PERCENTILES` (`overhead_p90`, ...);
        `interval_s` is the median; `machine_overhead` weights jobs by their machine time;
        `machine_s` is machine time beyond useful, `given_back_s` how much less of it that is than
        under the first policy, both in machine seconds of all jobs together.
        """
        rows = {}
        for name, plan in self.plans.items():
            table = self.of(name)
            row: dict[str, Any] = {
                "system": self.scenario.policies[name].system,
                "recovery": plan.recovery,
                "interval_s": float(table["interval_s"].median()),
            }
            row |= self.kept.statistics(name)
            quantiles = np.percentile(table["overhead"], PERCENTILES)
            row |= {
                f"overhead_p{p}": q for p, q in zip(PERCENTILES, quantiles.tolist(), strict=True)
            }
            row |= {c: float((table[f"{c}_s"] / table["useful_s"]).mean()) for c in OVERHEAD_CAUSES}
            row |= {each: float(table[each].mean()) for each in PLANNED}
            rows[name] = row | _machine_time(table)
        summary = pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")
        summary["given_back_s"] = summary["machine_s"].iloc[0] - summary["machine_s"]
        return summary

    def wall_shares(self, words: Vocabulary) -> dict[str, dict[str, float]]:
        """Return shares of the wall clock of all jobs together, by policy: long jobs weigh more."""
        means = {name: self.kept.means(name) for name in self.plans}
        return {
            name: words.of_seconds({cause: own[f"{cause}_s"] for cause in CAUSES})
            for name, own in means.items()
        }

    @cached_property
    def percentiles(self) -> pd.DataFrame:
        """A row a policy and percentile of its jobs by overhead: what the jobs there lose.

        `percentile`, that `overhead`, and causes as shares of useful time, means over the jobs up
        to one percentile of all below and above. The causes add up to the mean overhead of these
        jobs, not quite to `overhead`.
        """
        rows = [
            {"policy": name, **row} for name in self.plans for row in at_percentiles(self.of(name))
        ]
        return pd.DataFrame(rows)

    @property
    def causes(self) -> pd.DataFrame:
        """Raise `UsageError`: causes are watched in runs of one job."""
        raise UsageError("causes are of one job, and this is a fleet; run one of its jobs")

    def figure(self, name: str = "fleet-breakdown") -> "Figure":
        """A picture of the result.

        `"fleet-breakdown"`: what the jobs at some percentiles lose; `"breakdown"`: their mean.
        """
        from cprsim.figures import draw  # noqa: PLC0415  (matplotlib is slow to import)

        table = self.percentiles if name == "fleet-breakdown" else self.summary
        about = "; ".join(filter(None, (self.fleet.title, f"{self.count:,} jobs")))
        return draw(name, table, title=about)

    def to_toml(self) -> str:
        """The fleet as a scenario file."""
        return self.fleet.to_toml()

    def _of_all(self) -> dict[str, Any]:
        return {
            "drawn": [dotted(path) for path in self.fleet.drawn],
            "given_up": {name: len(jobs) for name, jobs in self.given_up.items()},
        }

    def _entry(self, name: str, row: Any, shares: Mapping[str, float] | None) -> dict[str, Any]:  # noqa: ARG002
        document = entry(row, shares)
        document["overhead"] |= {f"p{p}": float(row[f"overhead_p{p}"]) for p in PERCENTILES}
        return document | {key: float(row[key]) for key in ("machine_s", "given_back_s")}


def _drawn(fleet: Fleet, seed: int, jobs: list[int]) -> dict[str, list[Any]]:
    """Columns of drawn values, numbers in SI units."""
    rows = list(fleet.draws(seed, jobs))
    return {
        dotted(path) + law.kind.suffix: [law.number(row[path]) for row in rows]
        for path, law in fleet.drawn.items()
    }


def _machine_time(table: pd.DataFrame) -> dict[str, float]:
    """Machine time of one policy's jobs beyond useful, s and as a share; spares count as well.

    The share is a ratio of sums.
    """
    useful_s = (table["nodes"] * table["useful_s"]).to_numpy()
    taken_s = ((table["nodes"] + table["spares"]) * table["wall_s"]).to_numpy()
    ratio, half = ratio_of_sums(taken_s, useful_s)
    return {
        "machine_s": float(taken_s.sum()) - float(useful_s.sum()),
        "machine_overhead": ratio - 1,
        "machine_overhead_low": ratio - 1 - half,
        "machine_overhead_high": ratio - 1 + half,
    }


def at_percentiles(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the losses of one policy's jobs around each percentile: see `percentiles`."""
    table = table.sort_values("overhead")
    rank = 100 * (np.arange(len(table)) + 0.5) / len(table)
    rows = []
    for percentile in BROKEN_DOWN:
        distance = np.abs(rank - percentile)
        near = table[distance <= max(BAND, distance.min())]
        causes = near[[f"{cause}_s" for cause in OVERHEAD_CAUSES]].div(near["useful_s"], axis=0)
        shares = dict(zip(OVERHEAD_CAUSES, causes.mean().tolist(), strict=True))
        overhead = float(np.percentile(table["overhead"], percentile))
        rows.append({"percentile": percentile, "overhead": overhead, **shares})
    return rows
