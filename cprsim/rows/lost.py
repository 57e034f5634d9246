"""Updates that a failure would lose, as training continues between saves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.errors import UsageError


class Left(NamedTuple):
    """Updates that are not saved just after each save, shape (saves,).

    `slope`: how far they lie where all updates go, see `slope`.
    """

    updates: NDArray[np.float64]
    slope: float = 0.0


@dataclass(frozen=True, eq=False)
class LostShare:
    """Updates that a failure at a time would lose, in units of those made in one interval.

    Time counts training, in intervals; everything is saved at time 0. Save j, from 1, comes at
    j x `spacing`. `before` and `after` hold what a failure just before and after each save loses,
    shape (saves,). In between the loss grows by 1 an interval: every update is not yet saved.
    `left`: share of what saves leave that is on each server; alike on all if None.
    """

    spacing: float
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    left: tuple[float, ...] | None = None

    @classmethod
    def expected(
        cls, spacing: float, after: NDArray[np.float64], left: tuple[float, ...] | None = None
    ) -> Self:
        """From what is expected to be left after each save alone."""
        return cls(spacing, np.concatenate([[0.0], after])[:-1] + spacing, after, left)

    @classmethod
    def together(cls, parts: Sequence[Self], updates: Sequence[float]) -> Self:
        """Several tables as one; `updates` of each in an interval, in any unit."""
        weights = np.asarray(updates, float) / math.fsum(updates)
        return cls(
            parts[0].spacing,
            weights @ np.array([part.before for part in parts]),
            weights @ np.array([part.after for part in parts]),
            _left_together(parts, weights),
        )

    def average(self, intervals: float) -> float:
        """Mean lost share of a failure at a uniform time from 0 to `intervals`."""
        done = saves_until(intervals, self.spacing, len(self.after))
        rest = max(0.0, intervals - done * self.spacing)
        left = self.after[done - 1] if done else 0.0
        whole = self._integral[done]
        return float((whole + rest * (left + rest / 2)) / intervals)

    def relative(self, intervals: float) -> float:
        """The same, relative to saving everything once an interval (CPR-vanilla)."""
        return self.average(intervals) / vanilla(intervals)

    @cached_property
    def _integral(self) -> NDArray[np.float64]:
        """Return the means of the lost share, from 0 to each save; 0 first."""
        starts = np.concatenate([[0.0], self.after])[:-1]
        return np.concatenate([[0.0], np.cumsum(self.spacing * (starts + self.before) / 2)])


def saves_until(intervals: float, spacing: float, saves: int) -> int:
    """Return how many of so many `saves` there are until a time, in intervals.

    Raises `UsageError` where that lies beyond them.
    """
    done = whole_periods(intervals, spacing)
    if not intervals > 0 or done > saves:
        last = (saves + 1) * spacing
        raise UsageError(f"intervals is {intervals:g}; {saves} saves reach {last:g}")
    return done


def _left_together(
    parts: Sequence[LostShare], weights: NDArray[np.float64]
) -> tuple[float, ...] | None:
    servers = max(len(part.left or ()) for part in parts)
    left = weights * np.array([part.after.sum() for part in parts])
    if not servers or not left.any():
        return None
    each = [(1 / servers,) * servers if part.left is None else part.left for part in parts]
    return tuple((left @ np.array(each) / left.sum()).tolist())


def slope(
    rows: NDArray[np.float64], accesses: NDArray[np.float64], left: NDArray[np.float64]
) -> float:
    """Return how far the rest lies where updates fall: 1 in proportion, 0 on rows hardly accessed.

    The regression of what is left of a row on its `accesses`, both relative to their means: a
    server that has a share s of the updates, by rows that chance dealt to it, is expected to have
    1 / servers + slope x (s - 1 / servers) of what is left. `rows` of each class, `left` of one
    row, all of shape (classes,); from 0 to 1.
    """
    sum_left, squares = float(rows @ left), float(rows @ accesses**2)
    if sum_left == 0.0 or squares == 0.0:
        return 0.0
    found = float(rows @ (accesses * left)) / sum_left * float(rows @ accesses) / squares
    return min(max(found, 0.0), 1.0)


def vanilla(intervals: float) -> float:
    """Mean lost share up to a time if all is saved once an interval: 1/2 over whole intervals."""
    whole = whole_periods(intervals, 1.0)
    return (whole + (intervals - whole) ** 2) / 2 / intervals
