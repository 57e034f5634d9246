"""Replications that a run keeps: all of them; where they are too many, see `digest`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.runs.measures import MEASURES
from cprsim.runs.summaries import allowance, statistics
from cprsim.selection.samples import PairedSample


@dataclass(frozen=True, eq=False)
class ReplicationTable:
    """Every replication, in a table as of `Result.replications`."""

    table: pd.DataFrame

    @property
    def count(self) -> int:
        """Number of replications under each policy."""
        return int(self.table["replication"].nunique())

    def of(self, policy: str) -> pd.DataFrame:
        """Return the replications of one policy."""
        return self.table[self.table["policy"] == policy]

    def means(self, policy: str) -> dict[str, float]:
        """Return the mean of each column of numbers."""
        own = self.of(policy).drop(columns=["policy", "replication"])
        return {str(name): float(column.mean()) for name, column in own.items()}

    def statistics(self, policy: str) -> dict[str, float]:
        """Columns of a summary, as of `statistics`."""
        own = self.of(policy)
        measures = [name for name in MEASURES if name in own]
        return statistics(own[measures].to_numpy(dtype=np.float64).T, measures)

    def evidence(self, unmet: Mapping[str, float], measure: str, can_fail: bool) -> PairedSample:
        """Return the evidence which policy has the least; `unmet` of each as in `PairedSample`."""
        values, failures = (
            np.stack([self.values(policy, name) for policy in unmet])
            for name in (measure, "failures")
        )
        return PairedSample(
            values,
            np.empty((len(values), 0, self.count)),
            failures,
            can_fail,
            unmet=np.array([*unmet.values()]),
        )

    def lacks(self, policy: str, unmet_s: float) -> float:
        """Return how much the mean overhead may lack for a loss that no replication met."""
        if not unmet_s:
            return 0.0
        useful_s = self.values(policy, "wall_s") / (1 + self.values(policy, "overhead"))
        return allowance(self.values(policy, "lost_s") / useful_s, unmet_s / float(useful_s[0]))

    def values(self, policy: str, measure: str) -> NDArray[np.float64]:
        """A measure of each replication, shape (count,)."""
        return self.of(policy)[measure].to_numpy(dtype=np.float64)

    def median(self, policy: str) -> int:
        """The replication with the median overhead."""
        return middle(self.values(policy, "overhead"))


def middle(values: NDArray[np.float64]) -> int:
    """Return the place of the median, the lower of two in the middle."""
    order = np.argsort(values, kind="stable")
    return int(order[(len(order) - 1) // 2])
