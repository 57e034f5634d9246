"""MFU in the mean field: the counter of a row is the number of its updates that are not saved.

So is the change that SCAR sees, where every update changes a row equally. The state is, for each
class of rows, the probability of every count. Between saves a Poisson number is added; a save
clears all counts above a threshold, and of those at the threshold as many as it still takes.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import gammaln, pdtr

Array = NDArray[np.float64]
#: Most levels of a counter. Where the threshold may be higher a level is a span of counts, and a
#: count between two levels is a lottery between them that keeps the mean. The scatter that it adds
#: costs less than 0.1 % of the result (measured against 8,192 levels, 300 accesses a row).
LEVELS = 192
#: Levels to start with; twice as many, or twice as wide ones, whenever the threshold needs them.
_FIRST = 24
#: Levels to find about where the threshold will settle, and how far beyond it to look then.
_COARSE, _MARGIN = 96, 1.25


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
    rows = classes[0]
    counters = Counters.from_classes(classes, k, _FIRST, LEVELS)
    state = np.zeros((len(rows), counters.levels))
    state[:, 0] = 1.0
    left, threshold = np.zeros(len(rows)), 0
    after = np.empty(saves)
    for save in range(saves):
        while (moved := counters.moved(state)) is None:
            counters, state = counters.widened(classes, k, state)
            threshold = 0
        state = moved
        left, threshold = counters.clear(state, left, threshold)
        after[save] = counters.unit * (rows @ state @ np.arange(counters.levels))
    return after


def counted_in_the_long_run(classes: tuple[Array, Array], k: int) -> float:
    """Return the same after many saves, where the threshold is constant."""
    bound = _highest(*classes, k)
    highest = _MARGIN * _steady(Counters.from_classes(classes, k, bound, _COARSE))[0]
    while True:  # what the coarse levels found may be too low
        threshold, left, beyond = _steady(
            Counters.from_classes(classes, k, min(highest, bound), LEVELS)
        )
        if not beyond or highest >= bound:
            return left
        highest = 2 * max(highest, threshold)


@dataclass(frozen=True, eq=False)
class Counters:
    """Counters of rows up to a level; rows so hot that they always pass it lose nothing.

    `rows` of each class; `some`: which classes are neither so hot nor untouched; `k`: what a save
    takes of those; `step`: probability that one of their counters moves up by so many levels
    between two saves, shape (some classes, levels); `unit`: counts in a level.
    """

    rows: Array
    some: NDArray[np.bool_]
    k: float
    step: Array
    unit: int

    @classmethod
    def from_classes(cls, classes: tuple[Array, Array], k: int, highest: float, most: int) -> Self:
        """Counters up to `highest`, on so many levels at most."""
        rows, accesses = classes
        unit = 1 << max(0, math.ceil(math.log2(highest / most)))
        levels = math.ceil(highest / unit) + 1
        hot = pdtr(unit * levels, accesses) < 1e-12
        some = ~hot & (accesses > 0)
        step = _steps(accesses[some], levels, unit)
        return cls(rows, some, float(k - rows[hot].sum()), step, unit)

    @property
    def levels(self) -> int:
        """Levels, that of no count included."""
        return int(self.step.shape[1])

    def widened(self, classes: tuple[Array, Array], k: int, state: Array) -> tuple[Self, Array]:
        """Counters up to twice the level, and `state` put on them."""
        wider = type(self).from_classes(classes, k, 2 * self.unit * (self.levels - 1), LEVELS)
        if wider.unit > self.unit:  # levels in between are shared out to those above and below
            odd = state[:, 1::2] / 2
            state = state[:, ::2].copy()
            state[:, : odd.shape[1]] += odd
            state[:, 1:] += odd[:, : state.shape[1] - 1]
        return wider, np.pad(state, ((0, 0), (0, wider.levels - state.shape[1])))

    def moved(self, state: Array) -> Array | None:
        """`state` at the next save; None if more rows than it takes are beyond the last level."""
        moved = np.zeros_like(state)
        moved[:, 0] = 1.0
        # Counts beyond the last level leave the state: they will be cleared.
        counts = irfft(rfft(state[self.some], self._length) * self._spectrum, self._length)
        moved[self.some] = np.maximum(counts[:, : self.levels], 0.0)
        beyond = self._beyond(moved)
        return moved if beyond <= self.k + 1e-9 * abs(beyond) else None

    def clear(self, state: Array, left: Array, last: int) -> tuple[Array, int]:
        """Clear the largest counters, in place; give those that stay at the threshold, and it.

        `left` stayed at the threshold at the save before, which was `last`.
        """
        beyond = self._beyond(state)
        from_above = beyond + np.cumsum((self.rows @ state)[:0:-1])  # the top level first
        whole = int(np.count_nonzero(from_above <= self.k))  # levels that go as a whole
        threshold = self.levels - 1 - whole
        state[:, threshold + 1 :] = 0.0
        left = left * self._still if threshold == last else np.zeros_like(left)
        if threshold > 0:
            above = from_above[whole - 1] if whole else beyond
            left = _ties(self.rows, state[:, threshold], left, self.k - above)
            state[:, threshold] = left
        state[:, 0] = 1 - state[:, 1:].sum(axis=1)
        return left, threshold

    def _beyond(self, state: Array) -> float:
        """Rows that have left the levels."""
        return float(self.rows @ (1 - state.sum(axis=1)))

    @cached_property
    def _still(self) -> Array:
        """Probability that a row isn't accessed between two saves, by class."""
        still = np.zeros(len(self.rows))
        still[self.some] = self.step[:, 0]
        return still

    @cached_property
    def _length(self) -> int:
        return int(next_fast_len(2 * self.levels - 1, real=True))

    @cached_property
    def _spectrum(self) -> NDArray[np.complex128]:
        return np.asarray(rfft(self.step, self._length))


def _ties(rows: Array, tied: Array, left: Array, places: float) -> Array:
    """Counters at the threshold that stay if a save takes `places` of them, by class.

    It takes those first that the save before has `left` there. So does `MFU`, nearly: where it
    starts among ties moves on so that no row is favoured. Random ties would lose up to 2 % more.
    """
    fresh = np.maximum(tied - left, 0.0)
    old, new = float(rows @ left), float(rows @ fresh)
    keep_old = max(0.0, 1 - places / old) if old > 0 else 0.0
    keep_new = min(1.0, 1 - (places - old) / new) if new > 0 else 0.0
    return np.asarray(left * keep_old + fresh * max(0.0, keep_new))


def _steady(counters: Counters) -> tuple[float, float, bool]:
    """Threshold, in counts, and updates left after a save, when both have settled.

    The third says whether the threshold lies beyond the last level, so that neither is right.

    From one time that it is cleared to the next, a counter is at a level after so many saves: the
    expected numbers of these visits follow level by level, and those below the threshold don't
    depend on it.
    """
    rows, k, step, unit = counters.rows[counters.some], counters.k, counters.step, counters.unit
    levels = counters.levels
    moves = step[:, 1:].sum(axis=1) + np.maximum(0.0, 1 - step.sum(axis=1))  # any access
    reached = np.zeros(step.shape)
    reached[:, 0] = 1.0
    visits = np.empty(step.shape)
    for level in range(levels):
        if level:
            reached[:, level] = np.einsum("cl,cl->c", visits[:, :level], step[:, level:0:-1])
        visits[:, level] = reached[:, level] / moves
    cycles = np.cumsum(visits, axis=1)  # saves from one clearing to the next, by threshold - 1
    cleared = rows @ (1 / cycles)
    if cleared[0] <= k:  # all that is touched
        return 1.0, 0.0, False
    over = int(np.count_nonzero(cleared > k))
    threshold = min(over, levels - 1)
    arrive = reached[:, threshold]

    def tied(stays: float) -> Array:
        """Visits at the threshold if `stays` of fresh ties stay and, beyond 1, of those left."""
        return arrive * stays if stays <= 1 else arrive / (1 - (stays - 1) * (1 - moves))

    def surplus(stays: float) -> float:
        return float(rows @ (1 / (cycles[:, threshold - 1] + tied(stays)))) - k

    at_edge = tied(brentq(surplus, 0.0, 2.0) if surplus(2.0) < 0 else 2.0)
    below = visits[:, :threshold] @ np.arange(threshold) + threshold * at_edge
    left = float(unit * (rows @ (below / (cycles[:, threshold - 1] + at_edge))))
    return unit * threshold, left, over == levels


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
    return np.asarray(np.maximum(short[:, 1:] - 2 * short[:, :-1] + lower, 0.0) / unit)
