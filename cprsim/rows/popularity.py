"""Popularity of the rows of an embedding table: classes of rows that are touched equally often.

Classes make the cost of a model independent of the number of rows: a billion of them, ranked by a
power law, are a few hundred classes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError

Array = NDArray[np.float64]


def concentration(points: Sequence[tuple[float, float]]) -> Callable[[Array], Array]:
    """The share of accesses that the most popular rows get, as a function of their share.

    The curve passes through (0, 0), the points and (1, 1), is concave, and has no kink but where a
    straight piece needs one. Its slope (popularity relative to the mean row's) at a point is the
    geometric mean of the slopes of the chords that meet there. From the top to the first point it
    is a power of the share of rows, as in Zipf's law. Between two points popularity falls from
    slope to slope as `(1 - u)^g`, where g meets the second point; on the last piece it
    falls to the chord's slope squared over the slope where it starts. Before rows that nobody
    touches it falls to half the chord's slope.

    Parameters
    ----------
    points
        Shares of rows and of accesses, 0 to 1, ascending and concave; (0, 0) and (1, 1) may be
        left out.

    Raises
    ------
    UsageError
        If there is none, they are out of range or order, or would have less popular rows first.
    """
    x, y = _complete(points)
    chords = np.diff(y) / np.diff(x)
    for i in np.flatnonzero(np.diff(chords) > 1e-9 * chords[:-1]):
        raise UsageError(
            f"the curve bends upwards at {x[i + 1]:g}, {y[i + 1]:g}: the rows after it would be "
            f"more popular than those before; count the most popular rows first"
        )
    inner = np.where(chords[1:] > 0, np.sqrt(chords[:-1] * chords[1:]), chords[:-1] / 2)
    last = chords[-1] ** 2 / inner[-1] if inner[-1] > 0 else 0.0
    slopes = np.concatenate([[math.nan], inner, [last]])

    def served(share: Array) -> Array:
        piece = np.clip(np.searchsorted(x, share, side="right") - 1, 0, len(chords) - 1)
        result = np.empty(len(share))
        for i in range(len(chords)):
            inside = piece == i
            u = (share[inside] - x[i]) / (x[i + 1] - x[i])
            shape = u
            if i == 0:
                shape = u ** (slopes[1] / chords[0])  # whose slope at 1 is the exponent
            elif chords[i] > 0:
                shape = _fall(slopes[i] / chords[i], slopes[i + 1] / chords[i], u)
            result[inside] = y[i] + (y[i + 1] - y[i]) * shape
        return result

    return served


def _fall(start: float, end: float, u: Array) -> Array:
    """Integral from 0 to 1 of a slope that falls from `start` >= 1 to `end` <= 1 with mean 1."""
    if not end < 1 < start:  # a straight piece
        return u
    power = (start - end) / (1 - end)
    return np.asarray(end * u + (1 - end) * (1 - (1 - u) ** power))


def _complete(points: Sequence[tuple[float, float]]) -> tuple[Array, Array]:
    """Points with both ends, or the fault of them."""
    inner = [point for point in map(tuple, points) if point not in ((0.0, 0.0), (1.0, 1.0))]
    if not inner:
        raise UsageError("the curve has no point; give one or more, e.g. (0.01, 0.46)")
    for rows, accesses in inner:
        if not (0 < rows < 1 and 0 <= accesses <= 1):
            raise UsageError(
                f"the point {rows:g}, {accesses:g} is out of range: shares go from 0 to 1"
            )
    ends = np.array([(0.0, 0.0), *inner, (1.0, 1.0)])
    for before, after in pairwise(ends):
        if after[0] <= before[0] or after[1] < before[1]:
            raise UsageError(
                f"the point {after[0]:g}, {after[1]:g} comes after {before[0]:g}, {before[1]:g}: "
                f"both shares ascend"
            )
    return ends[:, 0], ends[:, 1]


#: A class spans ranks, or shares, up to this factor apart; 1e9 rows make about 150 classes. That
#: spreads rates within a class by 4 % (its width over the root of 12), much less than the Poisson
#: scatter of counts near the threshold does.
CLASS_WIDTH = 1.15
#: Log of the chance to miss a row that is never missed: finite, since 0 accesses do miss it.
_NEVER = -1e9
#: Ranks below this are added up one by one, those above by Euler and Maclaurin.
_EXACT = 1024


@dataclass(frozen=True, eq=False)
class Popularity:
    """Rows in classes of equal access probability, the most popular first.

    `rows`: number of rows in each class, shape (k,). `share`: probability that one access touches
    one given row of the class, shape (k,), descending; the sum of rows x share is 1.
    """

    rows: NDArray[np.float64]
    share: NDArray[np.float64]

    @cached_property
    def size(self) -> int:
        """Number of rows of all classes."""
        return round(float(self.rows.sum()))

    def top_share(self, fraction: float) -> float:
        """Share of accesses that the most popular `fraction` of the rows receives."""
        ends = np.concatenate([[0.0], np.cumsum(self.rows)])
        accesses = np.concatenate([[0.0], np.cumsum(self.rows * self.share)])
        return float(np.interp(fraction * ends[-1], ends, accesses))

    def modified(self, accesses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected share of the rows that are touched at least once, shape (k,).

        `f(n) = (1/V) sum_i (1 - (1 - p_i)^n)`, exact for n independent accesses; a row has the mean
        probability of its class, which lies within 15 % of it. Exactly 1 where no row can have been
        missed. `accesses`: numbers n of accesses, >= 0, shape (k,).
        """
        with np.errstate(divide="ignore"):  # a table of one row
            missed = np.maximum(np.log1p(-self.share), _NEVER)
        touched = -np.expm1(np.multiply.outer(accesses, missed))
        return np.asarray(touched @ self.rows / self.rows.sum())


def uniform(rows: int) -> Popularity:
    """Every row as popular as every other."""
    return Popularity(np.array([float(rows)]), np.array([1.0 / rows]))


def zipf(rows: int, exponent: float) -> Popularity:
    """Popularity proportional to rank to the power -`exponent`.

    Each of the first ranks is a class; a later class has ranks up to 15 % apart and has
    their mean share. Sums over ranks are exact below rank 1,024, and by the Euler-Maclaurin
    formula with the third derivative above it: right to 1e-12.
    """
    if exponent == 0:
        return uniform(rows)
    ends = _rank_ends(rows)
    exact = np.arange(1, min(rows, _EXACT) + 1, dtype=float) ** -exponent
    total = np.concatenate([[0.0], np.cumsum(exact)])
    weights = np.empty(len(ends) - 1)
    for i, (before, last) in enumerate(pairwise(ends.tolist())):
        if last <= _EXACT:
            weights[i] = total[last] - total[before]
        else:
            first = max(before, _EXACT)
            weights[i] = total[first] - total[before] if before < _EXACT else 0.0
            weights[i] += _power_sum(first + 1, last, exponent)
    counts = np.diff(ends).astype(float)
    return Popularity(counts, weights / math.fsum(weights) / counts)


def curve(points: Sequence[tuple[float, float]], rows: int) -> Popularity:
    """Popularity with a given concentration: (share of the rows, share of accesses), ascending.

    (0, 0) and (1, 1) go without saying. How popularity runs between the points is said in
    `cprsim.rows.popularity`; it passes through each of them.
    """
    served = concentration(points)
    # A class ends at every point as well, so that its share is met to the row.
    marks = [round(share * rows) for share, _ in points]
    ends = np.unique(np.concatenate([_rank_ends(rows), np.clip(marks, 0, rows)]))
    counts = np.diff(ends).astype(float)
    shares = np.diff(served(ends / rows)) / counts
    # What rounding to whole rows, and to floats, may put out of order.
    order = np.argsort(-shares, kind="stable")
    return Popularity(counts[order], shares[order])


def counts(touched: NDArray[np.integer]) -> Popularity:
    """Popularity as counted: accesses of each row, shape (rows,); rows never touched included.

    Rows whose counts lie within 15 % of each other share a class.
    """
    values, rows = np.unique(np.asarray(touched), return_counts=True)
    total = float(values.astype(float) @ rows)
    return _merged(rows[::-1].astype(float), values[::-1] / total)


def _rank_ends(rows: int) -> NDArray[np.int64]:
    """Last ranks of the classes, from 0: every rank at first, then `CLASS_WIDTH` times the last."""
    ends = [0]
    while ends[-1] < rows:
        ends.append(min(rows, max(ends[-1] + 1, int(ends[-1] * CLASS_WIDTH))))
    return np.array(ends)


def _power_sum(first: int, last: int, exponent: float) -> float:
    """Sum of rank^-exponent over first..last, for first > 1,024, by Euler and Maclaurin."""
    if first > last:
        return 0.0
    a, b, s = float(first), float(last), exponent
    low, high = a**-s, b**-s
    log = math.log(b / a)
    from scipy.special import exprel  # noqa: PLC0415  (scipy is slow to import)

    integral = a * low * log * float(exprel((1 - s) * log))  # also right at s = 1
    slopes = s * (low / a - high / b) / 12
    bends = s * (s + 1) * (s + 2) * (low / a**3 - high / b**3) / 720
    return float(integral + (low + high) / 2 + slopes - bends)


def _merged(rows: NDArray[np.float64], share: NDArray[np.float64]) -> Popularity:
    """Classes, sorted by share, made into fewer; each merged one has its rows' mean share."""
    touched = share > 0
    level = np.full(len(share), -1)
    level[touched] = np.log(share[touched] / share[touched][-1]) / math.log(CLASS_WIDTH)
    starts = np.flatnonzero(np.diff(level, prepend=level[0] + 1))
    merged = np.add.reduceat(rows, starts)
    return Popularity(merged, np.add.reduceat(rows * share, starts) / merged)
