"""What a run keeps of its replications: all of them, or where they are too many, a digest."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.runs.measures import MEASURES
from cprsim.runs.summaries import paired_difference, statistics


@dataclass(frozen=True, eq=False)
class ReplicationTable:
    """Every replication, in a table as of `Result.replications`."""

    table: pd.DataFrame

    @property
    def count(self) -> int:
        """How many there were under each policy."""
        return int(self.table["replication"].nunique())

    def of(self, policy: str) -> pd.DataFrame:
        """Those of one policy."""
        return self.table[self.table["policy"] == policy]

    def means(self, policy: str) -> dict[str, float]:
        """Of each column of numbers."""
        own = self.of(policy).drop(columns=["policy", "replication"])
        return {str(name): float(column.mean()) for name, column in own.items()}

    def statistics(self, policy: str) -> dict[str, float]:
        """Columns of a summary, as of `statistics`."""
        own = self.of(policy)
        measures = [name for name in MEASURES if name in own]
        return statistics(own[measures].to_numpy(dtype=np.float64).T, measures)

    def paired_difference(self, policy: str, other: str, measure: str) -> tuple[float, float]:
        """Of any column of numbers of two policies, as of `paired_difference`."""
        return paired_difference(self._values(policy, measure), self._values(other, measure))

    def median(self, policy: str) -> int:
        """The replication with the median overhead, the lower of two in the middle."""
        order = np.argsort(self._values(policy, "overhead"), kind="stable")
        return int(order[(len(order) - 1) // 2])

    def _values(self, policy: str, measure: str) -> NDArray[np.float64]:
        return self.of(policy)[measure].to_numpy(dtype=np.float64)
