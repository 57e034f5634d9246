"""What takes the same each time but for what else a machine does."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import trim_mean


def quantile(values: Sequence[float], level: float) -> float:
    """The value that a share `level` of all such lies below, unbiased for few (Weibull's rank).

    A lower one than the median is what a quieter machine takes: others only make it longer.
    """
    return float(np.quantile(values, level, method="weibull"))


def midmean(values: Iterable[float]) -> float:
    """The mean of the middle half, which what is far off on either side leaves alone."""
    return float(trim_mean(list(values), 0.25))
