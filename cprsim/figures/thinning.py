"""Fewer points of a curve, where more can't be seen."""

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


def evenly(count: int, most: int) -> Indices:
    """Up to `most` of the places 0 to `count` - 1, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def by_log_odds(left: NDArray[np.float64], most: int) -> Indices:
    """Up to `most` places among falling chances `left`, evenly in log odds: many at both ends."""
    odds = np.log((1 - left) / left)
    wanted = np.linspace(odds[0], odds[-1], most)
    return np.unique(np.minimum(np.searchsorted(odds, wanted), len(left) - 1))
