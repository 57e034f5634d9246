"""Two kinds of runs compared seed by seed: what both share cancels in the differences."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import ROUNDING
from cprsim.errors import UsageError
from cprsim.runs.summaries import half_width

#: Differences with which all signs can be tried: 2 to that many sums.
MOST_PAIRS = 20
#: Chance that is taken of calling anything different, or equal, that isn't.
LEVEL = 0.05
#: AUC by which two kinds of runs may differ and still be called equal; of slopes at a PLS of 1.
#: Assumed: a margin of ours, set when the study of the planted samples was known.
EQUAL_WITHIN = 0.001


class PairedDifference(NamedTuple):
    """Values of `first` less those of `second`, pair by pair.

    `first`, `second`: what is compared. `mean`, `low`, `high`: the mean difference and its 95 %
    interval by Student's t. `p`: chance of a mean at least so far from 0 if neither is better: see
    `sign_flip_p`. `adjusted_p`: the same among all comparisons that are made together: see `holm`.
    `equal_p`: chance of a mean so near 0 if they differ by more than the margin: see
    `equivalence_p`. Adjusted as well.
    """

    first: str
    second: str
    mean: float
    low: float
    high: float
    p: float
    adjusted_p: float
    equal_p: float

    @property
    def is_significant(self) -> bool:
        """True if all comparisons found significant are right with a chance of 95 %."""
        return self.adjusted_p < LEVEL

    @property
    def is_equal(self) -> bool:
        """True if all that are found equal within the margin are, with a chance of 95 %."""
        return self.equal_p < LEVEL

    @property
    def verdict(self) -> str:
        """The result; no difference shown is no equality."""
        if self.is_significant:
            return "different, by less than the margin" if self.is_equal else "different"
        return "equal" if self.is_equal else "undecided"

    @property
    def spread(self) -> str:
        """The mean difference and half of its interval."""
        return f"{self.mean:+.5f} ± {self.mean - self.low:.5f}"


def compare_all(values: dict[str, NDArray[np.float64]]) -> list[PairedDifference]:
    """Each kind with each behind it; `values` of a kind are in the order of the pairs.

    Raises as `compare` does.
    """
    pairs = itertools.combinations(values, 2)
    return compare([(a, b, values[a] - values[b]) for a, b in pairs])


def compare(pairs: Sequence[tuple[str, str, NDArray[np.float64]]]) -> list[PairedDifference]:
    """Return the tests of differences, adjusted for their number.

    Raises
    ------
    UsageError
        For fewer than two pairs, or more than `MOST_PAIRS`.
    """
    chances = [sign_flip_p(differences) for _, _, differences in pairs]
    equal = [equivalence_p(differences, EQUAL_WITHIN) for _, _, differences in pairs]
    found = []
    tests = zip(pairs, chances, holm(chances), holm(equal), strict=True)
    for (first, second, differences), p, adjusted_p, equal_p in tests:
        mean, half = float(differences.mean()), float(half_width(differences))
        interval = mean, mean - half, mean + half
        found.append(PairedDifference(first, second, *interval, p, adjusted_p, equal_p))
    return found


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


def least_pairs(comparisons: int) -> int:
    """Return the pairs that `compare_all` needs to find any of its comparisons significant.

    The smallest p of n pairs is 2^(1 - n), when all differences have the same sign, and Holm's
    method multiplies the smallest by the number of comparisons.
    """
    return 2 + math.floor(math.log2(comparisons / LEVEL)) if comparisons else 2


def enough(what: str, comparisons: int, pairs: int) -> str:
    """Return a sentence on whether so many seeds can show anything."""
    least = least_pairs(comparisons)
    of = f"{what}: {comparisons} to test"
    if pairs >= least:
        return f"{of}, of which {least} seeds can find one significant; there are {pairs}"
    if least > MOST_PAIRS:
        return f"{of}; no number of seeds up to {MOST_PAIRS} can find one significant: test fewer"
    return f"{of}, none of which {pairs} seeds can find significant; give {least} seeds or more"


def equivalence_p(differences: NDArray[np.float64], within: float) -> float:
    """The p of two one-sided t-tests (Schuirmann, J. Pharmacokinetics Biopharm. 15, 1987).

    The null hypothesis is that the mean is at least `within` away from 0, on either side; each side
    is tested by itself, and the larger p counts. Rejected at 5 % where the 90 % interval by
    Student's t lies within both margins.
    """
    from scipy.stats import ttest_1samp  # noqa: PLC0415  (scipy is slow to import)

    mean, half = float(differences.mean()), float(half_width(differences))
    if half == 0:  # all alike, as two policies are that lose nothing
        return float(abs(mean) >= within)
    below = ttest_1samp(differences, -within, alternative="greater").pvalue
    above = ttest_1samp(differences, within, alternative="less").pvalue
    return float(max(below, above))


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
