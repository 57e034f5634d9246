"""Popularity of the rows of an embedding table: classes of rows that are touched equally often.

Classes make the cost of a model independent of the number of rows: a billion of them, ranked by a
power law, are a few hundred classes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.rows.concentration import concentration

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
        if not 0 <= fraction <= 1:
            raise UsageError(f"fraction is {fraction:g}; it is a share of the rows, 0 to 1")
        ends = np.concatenate([[0.0], np.cumsum(self.rows)])
        accesses = np.concatenate([[0.0], np.cumsum(self.rows * self.share)])
        return float(np.interp(fraction * ends[-1], ends, accesses))

    def expand(self, dtype: type[np.floating] = np.float64) -> NDArray[np.floating]:
        """Access probability of every row, shape (size,), the most popular first."""
        return np.repeat(self.share.astype(dtype), self.rows.astype(np.int64))


def modified(popularity: Popularity, accesses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected share of the rows that are touched at least once.

    `f(n) = (1/V) sum_i (1 - (1 - p_i)^n)`, exact for n independent accesses; a row has the mean
    probability of its class, which lies within 15 % of it.

    Parameters
    ----------
    popularity
        Of the V rows.
    accesses
        Numbers n of accesses, >= 0, shape (k,).

    Returns
    -------
    NDArray
        Shares, 0 to 1, shape (k,); exactly 1 where no row can have been missed.
    """
    with np.errstate(divide="ignore"):  # a table of one row
        missed = np.maximum(np.log1p(-popularity.share), _NEVER)
    touched = -np.expm1(np.multiply.outer(accesses, missed))
    return np.asarray(touched @ popularity.rows / popularity.rows.sum())


def uniform(rows: int) -> Popularity:
    """Every row as popular as every other."""
    _check_rows(rows)
    return Popularity(np.array([float(rows)]), np.array([1.0 / rows]))


def zipf(rows: int, exponent: float) -> Popularity:
    """Popularity proportional to rank to the power -`exponent`.

    Each of the first ranks is a class; a later class has ranks up to 15 % apart and has
    their mean share. Sums over ranks are exact below rank 1,024, and by the Euler-Maclaurin
    formula with the third derivative above it: right to 1e-12.
    """
    _check_rows(rows)
    if not 0 <= exponent < math.inf:
        raise UsageError(f"exponent is {exponent:g}; a Zipf exponent is 0 (uniform) or more")
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
    `cprsim.rows.concentration`; it passes through each of them.
    """
    _check_rows(rows)
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
    if not len(values) or values[0] < 0 or values[-1] == 0:
        raise UsageError("no access is counted; counts are 0 or more, and one is positive")
    total = float(values.astype(float) @ rows)
    return _merged(rows[::-1].astype(float), values[::-1] / total)


def _check_rows(rows: int) -> None:
    if rows < 1:
        raise UsageError(f"rows is {rows}; a table has 1 or more")


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
