"""Results of a cluster: tables of jobs, of links over time, of times in which they were crowded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.clusters.domains import DomainFailure
from cprsim.clusters.job_run import ENDED
from cprsim.clusters.links import NAMES, STEP_S, Crowd
from cprsim.clusters.play import PlayedCluster
from cprsim.clusters.spec import ClusterSpec
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.runs.summaries import finite, half_width
from cprsim.sim.engine import COLUMNS

#: Loads so long after the end of a rack's or a pod's failure still count as its consequence, s.
_AFTER_S: Final = 3600.0
#: Why links are crowded: by a failure of a rack or pod that several jobs load after, by saves that
#: began at the same instant, by others, or by a single job.
SINGLE, TOGETHER, BESIDE, LOADS, CHANCE = (
    "one job alone is faster than the link",
    "saves that began together",
    "loads during saves",
    "loads at the same time",
    "saves at the same time",
)
#: Columns that the comparison with each job alone adds.
_OF_ALONE: Final = ("overhead_alone", "sharing")


@dataclass(frozen=True, repr=False)
class ClusterResult:
    """A cluster's replications.

    `jobs`: a row a replication and job: when it came, had its first nodes and ended, s; its
    `waiting_s` for nodes before the first and after others were preferred; seconds by cause and
    counts as of `cprsim.contract.ledger.Ledger`, of jobs that ended; `overhead`, a share of its
    useful time without that waiting, `overhead_alone` with the cluster to itself, and `sharing`,
    the difference.
    """

    spec: ClusterSpec
    seed: int
    played: Sequence[PlayedCluster]
    with_alone: bool = True

    def __repr__(self) -> str:
        return f"<ClusterResult {self.spec.title!r}: {len(self.played)} replications>"

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """A row a replication and job."""
        rows: list[dict[str, Any]] = []
        measures = ["waiting_s", *COLUMNS, "overhead", *(_OF_ALONE if self.with_alone else ())]
        for number, played in enumerate(self.played):
            for job in played.jobs:
                had_s = sum(to_s - from_s for from_s, to_s in job.had)
                row: dict[str, Any] = {
                    "replication": number,
                    "job": job.name,
                    "entry": self.spec.jobs[job.job.entry].name,
                    "policy": job.job.policy,
                    "nodes": job.nodes,
                    "priority": job.priority,
                    "useful_s": job.useful_s,
                    "arrives_s": job.arrives_s,
                    "starts_s": job.had[0][0] if job.had else np.nan,
                    "ends_s": job.had[-1][1] if job.state == ENDED else np.nan,
                    "state": job.state,
                    "progress": job.progress,
                    "save_stretch": job.stretch,
                    **dict.fromkeys(measures, np.nan),
                }
                if job.row is not None:
                    starts_s, ends_s = row["starts_s"], row["ends_s"]
                    row["waiting_s"] = max(ends_s - job.arrives_s - had_s, 0.0)
                    own = dict(zip(COLUMNS, job.row, strict=True))
                    # The machine takes waiting for other nodes for rescheduling, and counts it.
                    waited_s = ends_s - starts_s - had_s
                    row |= own | {name: own[name] - waited_s for name in ("reschedule", "wall")}
                    row["overhead"] = had_s / job.useful_s - 1
                    if job.alone is not None:
                        row["overhead_alone"] = job.alone[COLUMNS.index("wall")] / job.useful_s - 1
                        row["sharing"] = row["overhead"] - row["overhead_alone"]
                rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def ended(self) -> pd.DataFrame:
        """The rows of `jobs` that ended."""
        return self.jobs[self.jobs["state"] == ENDED]

    @property
    def summary(self) -> pd.DataFrame:
        """A row an entry of `[[jobs]]`: means over its jobs that ended, and over replications."""
        ended = self.ended.assign(takes_s=self.ended["ends_s"] - self.ended["arrives_s"])
        told = ["nodes", "waiting_s", "takes_s", "overhead", "learning_lost", "failures"]
        told += [each for each in _OF_ALONE if each in ended]
        means = ended.groupby("entry", sort=False)[told].mean()
        counts = self.jobs.groupby("entry", sort=False).size() / len(self.played)
        table = means.reindex(counts.index)
        table.insert(0, "jobs", counts)
        table["ended"] = ended.groupby("entry", sort=False).size() / len(self.played)
        return table.fillna({"ended": 0.0})

    def total(self, measure: str) -> tuple[float, float]:
        """Return a share's mean over jobs that ended, by node-hours, and half its 95 % interval.

        Half an interval is not a number where there is one replication only.
        """
        known = self.ended[self.ended[measure].notna()]
        values = by_node_hours(known, known[measure])
        if not len(values):
            return np.nan, np.nan
        return float(values.mean()), float(half_width(values))

    @property
    def causes(self) -> dict[str, float]:
        """Overhead by cause, of the jobs that ended, by node-hours; shares of their useful time."""
        ended = self.ended
        weight = (ended["nodes"] * ended["useful_s"]).sum() if len(ended) else np.nan
        return {c: float((ended[c] * ended["nodes"]).sum() / weight) for c in OVERHEAD_CAUSES}

    @cached_property
    def use(self) -> pd.DataFrame:
        """The share of each link's bandwidth in use, and spares ready: first replication, by time.

        A row every `STEP_S` seconds. Links without a limit have none.
        """
        played, spec = self.played[0], self.spec
        rates = dict(
            zip(NAMES, (spec.cluster.core, spec.store.write, spec.store.read), strict=True)
        )
        steps = int(played.ends_s // STEP_S) + 1
        table = pd.DataFrame({"time_s": np.arange(steps) * STEP_S})
        lasts_s = np.clip(played.ends_s - table["time_s"], 1e-9, STEP_S)
        for name, moved in zip(NAMES, played.moved, strict=True):
            rate = rates[name]
            if rate is not None:
                table[name] = np.pad(moved, (0, steps))[:steps] / (rate * lasts_s)
        if spec.cluster.spares:
            table["spares"] = np.pad(played.spares, (0, steps), mode="edge")[:steps]
        return table

    @cached_property
    def crowds(self) -> pd.DataFrame:
        """A row a time in which a link was crowded: when, how many jobs, what it cost, and why."""
        columns = ["replication", "link", "from_s", "to_s", "saves", "loads", "cost_s", "why"]
        rows: list[dict[str, Any]] = []
        for number, played in enumerate(self.played):
            for each in played.crowds:
                counts = {"saves": len(each.saves), "loads": len(each.loads)}
                row = vars(each) | counts | {"why": why(each, played.shocks)}
                rows.append({"replication": number} | row)
        return pd.DataFrame(rows, columns=columns)

    def document(self) -> dict[str, Any]:
        """The result as one JSON document; numbers that are not finite are null."""
        states = Counter(self.jobs["state"])
        crowds, count = self.crowds, len(self.played)
        use = self.use.drop(columns="time_s").mean()
        return {
            "cluster": self.spec.title,
            "seed": self.seed,
            "replications": count,
            "nodes": self.spec.cluster.all_nodes,
            "states": {name: states[name] / count for name in sorted(states)},
            "overhead": _told(self.total("overhead")),
            **({"sharing": _told(self.total("sharing"))} if "sharing" in self.jobs else {}),
            "learning_lost": _told(self.total("learning_lost")),
            "causes": {name: finite(value) for name, value in self.causes.items()},
            "use": {name: finite(value) for name, value in use.items()},
            "crowded_s": {
                str(name): float(table["to_s"].sub(table["from_s"]).sum() / count)
                for name, table in crowds.groupby("link")
            },
            "crowded_why_s": {
                str(name): float(seconds / count)
                for name, seconds in crowds.groupby("why")["cost_s"].sum().items()
            },
            "jobs": {
                str(name): {key: finite(value) for key, value in row.items()}
                for name, row in self.summary.to_dict("index").items()
            },
        }


def by_node_hours(jobs: pd.DataFrame, values: pd.Series) -> NDArray[np.float64]:
    """Return the mean of values of jobs in each replication, weighted with their node-hours."""
    number, weight = jobs["replication"].to_numpy(), jobs["nodes"] * jobs["useful_s"]
    means = (values * weight).groupby(number).sum() / weight.groupby(number).sum()
    return means.to_numpy(dtype=np.float64)


def why(crowd: Crowd, shocks: Sequence[tuple[DomainFailure, list[str]]]) -> str:
    """Return the reason for which a link was crowded."""
    if len({*crowd.saves, *crowd.loads}) == 1:
        return SINGLE
    if len(crowd.loads) > 1:
        for shock, names in reversed(shocks):
            soon = (
                shock.at_s <= crowd.to_s and crowd.from_s <= shock.at_s + shock.lasts_s + _AFTER_S
            )
            if soon and len({*crowd.loads} & {*names}) > 1:
                return f"loads after {shock.what} failed"
    if crowd.together:
        return TOGETHER
    if crowd.loads:
        return BESIDE if crowd.saves else LOADS
    return CHANCE


def _told(mean: tuple[float, float]) -> dict[str, float | None]:
    return {"mean": finite(mean[0]), "half_width": finite(mean[1])}
