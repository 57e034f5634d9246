"""Building blocks for failures that come at a constant rate."""

import math

# Below this exponent the closed forms lose digits to cancellation and the series keep them all.
_SERIES_BELOW = 0.02


def growth(exponent: float) -> float:
    """`exp(exponent) - 1`, accurate near zero and infinite where a float would overflow.

    Infinity is the honest answer there: the expected time no longer fits a float.
    """
    try:
        return math.expm1(exponent)
    except OverflowError:
        return math.inf


def truncated_mean(length: float) -> float:
    """Mean of a unit exponential that is known to be under `length`.

    Parameters
    ----------
    length : float
        Upper end in units of the untruncated mean, > 0.

    Returns
    -------
    float
        `1 - length / (exp(length) - 1)`, in the same unit.
    """
    if length < _SERIES_BELOW:
        return length / 2 - length**2 / 12 + length**4 / 720
    return 1 - length / growth(length)


def truncated_variance(length: float) -> float:
    """Variance of a unit exponential that is known to be under `length`.

    Parameters
    ----------
    length : float
        Upper end in units of the untruncated mean, > 0.

    Returns
    -------
    float
        `1 - (h / sinh(h))**2` with `h = length / 2`, in that unit squared.
    """
    half = length / 2
    if length < _SERIES_BELOW:
        return half**2 / 3 - half**4 / 15 + 2 * half**6 / 189
    # sinh(h) = exp(h) (1 - exp(-2h)) / 2, written so that a large h goes to zero, not over.
    inverse_sinh = 2 * math.exp(-half) / -math.expm1(-length)
    return 1 - (half * inverse_sinh) ** 2
