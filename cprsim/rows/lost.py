"""Updates, or movement of rows, that a failure would lose, as training continues between saves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.errors import UsageError
from cprsim.rows.movement import Made, Steady

Array = NDArray[np.float64]


class Left(NamedTuple):
    """Updates that are not saved just after each save, shape (saves,).

    `slope`: how far they lie where all updates go, see `slope`.
    """

    updates: Array
    slope: float = 0.0


@dataclass(frozen=True, eq=False)
class Lost:
    """Updates of rows, or their movement, that a failure at a time would lose.

    Time counts training, in intervals; everything is saved at time 0, when no row has had an
    update. Save j, from 1, comes at j x `spacing`, and a failure just after it loses `after`, shape
    (saves,). In between all that is `made` is not yet saved, of one table or of several: movement
    in first updates; or updates, in units of those made in one interval, if not given. `left`:
    share of what saves leave that is on each server; alike on all if None.
    """

    spacing: float
    after: Array
    made: tuple[Made | Steady, ...] = (Steady(1.0),)
    left: tuple[float, ...] | None = None

    @classmethod
    def together(cls, parts: Sequence[Self], updates: Sequence[float]) -> Self:
        """Lost updates of several tables as one; `updates` of each in an interval, in any unit."""
        weights = np.asarray(updates, float) / math.fsum(updates)
        after = weights @ np.array([part.after for part in parts])
        return cls(parts[0].spacing, after, left=_left_together(parts, weights))

    def average(self, intervals: float) -> float:
        """Mean loss of a failure at a uniform time from 0 to `intervals`.

        Raises
        ------
        UsageError
            Where that lies beyond the saves.
        """
        done = whole_periods(intervals, self.spacing)
        if not intervals > 0 or done > len(self.after):
            last = (len(self.after) + 1) * self.spacing
            raise UsageError(f"intervals is {intervals:g}; {len(self.after)} saves reach {last:g}")
        times = np.append(np.arange(done + 1) * self.spacing, intervals)
        left = np.concatenate([[0.0], self.after[:done]])
        return float(np.maximum(np.diff(times), 0) @ left) / intervals + self._unsaved(times)

    def relative(self, intervals: float) -> float:
        """The same, relative to saving everything once an interval (CPR-vanilla)."""
        whole = np.append(np.arange(whole_periods(intervals, 1.0) + 1.0), intervals)
        return self.average(intervals) / self._unsaved(whole)

    def share(self, intervals: float) -> float:
        """The same, as a share of all that was made until then."""
        return self.average(intervals) / math.fsum(m.until(intervals)[0] for m in self.made)

    def _unsaved(self, times: Array) -> float:
        """Mean of what was made since the last of the times, up to the last; the first is 0."""
        until = np.sum([made.until(times[:-1]) for made in self.made], axis=0)
        area = math.fsum(made.area(float(times[-1])) for made in self.made)
        return (area - float(np.maximum(np.diff(times), 0) @ until)) / float(times[-1])


def _left_together(parts: Sequence[Lost], weights: Array) -> tuple[float, ...] | None:
    servers = max(len(part.left or ()) for part in parts)
    left = weights * np.array([part.after.sum() for part in parts])
    if not servers or not left.any():
        return None
    each = [(1 / servers,) * servers if part.left is None else part.left for part in parts]
    return tuple((left @ np.array(each) / left.sum()).tolist())


def slope(rows: Array, accesses: Array, left: Array) -> float:
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
