"""Movement of a row by updates: all alike under SGD, less and less under Adagrad.

Adagrad divides a step by the root of the sum of the squares of all gradients of its row so far. Of
gradients that are alike, the k-th update of a row moves it by 1 / sqrt(k) of the first (Duchi,
Hazan and Singer, JMLR 2011). Movement is counted in first updates: under SGD in updates.
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cprsim.rows.names import OptimizerRule
from cprsim.rows.popularity import Popularity

Array = NDArray[np.float64]
#: Sums up to here are looked up, later ones taken from Euler and Maclaurin, right to 1e-12.
_LOOKED_UP = 256
#: Riemann's zeta at 1/2 and -1/2: the constants of those two sums.
_ZETA, _ZETA_OF_ROOTS = -1.4603545088095868, -0.2078862249773546
#: Expected accesses up to which an expectation is summed count by count; beyond, seven Gaussian
#: points that have the skewness of Poisson's law are right to 1e-6.
_SUMMED = 64.0
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


def moved(rule: OptimizerRule, updates: NDArray[Any]) -> Array:
    """Return how far so many updates have moved a row, in first updates; of any shape."""
    if rule == "sgd":
        return np.asarray(updates, dtype=np.float64)
    updates = np.asarray(updates)
    result = np.take(_first_sums()[0], np.minimum(updates, _LOOKED_UP))
    many = updates > _LOOKED_UP
    if many.any():
        result[many] = _late_sum(updates[many].astype(np.float64))
    return np.asarray(result)


@dataclass(frozen=True)
class Steady:
    """Updates of rows, all alike: as many in each interval, in any unit."""

    updates: float

    def until(self, times: ArrayLike) -> Array:
        """Updates until each of the times, in intervals, shape (k,)."""
        return self.updates * np.atleast_1d(np.asarray(times, dtype=np.float64))

    def area(self, time: float) -> float:
        """Integral of the updates until then, from time 0 to `time`."""
        return self.updates * time * time / 2


@dataclass(frozen=True, eq=False)
class Made:
    """Expected movement of all rows of a table under Adagrad from time 0, when none had an update.

    `popularity` of the rows; `updates` of all of them in one interval; times are in intervals.
    `renewed`: rate at which ids are replaced by new ones, each `spacing`; movement continues evenly
    between these times then.
    """

    popularity: Popularity
    updates: float
    renewed: float = 0.0
    spacing: float = 1.0

    def until(self, times: ArrayLike) -> Array:
        """Movement made until each of the times, shape (k,), in first updates."""
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if self.renewed:
            return np.asarray(np.interp(at, *self._grid(float(at.max()))))
        return np.asarray(_mean(0, np.multiply.outer(at, self._rates)) @ self.popularity.rows)

    def area(self, time: float) -> float:
        """Integral of what was made until then, from time 0 to `time`."""
        if self.renewed:
            renewals, made = self._grid(time)
            times = np.append(renewals[renewals < time], time)
            return float(np.trapezoid(np.interp(times, renewals, made), times))
        touched = self._rates > 0
        areas = _mean(1, self._rates[touched] * time) / self._rates[touched]
        return float(areas @ self.popularity.rows[touched])

    def _grid(self, time: float) -> tuple[Array, Array]:
        """Times of renewal until after `time`, and movement made until each."""
        times = np.arange(math.ceil(time / self.spacing) + 1) * self.spacing
        of_age = np.diff(replace(self, renewed=0.0).until(times))
        stays = math.exp(-self.renewed * self.spacing) ** np.arange(len(of_age))
        # Ids that came i renewals ago; the oldest are those that were there from the start.
        came = np.cumsum(stays * of_age) * (1 - math.exp(-self.renewed * self.spacing))
        made = np.concatenate([[0.0], came])[:-1] + stays * of_age
        return np.asarray(times, dtype=np.float64), np.concatenate([[0.0], np.cumsum(made)])

    @property
    def _rates(self) -> Array:
        return self.popularity.share * self.updates


def _mean(which: int, accesses: Array) -> Array:
    """Expected sum after a Poisson number of updates, by its mean; any shape.

    0: of 1 / sqrt(k) over the updates. 1: of that over the counts below theirs. Since the time
    that a Poisson process spends at k or more until it has the mean m is E max(0, count - k), the
    second is the integral of the first.
    """
    mean, result = accesses.ravel(), np.zeros(accesses.size)
    few = mean <= _SUMMED
    count = np.arange(_LOOKED_UP)
    sums = _first_sums()[which][:_LOOKED_UP]
    for each in np.array_split(np.flatnonzero(few & (mean > 0)), 1 + mean.size // 10_000):
        result[each] = _poisson(mean[each], count) @ sums
    if not few.all():
        some = mean[~few, np.newaxis]
        at = some + np.sqrt(some) * _POINTS + (_POINTS**2 - 1) / 6
        late = _late_sum(at) if which == 0 else _late_sum_of_sums(at)
        result[~few] = late @ _WEIGHTS / _WEIGHTS.sum()
    return result.reshape(accesses.shape)


def _poisson(mean: Array, count: NDArray[np.int64]) -> Array:
    logs = np.concatenate([[0.0], np.cumsum(np.log(count[1:]))])
    return np.asarray(np.exp(np.multiply.outer(np.log(mean), count) - mean[:, np.newaxis] - logs))


@cache
def _first_sums() -> tuple[Array, Array]:
    """Return sums of 1 / sqrt(k), for k up to 0, 1, 2, ...; and of those for all counts below."""
    sums = np.concatenate([[0.0], np.cumsum(np.arange(1, _LOOKED_UP + 1) ** -0.5)])
    return sums, np.concatenate([[0.0], np.cumsum(sums)[:-1]])


def _late_sum(n: Array) -> Array:
    root = np.sqrt(n)
    return np.asarray(2 * root + _ZETA + 1 / (2 * root) - 1 / (24 * n * root))


def _late_sum_of_sums(n: Array) -> Array:
    root = np.sqrt(n)
    roots = n * root * 2 / 3 + root / 2 + _ZETA_OF_ROOTS + 1 / (24 * root)  # of sqrt(k), k <= n
    return n * _late_sum(n) - roots
