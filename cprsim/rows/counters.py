"""MFU in the mean field: the counter of a row is the number of its updates that are not saved.

So is the change that SCAR sees, where every update changes a row equally. The state is, for each
class of rows, the probability of every count. Between saves a Poisson number is added; a save
clears all counts above a threshold, and at the threshold what is left of the rows it takes.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import gammaln, pdtr

Array = NDArray[np.float64]
#: Most levels of a counter. Where the threshold may be higher a level is a span of counts, and a
#: count between two levels is a lottery between them that keeps the mean.
_LEVELS = 128


def counted(classes: tuple[Array, Array], k: int, saves: int) -> Array:
    """Expected updates not saved just after each of `saves` saves of the `k` largest counters.

    Parameters
    ----------
    classes
        Rows of each class, and accesses of one row of it between two saves, both shape (classes,).
    k
        Rows that a save takes.
    saves
        How many saves follow the one of everything.

    Returns
    -------
    Updates, shape (saves,).
    """
    rows, k, step, unit = _counters(classes, k)
    levels = step.shape[1]
    length = next_fast_len(2 * levels - 1, real=True)
    spectrum = rfft(step, length)
    state = np.zeros(step.shape)
    state[:, 0] = 1.0
    after = np.empty(saves)
    for save in range(saves):
        state = np.maximum(irfft(rfft(state, length) * spectrum, length)[:, :levels], 0.0)
        # Counts beyond the last level have left the state: `_highest` says that all are cleared.
        _clear(state, rows, k)
        after[save] = unit * (rows @ state @ np.arange(levels))
    return after


def counted_in_the_long_run(classes: tuple[Array, Array], k: int) -> float:
    """The same after many saves, where the threshold stands still.

    From one time that it is cleared to the next, a counter is at a level after so many saves: the
    expected numbers of these visits follow level by level, and those below the threshold don't
    depend on it.
    """
    rows, k, step, unit = _counters(classes, k)
    count = step.shape[1]
    moves = step[:, 1:].sum(axis=1) + _beyond(step)  # probability of any access
    reached = np.zeros(step.shape)
    reached[:, 0] = 1.0
    visits = np.empty(step.shape)
    for level in range(count):
        if level:
            reached[:, level] = (visits[:, :level] * step[:, level:0:-1]).sum(axis=1)
        visits[:, level] = reached[:, level] / moves
    cycles = np.cumsum(visits, axis=1)  # saves from one clearing to the next, by threshold - 1
    cleared = rows @ (1 / cycles)
    if cleared[0] <= k:  # all that is touched
        return 0.0
    threshold = min(int(np.count_nonzero(cleared > k)), count - 1)

    def tied(kept: float) -> Array:
        """Visits at the threshold, where a save keeps a share of the counters."""
        return kept * reached[:, threshold] / (1 - kept + kept * moves)

    def surplus(kept: float) -> float:
        return float(rows @ (1 / (cycles[:, threshold - 1] + tied(kept)))) - k

    kept = brentq(surplus, 0.0, 1.0) if surplus(1.0) < 0 else 1.0
    below = visits[:, :threshold] @ np.arange(threshold) + threshold * tied(kept)
    return float(unit * (rows @ (below / (cycles[:, threshold - 1] + tied(kept)))))


def _counters(classes: tuple[Array, Array], k: int) -> tuple[Array, float, Array, int]:
    """Rows of the classes that matter, what a save takes of them, their steps, the unit of levels.

    Rows so popular that every save takes them lose nothing, and untouched ones neither.
    """
    rows, accesses = classes
    highest = _highest(rows, accesses, k)
    unit = math.ceil(highest / _LEVELS)
    levels = math.ceil(highest / unit) + 1
    hot = pdtr(unit * levels, accesses) < 1e-12
    some = ~hot & (accesses > 0)
    step = _steps(accesses[some], levels, unit)
    return rows[some], float(k - rows[hot].sum()), step, unit


def _highest(rows: Array, accesses: Array, k: int) -> float:
    """A count that no threshold exceeds.

    Set the most popular x k rows apart, x < 1. Of each save at least (1 - x) k rows are others,
    and the largest counters of those; so each save takes at least (1 - x) k / rows of what they
    hold, which is never more than rows / ((1 - x) k) times what they receive between saves. If
    the threshold is t, then (1 - x) k of them hold t or more each. The best of ten x will do.
    """
    ends = np.concatenate([[0.0], np.cumsum(rows)])
    received = np.concatenate([[0.0], np.cumsum(rows * accesses)])
    apart = np.arange(10) / 10
    rest = received[-1] - np.interp(apart * k, ends, received)
    bounds = rest * ends[-1] / ((1 - apart) * k) / ((1 - apart) * k)
    return max(1.0, float(bounds.min()))


def _steps(accesses: Array, levels: int, unit: int) -> Array:
    """Probability that a counter moves up by each number of levels between two saves."""
    mean = accesses[:, np.newaxis]
    if unit == 1:
        counts = np.arange(levels)
        return np.asarray(np.exp(counts * np.log(mean) - mean - gammaln(counts + 1)))
    # The lottery gives a level the second difference of E(x - count)+ over the unit.
    x = unit * np.arange(levels + 1.0)
    short = x * pdtr(x, mean) - mean * np.where(x > 0, pdtr(np.maximum(x - 1, 0), mean), 0.0)
    lower = np.concatenate([np.zeros_like(mean), short[:, :-2]], axis=1)
    return np.maximum(short[:, 1:] - 2 * short[:, :-1] + lower, 0.0) / unit


def _beyond(step: Array) -> Array:
    """Probability of a move beyond the last level."""
    return np.maximum(0.0, 1 - step.sum(axis=1))


def _clear(state: Array, rows: Array, k: float) -> None:
    """Clear the `k` largest counters of `state`, those beyond its levels among them; in place."""
    at_level = rows @ state
    beyond = max(0.0, rows.sum() - at_level.sum())
    above = beyond + np.concatenate([np.cumsum(at_level[:0:-1])[::-1], [0.0]])
    # A level is cleared wholly where those above and itself fit into k; level 0 needs nothing.
    share = np.clip((k - above[1:]) / np.maximum(at_level[1:], 1e-300), 0.0, 1.0)
    state[:, 1:] *= 1 - share
    state[:, 0] = 1 - state[:, 1:].sum(axis=1)
