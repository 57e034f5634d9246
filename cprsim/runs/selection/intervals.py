"""Intervals of means that hold though failures are rare and what they cost is skewed."""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Replications that have to have met a failure, and to differ for it, before they count.
#: Below, the skewness that is seen says little of the one that there is (docs/validation.md).
LEAST_MET: Final = 20
#: Differences no larger than this, in shares of the largest value or of 1, are rounding.
ROUNDING: Final = 1e-9
#: Cochran, Sampling Techniques, 1977, section 2.15: a normal interval at 95 % wants so many times
#: the squared skewness in replications.
_COCHRAN: Final = 25.0
_OF_95: Final = 1.959964  # standard deviations
_SYMMETRIC: Final = 1e-6  # skewness of a mean below which Hall's transformation is the identity


class Means(NamedTuple):
    """Means of rows with their intervals; arrays of shape (rows,).

    `low`, `high`: infinite where too few failures were met. `met`: replications that count, those
    that met a failure or, where only some differ, that differ.
    """

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    met: NDArray[np.int64]


def rounding_of(values: NDArray[np.float64]) -> float:
    """Return the part of these values that may be rounding."""
    return ROUNDING * max(1.0, float(np.abs(values).max(initial=0.0)))


def intervals(
    values: NDArray[np.float64],
    failed: NDArray[np.bool_],
    miss: float,
    rounding: float,
    can_fail: bool | NDArray[np.bool_] = True,
) -> Means:
    """Means along the last axis, each with an interval that leaves it out with the chance `miss`.

    Where nothing fails all replications are alike, so a small spread may only say that few failures
    were met. Three rules keep that from passing for certainty; k is the number of replications
    whose value isn't the common one (the median, within `rounding`), n that of all:

    * fewer than `LEAST_MET` with a failure, or k below that: the interval is infinite. Where all
      are alike though enough met a failure, it is a point; so it is where nothing can fail.
    * Student's t has k - 1 degrees of freedom: the alike ones say nothing of the spread.
    * Either end is the farther of that of Student's t and that of Hall's transformation of it,
      which allows for the skewness G (Hall, J. R. Statist. Soc. B 54, 1992, equation 2.3 for the
      monotone cubic). As long as n < 25 G² (Cochran; 25 at 95 %, more at higher levels, as the
      square of the quantile), both are sqrt(25 G² / n) times as far from the mean.

    Parameters
    ----------
    values
        Shape (rows, replications).
    failed
        Same shape: whether it met a failure.
    miss
        Of both sides together.
    rounding
        Differences that are none.
    can_fail
        Whether failures can happen at all and change the values, of all rows or of each.
    """
    values = np.ascontiguousarray(values)
    mean = values.mean(axis=1)
    differ = (np.abs(values - np.median(values, axis=1)[:, None]) > rounding).sum(axis=1)
    met = failed.sum(axis=1)
    enough = (met >= LEAST_MET) | ~np.asarray(can_fail)
    alike, spread = enough & (differ == 0), enough & (differ >= LEAST_MET)
    below, above = (np.where(alike, 0.0, math.inf) for _ in range(2))
    if spread.any():
        ends = _half_widths(values[spread] - mean[spread, None], differ[spread], miss)
        below[spread], above[spread] = ends
    counted = np.where(differ > 0, np.where(can_fail, np.minimum(met, differ), differ), met)
    return Means(mean, mean - below, mean + above, counted)


def _half_widths(
    deviations: NDArray[np.float64], differ: NDArray[np.int64], miss: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far the ends lie below and above the mean, for rows that aren't alike."""
    n = deviations.shape[1]
    variance = (deviations**2).mean(axis=1)
    skewness = (deviations**3).mean(axis=1) / variance**1.5
    error = np.sqrt(variance / (n - 1))
    t = np.array([students_t(int(each) - 1, miss) for each in differ])
    normal = students_t(10**9, miss) / _OF_95
    wider = np.maximum(1.0, math.sqrt(_COCHRAN / n) * np.abs(skewness) * normal)
    of_mean = skewness / math.sqrt(n)
    below = np.maximum(t, _hall(t, of_mean))
    above = np.maximum(t, -_hall(-t, of_mean))
    return wider * error * below, wider * error * above


def _hall(x: NDArray[np.float64], skewness: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of Hall's transformation; `skewness`: that of the mean."""
    straight = np.abs(skewness) < _SYMMETRIC
    g = np.where(straight, 1.0, skewness)
    bent = 3 / g * (np.cbrt(1 + g * (x - g / 6)) - 1)
    return np.where(straight, x, bent)


@lru_cache(maxsize=4096)
def students_t(freedom: int, miss: float) -> float:
    """Return the quantile that Student's t exceeds to either side with the chance `miss`."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, 1 - miss / 2))
