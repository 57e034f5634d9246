"""Interruptions of jobs per node-hour, by the size of jobs, from the records of a scheduler.

Who can't read the logs of nodes has these (`cprsim.failures.logs.job_table`). A job that its nodes
interrupted is a failure; all others ended before one, and their node-hours count, too.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from cprsim.basics.units import counted, format_duration, format_durations
from cprsim.errors import UsageError
from cprsim.survival.hazard import poisson_band

_HOUR_S: Final = 3600.0
#: Beyond chance: two-sided, 1 in 100.
_SURE: Final = 2.576
#: Interruptions below which the size test's normal approximation doesn't hold.
_FEW: Final = 10


@dataclass(frozen=True, eq=False)
class JobRecords:
    """Jobs of a cluster, and which of them were interrupted.

    Parameters
    ----------
    path
        The file.
    jobs
        A row a job: `nodes`, `hours` that it ran, `interrupted`.
    counts
        How a job ended that counts as interrupted, e.g. `State=NODE_FAIL`.
    ended
        How many jobs ended how, the most frequent first.
    dropped
        Why rows were left out, and how many for each reason.
    hides
        Whether the table may hide interruptions of jobs that were requeued.
    """

    path: str
    jobs: pd.DataFrame
    counts: str
    ended: Mapping[str, int]
    dropped: Mapping[str, int]
    hides: bool

    @property
    def node_hours(self) -> float:
        """Of all jobs."""
        return float((self.jobs.nodes * self.jobs.hours).sum())

    @property
    def interruptions(self) -> int:
        """Of all jobs."""
        return int(self.jobs.interrupted.sum())

    def mtbf_s(self, nodes: int = 1) -> tuple[float, float, float]:
        """Mean time between interruptions of a job on so many nodes, and its 95 % interval, s.

        The maximum likelihood of a constant rate from jobs most of which are censored: node-hours
        per interruption; its interval is exact (Garwood, Biometrika 1936). Infinite ends where
        none was seen.
        """
        low, high = (float(each[0]) for each in poisson_band(np.array([self.interruptions])))
        at_all_s = self.node_hours * _HOUR_S / nodes
        return (
            at_all_s / self.interruptions if self.interruptions else math.inf,
            at_all_s / high,
            at_all_s / low if low else math.inf,
        )

    @property
    def by_nodes(self) -> pd.DataFrame:
        """A row a range of sizes, each twice the one before, of those that jobs had.

        Columns: `least`, `most` nodes of a job; `jobs`, `node_hours`, `interruptions`; those `per
        1,000 node-hours`, and the `low` and `high` ends of its exact 95 % interval.
        """
        jobs = self.jobs.assign(node_hours=self.jobs.nodes * self.jobs.hours)
        found = jobs.groupby(np.floor(np.log2(jobs.nodes)).astype(int)).agg(
            least=("nodes", "min"),
            most=("nodes", "max"),
            jobs=("nodes", "size"),
            node_hours=("node_hours", "sum"),
            interruptions=("interrupted", "sum"),
        )
        low, high = poisson_band(found.interruptions.to_numpy())
        each = {"per_1000_node_hours": found.interruptions, "low": low, "high": high}
        scaled = {name: 1000 * np.asarray(n) / found.node_hours for name, n in each.items()}
        return found.assign(**scaled).reset_index(drop=True)

    @property
    def size_z(self) -> float:
        """How far the rate per node-hour grows with the size of a job, in standard errors.

        The score test of rates that go with a power of the size: given how many interruptions
        there are, they fall on jobs in proportion to node-hours if size doesn't matter. NaN where
        it can't be told.
        """
        if not self.interruptions or self.jobs.nodes.nunique() < 2:
            return math.nan
        share = self.jobs.nodes * self.jobs.hours / self.node_hours
        size = np.log(self.jobs.nodes)
        mean = float((share * size).sum())
        spread = math.sqrt(float((share * (size - mean) ** 2).sum()))
        seen = float(size[self.jobs.interrupted].mean())
        return (seen - mean) / spread * math.sqrt(self.interruptions)

    @property
    def _of_sizes(self) -> list[str]:
        """That the size of a job matters, where that is beyond chance."""
        if self.interruptions < _FEW or not abs(self.size_z) > _SURE:
            return []
        more = "more" if self.size_z > 0 else "less"
        return [
            f"Nodes of larger jobs interrupt {more} often than those of small ones, beyond chance "
            f"(z {self.size_z:+.1f}): one mean does not stand for jobs of every size."
        ]

    @property
    def notes(self) -> list[str]:
        """What the figures rest on, a sentence each."""
        mean_s, low_s, high_s = self.mtbf_s()
        told = [
            f"A node interrupts its job once in {format_duration(mean_s)} "
            f"({format_durations(low_s, high_s)}) of running."
            if self.interruptions
            else f"No interruption was seen: a node interrupts its job less than once in "
            f"{format_duration(low_s)}, with 97.5 % certainty."
        ]
        told += self._of_sizes
        ended = ", ".join(f"{name} {count:,}" for name, count in self.ended.items())
        told.append(f"Interrupted is {self.counts}; jobs ended as {ended}.")
        if self.hides:
            told.append(
                "No job has two rows. sacct shows the last run alone of a job that was requeued, "
                "and so hides its interruption: ask with --duplicates."
            )
        told += [f"Left out: {counted(count, 'row')} {why}." for why, count in self.dropped.items()]
        return told

    def document(self) -> dict[str, Any]:
        """As one JSON object: what `cprsim fit --json` prints of a table of jobs."""
        mean_s, low_s, high_s = self.mtbf_s()
        return {
            "log": self.path,
            "reader": "jobs",
            "jobs": len(self.jobs),
            "node_hours": self.node_hours,
            "interruptions": self.interruptions,
            "interrupted": self.counts,
            "mtbf_s": mean_s if math.isfinite(mean_s) else None,
            "mtbf_ci95_s": [low_s, high_s if math.isfinite(high_s) else None],
            "size_z": None if math.isnan(self.size_z) else self.size_z,
            "by_nodes": self.by_nodes.to_dict("records"),
            "ended": dict(self.ended),
            "dropped": dict(self.dropped),
        }

    def toml(self) -> str:
        """A `[failures]` block; raise `UsageError` where no interruption was seen."""
        mean_s, low_s, high_s = self.mtbf_s()
        if not self.interruptions:
            raise UsageError(
                f"--toml: {self.path} has no interruption ({self.counts}), and so no mean; "
                f"it is {format_duration(low_s)} at least, with 97.5 % certainty"
            )
        warned = "".join(f"# {each}\n" for each in self._of_sizes)
        return (
            f"{warned}# {Path(self.path).name}: {counted(self.interruptions, 'interruption')} "
            f"({self.counts}) in {self.node_hours:,.0f} node-hours of "
            f"{counted(len(self.jobs), 'job')}; 95 % {format_durations(low_s, high_s)}\n"
            '[failures]\ndistribution = "exponential"\nper = "node"\n'
            f'mean = "{mean_s / _HOUR_S:.6g} h"\n'
        )
