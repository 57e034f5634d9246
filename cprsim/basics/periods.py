"""Whole periods in a time, beyond the rounding of floats."""

import math

#: Share of a sum below which a difference is the rounding of what was added up to it.
ROUNDING = 1e-12


def whole_periods(time: float, period: float) -> int:
    """Return how many periods fit into a time; 0.1 fits three times into 0.3."""
    return math.floor(time / period * (1 + ROUNDING))
