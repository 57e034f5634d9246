"""Long-run goodput under any failure law whose clock starts again at each recovery."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-16  # a term under this share of the sum doesn't change it
_FIRST_BLOCK = 64


def renewal_goodput(
    interval_s: float,
    stall_s: float,
    persist_s: float,
    recovery_s: float,
    mtbf_s: float,
    survival: Callable[[Floats], Floats],
) -> float:
    """Share of the wall time that a long run turns into committed work.

    `tau sum_{i>=1} S(i (tau + stall) + P) / (M + R)`: by renewal reward, the i-th save after a
    recovery commits if nothing fails before then. Exact in the long run where the clock renews
    at each failure; many machines with a non-exponential law each are no renewal process. M is
    the integral of `survival`, which takes times in seconds since the last recovery.
    """
    total, start, stop = 0.0, 1, _FIRST_BLOCK
    while True:
        terms = survival(np.arange(start, stop) * (interval_s + stall_s) + persist_s)
        total += float(terms.sum())
        if terms[-1] <= _NEGLIGIBLE * total:
            return interval_s * total / (mtbf_s + recovery_s)
        start, stop = stop, 2 * stop
