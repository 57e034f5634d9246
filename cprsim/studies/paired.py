"""Two kinds of runs compared seed by seed: what both share cancels in the differences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.closed_form.intervals import ROUNDING
from cprsim.errors import UsageError
from cprsim.runs.summaries import half_width

#: Differences with which all signs can be tried: 2 to that many sums.
MOST_PAIRS = 20


@dataclass(frozen=True)
class PairedDifference:
    """Values of `first` less those of `second`, pair by pair.

    Parameters
    ----------
    first, second
        What is compared.
    pairs
        How many.
    mean, low, high
        The mean difference and its 95 % interval by Student's t.
    p
        Chance of a mean at least so far from 0 if neither is better: see `sign_flip_p`.
    adjusted_p
        The same among all comparisons that are made together: see `holm`.
    """

    first: str
    second: str
    pairs: int
    mean: float
    low: float
    high: float
    p: float
    adjusted_p: float

    @property
    def is_significant(self) -> bool:
        """Whether all comparisons found significant are right with a chance of 95 %."""
        return self.adjusted_p < 0.05


def compare_all(values: dict[str, NDArray[np.float64]]) -> list[PairedDifference]:
    """Each kind with each behind it; `values` of a kind stand in the order of the pairs.

    Raises
    ------
    UsageError
        For fewer than two pairs, or more than `MOST_PAIRS`.
    """
    names = list(values)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    differences = [values[a] - values[b] for a, b in pairs]
    chances = [sign_flip_p(each) for each in differences]
    return [
        _difference(first, second, each, p, adjusted)
        for (first, second), each, p, adjusted in zip(
            pairs, differences, chances, holm(chances), strict=True
        )
    ]


def _difference(
    first: str, second: str, differences: NDArray[np.float64], p: float, adjusted: float
) -> PairedDifference:
    mean, half = float(differences.mean()), float(half_width(differences))
    return PairedDifference(
        first, second, differences.size, mean, mean - half, mean + half, p, adjusted
    )


def sign_flip_p(differences: NDArray[np.float64]) -> float:
    """Two-sided p of the exact sign-flip test (Fisher, The Design of Experiments, 1935, §21).

    If a pair's two values might as well be exchanged, all 2^n ways to give the n differences signs
    are alike probable; p is the share of them whose sum is at least as far from 0. So it holds for
    few pairs, of whatever distribution, where Student's t needs the differences to be normal. It is
    2^(1 - n) at least.
    """
    count = differences.size
    if not 2 <= count <= MOST_PAIRS:
        raise UsageError(f"{count} pairs: an exact test takes 2 to {MOST_PAIRS} of them")
    sums = np.zeros(1)
    for each in differences:
        sums = np.concatenate((sums + each, sums - each))
    # Sums of the same numbers in other signs differ by rounding.
    found = abs(differences.sum()) - ROUNDING * np.abs(differences).sum()
    return float(np.mean(np.abs(sums) >= found))


def holm(chances: Sequence[float]) -> list[float]:
    """The p of several tests, adjusted for their number (Holm, Scand. J. Statistics 6, 1979).

    Of all tests whose adjusted p is below a level, a wrong one is among them with a chance of at
    most that level, however they hang together; no test is adjusted more than by Bonferroni.
    """
    order = np.argsort(chances, kind="stable")
    falling = np.arange(len(chances), 0, -1)
    steps = np.maximum.accumulate(np.asarray(chances, dtype=np.float64)[order] * falling)
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(steps, 1.0)
    return [float(each) for each in adjusted]
