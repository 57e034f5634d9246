"""Long-run goodput under any failure law whose clock starts anew at each recovery."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from cprsim.closed_form.checks import check_duration, check_positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

# Seconds to probability; takes one number, or better an array of them.
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

    Parameters
    ----------
    interval_s : float
        Work between two saves, s, > 0; infinite for none.
    stall_s : float
        Time that one save stops the training, s, >= 0; for a blocking save, all of it.
    persist_s : float
        Time from the end of the stall until the save can be loaded, s, >= 0; 0 for a blocking one.
    recovery_s : float
        Mean time from a failure until training goes on, s, >= 0. Nothing fails meanwhile.
    mtbf_s : float
        Mean of the failure law, s, > 0: the integral of `survival`. It isn't checked.
    survival : callable
        Time since the last recovery in s -> probability that no failure came yet. Called with a
        numpy array first, then number by number where it can't take one.

    Returns
    -------
    float
        Goodput, 0 to 1.

    Notes
    -----
    `tau sum_{i>=1} S(i (tau + stall) + P) / (M + R)`: by renewal reward, the i-th save after a
    recovery commits if nothing fails before then. Exact in the long run where the clock renews
    at each failure; many machines with a non-exponential law each are no renewal process. The sum
    stops where a term no longer counts; past a million terms it becomes an integral.
    """
    check_positive(interval_s=interval_s, mtbf_s=mtbf_s)
    check_duration(stall_s=stall_s, persist_s=persist_s, recovery_s=recovery_s)
    if math.isinf(interval_s):  # all of the work, or none of it, is kept
        return 1.0 if math.isinf(mtbf_s) else 0.0
    if math.isinf(mtbf_s):
        return interval_s / (interval_s + stall_s)
    commits = _commits_per_failure(interval_s + stall_s, persist_s, survival)
    return interval_s * commits / (mtbf_s + recovery_s)


def _commits_per_failure(spacing_s: float, delay_s: float, survival: Survival) -> float:
    """Sum of the survival at `i * spacing_s + delay_s` over i = 1, 2, ..."""
    import numpy as np  # noqa: PLC0415 - the other closed forms do without it

    def alive(saves: "Floats") -> "Floats":
        # A steep law may overflow on its way to a survival of 0, which is what it then gives.
        with np.errstate(over="ignore"):
            return _evaluate(survival, saves * spacing_s + delay_s)

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
    pair = np.array([start, start + 1.0])  # math functions take an array of one for a number
    total += float(alive(pair)[0]) / 2
    width = float(start)
    for _ in range(_TAIL_BLOCKS):
        block = width / 2 * float(weights @ alive(width * (1.5 + nodes / 2)))
        total += block
        if block <= _NEGLIGIBLE * total:
            break
        width *= 2
    return total


def _evaluate(survival: Survival, times_s: "Floats") -> "Floats":
    """Survival at each time, whether or not the callable takes arrays."""
    import numpy as np  # noqa: PLC0415

    try:
        values = np.asarray(survival(times_s), dtype=np.float64)
    except (TypeError, ValueError):  # what math.exp and `if t < x` say to an array
        values = np.empty(0)
    if values.shape != times_s.shape:
        values = np.array([survival(time_s) for time_s in times_s.tolist()], dtype=np.float64)
    # One minus a distribution function may come out a rounding error under zero.
    wrong = ~((values >= -1e-9) & (values <= 1 + 1e-9))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"survival must be from 0 to 1, got {float(values[at])} at {float(times_s[at])} s"
        )
    return values
