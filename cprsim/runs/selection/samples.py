"""Replications of candidates, or their moments: what a certificate is judged by."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.selection.intervals import (
    LEAST_MET,
    ROUNDING,
    Means,
    intervals,
    rounding_of,
    students_t,
)


@dataclass(frozen=True)
class PairedSample:
    """Replications of some candidates; column i of all was played on one timeline.

    Parameters
    ----------
    objective
        Shape (candidates, replications): what is minimised, in shares of useful time or in money.
    bounded
        Shape (candidates, bounds, replications): what is bounded; never below 0.
    failures
        Shape (candidates, replications): how many failures each met.
    can_fail
        Whether failures can happen at all. If not, replications that are alike are no luck.
    lossless
        Shape (candidates,): whether no failure changes what is bounded, by how the candidate
        recovers; None: not known of any.
    unmet
        Shape (candidates,): what an event that no replication met may add to the objective, as
        where copies are lost together and a job starts from zero; None: nothing.
    """

    objective: NDArray[np.float64]
    bounded: NDArray[np.float64]
    failures: NDArray[np.float64]
    can_fail: bool = True
    lossless: NDArray[np.bool_] | None = None
    unmet: NDArray[np.float64] | None = None

    @property
    def replications(self) -> int:
        """Return the mean of each candidate."""
        return int(self.objective.shape[1])

    @property
    def means(self) -> NDArray[np.float64]:
        """Means of the objective, shape (candidates,)."""
        return np.asarray(self.objective.mean(axis=1))

    def levels(self, miss: float) -> Iterator[Means]:
        """Yield the means of what is bounded, of all candidates, bound by bound."""
        failed, rounding = self.failures > 0, rounding_of(self.bounded)
        can_lose = np.full(len(self.objective), self.can_fail)
        if self.lossless is not None:
            can_lose &= ~self.lossless
        for values in self.bounded.swapaxes(0, 1):
            found = intervals(values, failed, miss, rounding, can_lose)
            # None is less than 0; infinite ends say that too few failures were met.
            low = np.where(np.isfinite(found.low), found.low.clip(min=0), found.low)
            yield found._replace(low=low)

    def differences(self, best: int, others: Sequence[int], miss: float) -> Means:
        """Return by how much the others exceed the objective of the best."""
        failed = (self.failures[others] > 0) | (self.failures[best] > 0)
        apart = self.objective[others] - self.objective[best]
        rounding = rounding_of(self.objective)
        found = intervals(apart, failed, miss, rounding, self.can_fail)
        if self.unmet is None:
            return found
        # What happens with this chance in a replication isn't met in any with that of a miss.
        chance = -math.log(miss / 2) / self.replications
        differs = np.abs(apart).max(axis=1) > rounding
        return found._replace(
            low=found.low - chance * self.unmet[best] * differs,
            high=found.high + chance * self.unmet[others] * differs,
        )


@dataclass(frozen=True)
class PairedMoments:
    """Moments of very many replications, whose means are normal, failures being rare or not.

    `means`: of the objective, shape (candidates,). `apart`, `squares`, shape (candidates,
    candidates): what each exceeds each by in the mean, and the sum of the squared distances from
    that. `failures`: in the mean, shape (candidates,). `can_fail`: as in `PairedSample`.
    """

    replications: int
    means: NDArray[np.float64]
    apart: NDArray[np.float64]
    squares: NDArray[np.float64]
    failures: NDArray[np.float64]
    can_fail: bool = True

    def levels(self, miss: float) -> Iterator[Means]:  # noqa: ARG002  (as of `PairedSample`)
        """Yield nothing, as nothing is bounded."""
        return iter(())

    def differences(self, best: int, others: Sequence[int], miss: float) -> Means:
        """Return by how much the others exceed the objective of the best, by Student's t."""
        n = self.replications
        mean = self.apart[others, best]
        deviation = np.sqrt(self.squares[others, best] / max(n - 1, 1))
        half = students_t(n - 1, miss) * np.where(deviation > ROUNDING, deviation, 0) / math.sqrt(n)
        met = np.minimum(n * np.maximum(self.failures[others], self.failures[best]), n).astype(int)
        half = np.where((met >= LEAST_MET) | (not self.can_fail), half, math.inf)
        return Means(mean, mean - half, mean + half, met)
