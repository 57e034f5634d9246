"""What can be said of the best where only moments of the replications are kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.selection.intervals import LEAST_MET, ROUNDING, Means, students_t


@dataclass(frozen=True)
class PairedMoments:
    """Evidence of very many replications, whose means are normal, failures being rare or not.

    Parameters
    ----------
    replications
        Of each candidate.
    means
        Shape (candidates,): of what is to be least.
    apart, squares
        Shape (candidates, candidates): what each has more than each in the mean, and the sum of the
        squared distances from that.
    failures
        Shape (candidates,): in the mean.
    can_fail
        Whether failures can happen at all.
    """

    replications: int
    means: NDArray[np.float64]
    apart: NDArray[np.float64]
    squares: NDArray[np.float64]
    failures: NDArray[np.float64]
    can_fail: bool = True

    def levels(self, miss: float) -> list[Means]:  # noqa: ARG002  (of `Evidence`)
        """None: nothing is bounded."""
        return []

    def differences(self, best: int, others: Sequence[int], miss: float) -> Means:
        """What the others have more of what is to be least, by Student's t."""
        n = self.replications
        mean = self.apart[others, best]
        deviation = np.sqrt(self.squares[others, best] / max(n - 1, 1))
        half = students_t(n - 1, miss) * np.where(deviation > ROUNDING, deviation, 0) / math.sqrt(n)
        met = np.minimum(n * np.maximum(self.failures[others], self.failures[best]), n).astype(int)
        known = (met >= LEAST_MET) | (not self.can_fail)
        half = np.where(known, half, math.inf)
        return Means(mean, mean - half, mean + half, met)
