"""Replications that a run keeps: all of them, or moments of all and the first rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.measures import COMPARED, MEASURES, Basis
from cprsim.runs.selection.samples import PairedMoments, PairedSample
from cprsim.runs.summaries import (
    allowance,
    columns_of,
    half_width_of,
    in_columns,
    statistics,
)


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


Floats = NDArray[np.float64]

#: Rows, policies times replications, that are kept: with what it takes to make a table of them,
#: about half a gigabyte.
MOST_ROWS: Final = 1_000_000


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of so many values, and the sums of their squared distances from these."""

    count: int
    mean: Floats
    squares: Floats

    @classmethod
    def from_values(cls, values: Floats) -> "Moments":
        """Along the last axis."""
        mean = values.mean(axis=-1)
        return cls(values.shape[-1], mean, np.square(values - mean[..., np.newaxis]).sum(axis=-1))

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of both together.

        T. F. Chan, G. H. Golub and R. J. LeVeque, COMPSTAT 1982.
        """
        count, apart = self.count + other.count, other.mean - self.mean
        return Moments(
            count,
            self.mean + apart * (other.count / count),
            self.squares + other.squares + apart**2 * (self.count * other.count / count),
        )

    @property
    def half_width(self) -> Floats:
        """Half the 95 % confidence interval of the mean."""
        return np.asarray(half_width_of(np.sqrt(self.squares / (self.count - 1)), self.count))


@dataclass(frozen=True, eq=False)
class Digest:
    """The summary that is kept of very many replications.

    `moments`: of each policy and column; `apart`: by measure of `COMPARED`, of what each policy has
    of it less what each has. `first`: `MEASURES` of the first replications, for percentiles, in
    parts of shape (policies, measures, replications).
    """

    policies: Sequence[str]
    columns: Sequence[str]
    moments: Moments
    apart: Mapping[str, Moments]
    first: tuple[Floats, ...]

    @classmethod
    def from_values(
        cls,
        policies: Sequence[str],
        values: Floats,
        columns: Sequence[str],
        bases: Sequence[Basis],
        *,
        keep: bool = True,
    ) -> "Digest":
        """From `values` of shape (replications, policies, columns); `keep`: as some of `first`."""
        table = columns_of(values, columns, bases)
        of_column = np.empty((len(policies), len(table), len(values)))
        for i, each in enumerate(table.values()):
            of_column[:, i] = each.reshape(len(policies), -1)
        names, measures = list(table), [name for name in MEASURES if name in table]
        compared: dict[str, Floats] = {
            measure: of_column[:, names.index(measure)] for measure in COMPARED if measure in names
        }
        apart = {
            measure: Moments.from_values(own[:, np.newaxis] - own)
            for measure, own in compared.items()
        }
        first = (of_column[:, [names.index(each) for each in measures]],) if keep else ()
        return cls(policies, names, Moments.from_values(of_column), apart, first)

    def __add__(self, other: "Digest") -> "Digest":
        """That of these replications and of those after them."""
        return Digest(
            self.policies,
            self.columns,
            self.moments + other.moments,
            {measure: apart + other.apart[measure] for measure, apart in self.apart.items()},
            self.first + other.first,
        )

    @property
    def count(self) -> int:
        """Number of replications under each policy."""
        return self.moments.count

    @property
    def reason(self) -> str:
        """Why there are no rows."""
        rows = len(self.policies) * self.count
        return f"of {rows:,} rows none is kept, the most are {MOST_ROWS:,}"

    @property
    def table(self) -> NoReturn:
        """Not kept.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(
            f"replications: {self.reason}; the summary has their means and percentiles, and a run "
            "with fewer replications or policies has rows"
        )

    @property
    def _measures(self) -> list[str]:
        return [name for name in MEASURES if name in self.columns]

    @cached_property
    def _kept(self) -> Floats:
        """Measures of the first replications, shape (policies, measures, replications)."""
        return np.concatenate(self.first, axis=2)

    def means(self, policy: str) -> dict[str, float]:
        """Return the mean of each column of numbers."""
        own = self.moments.mean[self.policies.index(policy)]
        return dict(zip(self.columns, own.tolist(), strict=True))

    def statistics(self, policy: str) -> dict[str, float]:
        """Columns of a summary, as of `cprsim.runs.summaries.statistics`."""
        of = self.policies.index(policy)
        places = [self.columns.index(each) for each in self._measures]
        median, p95 = np.quantile(self._kept[of], (0.5, 0.95), axis=1)
        half = self.moments.half_width[of, places]
        return in_columns(self._measures, self.moments.mean[of, places], half, median, p95)

    def evidence(self, unmet: Mapping[str, float], measure: str, can_fail: bool) -> PairedMoments:
        """Return the evidence which policy has the least of a measure of `COMPARED`.

        `unmet`: of each policy; so many replications leave nothing unmet that matters.
        """
        of, apart = [self.policies.index(each) for each in unmet], self.apart[measure]
        means, failures = (
            self.moments.mean[of, self.columns.index(name)] for name in (measure, "failures")
        )
        pairs = np.ix_(of, of)
        return PairedMoments(
            self.count, means, apart.mean[pairs], apart.squares[pairs], failures, can_fail
        )

    def lacks(self, _policy: str, _unmet_s: float) -> float:
        """Nothing: so many replications leave nothing unmet that matters."""
        return 0.0

    def values(self, policy: str, measure: str) -> Floats:
        """A measure of the first replications."""
        found: Floats = self._kept[self.policies.index(policy), self._measures.index(measure)]
        return found

    def median(self, policy: str) -> int:
        """The one of the first replications with their median overhead."""
        return middle(self.values(policy, "overhead"))


#: What a run has kept of its replications.
Replications = ReplicationTable | Digest
