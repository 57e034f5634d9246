"""Long-run goodput under any failure law whose clock starts anew at each recovery."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
# Seconds to probability, of an array.
Survival: TypeAlias = Callable[[Any], Any]

_NEGLIGIBLE = 1e-16  # a term under this share of the sum doesn't change it
_FIRST_BLOCK = 64
_SUMMED_TERMS = 2**20  # beyond them a survival is taken to be smooth, and integrated
_TAIL_BLOCKS = 800  # doubling this often still fits a float


def renewal_goodput(
    interval_s: float,
    stall_s: float,
    persist_s: float,
    recovery_s: float,
    mtbf_s: float,
    survival: Survival,
) -> float:
    """Share of the wall time that a long run turns into committed work.

    `interval_s` of work from one save to the next, infinite for none; a save stops training for
    `stall_s` and can be loaded `persist_s` after that; training goes on `recovery_s` after a
    failure, and nothing fails meanwhile. `mtbf_s` is the mean of the failure law, and `survival`
    maps the time since the last recovery to the probability that no failure came yet.

    `tau sum_{i>=1} S(i (tau + stall) + P) / (M + R)`: by renewal reward, the i-th save after a
    recovery commits if nothing fails before then. Exact in the long run where the clock renews
    at each failure; many machines with a non-exponential law each are no renewal process. The sum
    stops where a term no longer counts; past a million terms it becomes an integral.
    """
    if math.isinf(interval_s):  # all of the work, or none of it, is kept
        return 1.0 if math.isinf(mtbf_s) else 0.0
    if math.isinf(mtbf_s):
        return interval_s / (interval_s + stall_s)
    commits = _commits_per_failure(interval_s + stall_s, persist_s, survival)
    return interval_s * commits / (mtbf_s + recovery_s)


def _commits_per_failure(spacing_s: float, delay_s: float, survival: Survival) -> float:
    """Sum of the survival at `i * spacing_s + delay_s` over i = 1, 2, ..."""

    def alive(saves: Floats) -> Floats:
        # A steep law may overflow on its way to a survival of 0, which is what it then gives.
        with np.errstate(over="ignore"):
            return np.asarray(survival(saves * spacing_s + delay_s), dtype=np.float64)

    total, start, stop = 0.0, 1, _FIRST_BLOCK
    while start < _SUMMED_TERMS:
        terms = alive(np.arange(start, stop, dtype=np.float64))
        total += float(terms.sum())
        if terms[-1] <= _NEGLIGIBLE * total:
            return total
        start, stop = stop, 2 * stop

    # Heavy tail. Euler-Maclaurin: sum over i >= a = integral from a + half the first term; the
    # next correction is the slope at a over 12, a millionth of that. The integral goes by
    # doubling blocks, on each of which a law that is slow in log t looks like a polynomial.
    nodes, weights = np.polynomial.legendre.leggauss(32)
    total += float(alive(np.array([float(start)]))[0]) / 2
    width = float(start)
    for _ in range(_TAIL_BLOCKS):
        block = width / 2 * float(weights @ alive(width * (1.5 + nodes / 2)))
        total += block
        if block <= _NEGLIGIBLE * total:
            break
        width *= 2
    return total
