"""Whether durations that follow one another know of each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cprsim.survival.sample import Floats

_SIGNIFICANT = 3.0  # standard errors; independent gaps are taken for clustered once in 740


@dataclass(frozen=True)
class Dependence:
    """Rank correlation of each duration with the next one (Spearman's, -1 to 1).

    Parameters
    ----------
    correlation
        0 for independent durations; above it short ones follow short ones.
    z
        The same in its standard errors, 1 / sqrt(n), if the durations are independent.

    References
    ----------
    A. Wald and J. Wolfowitz, "An exact test for randomness in the non-parametric case based on
    serial correlation", Annals of Mathematical Statistics 14 (1943).
    """

    correlation: float
    z: float

    @property
    def clustered(self) -> bool:
        """Whether failures come in clusters, beyond what chance explains."""
        return self.z > _SIGNIFICANT


def dependence(sequences: Sequence[Floats], n: int | None = None) -> Dependence | None:
    """How each duration depends on the one before it; None where there is nothing to tell.

    Parameters
    ----------
    sequences
        Durations in the order in which they came, seconds, an array for each job.
    n
        How many pairs are independent of each other, where the sequences share failures; all of
        them if not given.
    """
    from scipy.stats import rankdata  # noqa: PLC0415  (scipy is slow to import)

    lengths = [len(sequence) for sequence in sequences]
    if sum(max(length - 1, 0) for length in lengths) < 2:
        return None
    ranks = np.split(rankdata(np.concatenate(sequences)), np.cumsum(lengths)[:-1])
    former = np.concatenate([each[:-1] for each in ranks])
    latter = np.concatenate([each[1:] for each in ranks])
    if np.ptp(former) == 0 or np.ptp(latter) == 0:
        return None
    correlation = float(np.corrcoef(former, latter)[0, 1])
    return Dependence(correlation, correlation * math.sqrt(len(former) if n is None else n))
