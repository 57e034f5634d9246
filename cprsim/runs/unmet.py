"""Losses that take back much, and that no replication met."""

import numpy as np
from numpy.typing import NDArray

#: An event that no replication met happens in fewer than 3 / n of them, with 95 % (Hanley and
#: Lippman-Hand, JAMA 249, 1983).
_RULE_OF_THREE = 3.0
#: Measures that lost computation adds to, shares of the useful time.
IN_TIME = ("overhead", "overhead_retrained", "machine_overhead")


def allowance(lost: NDArray[np.float64], unmet: float) -> float:
    """Return what a mean may lack for a loss that none of its replications met, with 95 %.

    `lost`: lost computation of each replication, a share of the useful time. `unmet`: what the loss
    takes back, likewise.
    """
    is_met = lost.max() - np.median(lost) > unmet / 2  # as every other one takes back
    return 0.0 if is_met else _RULE_OF_THREE / len(lost) * unmet
