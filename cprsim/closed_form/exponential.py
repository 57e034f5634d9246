"""Building blocks for failures that come at a constant rate."""

import math


def growth(exponent: float) -> float:
    """`exp(exponent) - 1`, accurate near zero and infinite where a float would overflow.

    Infinity is the honest answer there: the expected time no longer fits a float.
    """
    try:
        return math.expm1(exponent)
    except OverflowError:
        return math.inf
