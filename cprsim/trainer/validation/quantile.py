"""What takes the same each time but for what else a machine does."""

from collections.abc import Sequence

import numpy as np


def quantile(values: Sequence[float], level: float) -> float:
    """The value that a share `level` of all such lies below, unbiased for few (Weibull's rank).

    A lower one than the median is what a quieter machine takes: others only make it longer.
    """
    return float(np.quantile(values, level, method="weibull"))
