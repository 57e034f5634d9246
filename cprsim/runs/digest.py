"""What is kept of replications that are too many to be kept: moments, and counts in bins.

Means and intervals are those of all replications, to the rounding of sums. Percentiles come from
counts of values in bins that are narrower than a share of `WIDTH` of the values in them; each bin
knows its least and its greatest value, so that a bin of one value, as all of whole numbers are
below 1 / `WIDTH`, is exact. At a million replications chance moves percentiles by far more.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.measures import COMPARED, MEASURES, Basis
from cprsim.runs.replications import ReplicationTable
from cprsim.runs.summaries import columns_of, half_width_of, in_columns
from cprsim.selection.samples import PairedMoments

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Rows, policies times replications, that are kept: with what it takes to make a table of them,
#: about half a gigabyte.
MOST_ROWS: Final = 1_000_000
#: Percentiles are off by less than this share of them.
WIDTH: Final = 2.0**-12
#: Bits of a float64 that tell values in a bin apart: of 52 after its leading one.
_BITS: Final = 52 - 12


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
        """Those of both together: T. F. Chan, G. H. Golub and R. J. LeVeque, COMPSTAT 1982."""
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


def _number(values: Floats) -> Integers:
    """Which bins they are in."""
    bits = values.view(np.int64)
    # Of two negative numbers the one with the greater bits is less.
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits) >> _BITS


@dataclass(frozen=True, eq=False)
class Bins:
    """How many values there are in each bin, and the least and the greatest of them.

    In a bin are the floats that begin with the same bits; `number` is what these are, in order.
    """

    number: Integers
    count: Integers
    least: Floats
    most: Floats

    @classmethod
    def from_values(cls, values: Floats) -> "Bins":
        """From values, shape (n,)."""
        if values.min() == values.max():  # as of much that doesn't happen under a policy
            one = values[:1] + 0.0
            return cls(_number(one), np.array([len(values)]), one, one)
        values = np.sort(values + 0.0)  # -0.0 becomes 0.0, whose bits are others
        return cls(_number(values), np.ones(len(values), np.int64), values, values)._joined()

    def __add__(self, other: "Bins") -> "Bins":
        """The values of both."""
        number = np.concatenate([self.number, other.number])
        order = np.argsort(number, kind="stable")  # two runs that are in order: one merge
        both = Bins(
            number[order],
            np.concatenate([self.count, other.count])[order],
            np.concatenate([self.least, other.least])[order],
            np.concatenate([self.most, other.most])[order],
        )
        return both._joined()

    def _joined(self) -> "Bins":
        """Those of the same number made into one."""
        first = np.flatnonzero(np.diff(self.number, prepend=self.number[0] - 1))
        return Bins(
            self.number[first],
            np.add.reduceat(self.count, first),
            np.minimum.reduceat(self.least, first),
            np.maximum.reduceat(self.most, first),
        )

    def quantile(self, share: float) -> float:
        """As `numpy.quantile` of the values, to a share of `WIDTH`."""
        ends = np.cumsum(self.count)
        at = share * (float(ends[-1]) - 1)
        low, high = (
            self._value(ends, int(at)),
            self._value(ends, min(int(at) + 1, int(ends[-1]) - 1)),
        )
        return low + (high - low) * (at - int(at))

    def least_of(self, share: float) -> float:
        """The least value that this share of all values doesn't exceed."""
        ends = np.cumsum(self.count)
        return self._value(ends, max(math.ceil(share * float(ends[-1])) - 1, 0))

    def _value(self, ends: Integers, rank: int) -> float:
        """The value of a rank, from 0; within a bin as if they were evenly spaced."""
        i = int(np.searchsorted(ends, rank, side="right"))
        count, least, most = int(self.count[i]), float(self.least[i]), float(self.most[i])
        before = int(ends[i]) - count
        return least + (most - least) * ((rank - before) / max(count - 1, 1))


@dataclass(frozen=True, eq=False)
class Digest:
    """What is kept of the replications of some policies.

    `moments`: of each policy and column; `apart`: by measure of `COMPARED`, of what each policy has
    of it less what each has; `bins`: of each policy and measure; `shown`: overheads of the first
    replications, from which one is taken to be shown.
    """

    policies: Sequence[str]
    columns: Sequence[str]
    moments: Moments
    apart: Mapping[str, Moments]
    bins: Mapping[tuple[str, str], Bins]
    shown: Floats

    @classmethod
    def from_values(
        cls, policies: Sequence[str], values: Floats, columns: Sequence[str], bases: Sequence[Basis]
    ) -> "Digest":
        """From `values` of shape (replications, policies, columns)."""
        table = columns_of(values, columns, bases)
        names = list(table)
        of_column = np.empty((len(policies), len(names), len(values)))
        for i, each in enumerate(table.values()):
            of_column[:, i] = each.reshape(len(policies), -1)
        compared: dict[str, Floats] = {
            measure: of_column[:, names.index(measure)] for measure in COMPARED if measure in names
        }
        bins = {
            (policy, measure): Bins.from_values(own[names.index(measure)])
            for policy, own in zip(policies, of_column, strict=True)
            for measure in MEASURES
            if measure in names
        }
        apart = {
            measure: Moments.from_values(own[:, np.newaxis] - own)
            for measure, own in compared.items()
        }
        moments = Moments.from_values(of_column)
        return cls(policies, names, moments, apart, bins, compared["overhead"])

    def __add__(self, other: "Digest") -> "Digest":
        """That of these replications and of those after them."""
        return Digest(
            self.policies,
            self.columns,
            self.moments + other.moments,
            {measure: apart + other.apart[measure] for measure, apart in self.apart.items()},
            {key: bins + other.bins[key] for key, bins in self.bins.items()},
            self.shown,
        )

    @property
    def count(self) -> int:
        """How many replications there were under each policy."""
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

    def means(self, policy: str) -> dict[str, float]:
        """Of each column of numbers."""
        own = self.moments.mean[self.policies.index(policy)]
        return dict(zip(self.columns, own.tolist(), strict=True))

    def statistics(self, policy: str) -> dict[str, float]:
        """Columns of a summary, as of `cprsim.runs.summaries.statistics`."""
        measures = [name for name in MEASURES if name in self.columns]
        of, places = self.policies.index(policy), [self.columns.index(each) for each in measures]
        bins = [self.bins[policy, each] for each in measures]
        median, p95 = (np.array([each.quantile(share) for each in bins]) for share in (0.5, 0.95))
        half = self.moments.half_width[of, places]
        return in_columns(measures, self.moments.mean[of, places], half, median, p95)

    def evidence(self, unmet: Mapping[str, float], measure: str, can_fail: bool) -> PairedMoments:
        """Of which policy has the least of a measure of `COMPARED`.

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

    def quantiles(self, policy: str, measure: str, shares: Sequence[float]) -> list[float]:
        """Quantiles of a measure, as of `ReplicationTable`, to a share of `WIDTH`."""
        return [self.bins[policy, measure].least_of(share) for share in shares]

    def count_upto(self, policy: str, measure: str, most: float) -> int:
        """The number of replications in which a measure is `most` at most, of whole numbers."""
        bins = self.bins[policy, measure]
        return int(bins.count[bins.most <= most].sum())

    def median(self, policy: str) -> int:
        """The one of the first replications whose overhead is nearest to the median of all."""
        median = self.bins[policy, "overhead"].quantile(0.5)
        return int(np.abs(self.shown[self.policies.index(policy)] - median).argmin())


#: What a run has kept of its replications.
Replications = ReplicationTable | Digest
