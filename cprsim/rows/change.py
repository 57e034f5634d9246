"""Change that a failure would lose, where updates do not all move a row alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.rows.lost import saves_until
from cprsim.rows.movement import Made


@dataclass(frozen=True, eq=False)
class LostChange:
    """Movement of rows that a failure at a time would lose, in first updates.

    Time counts training, in intervals; everything is saved at time 0, when no row has had an
    update. Save j, from 1, comes at j x `spacing`, and a failure just after it loses `after`,
    shape (saves,). In between all that is `made` is not yet saved: of one table or of several.
    """

    spacing: float
    after: NDArray[np.float64]
    made: tuple[Made, ...]

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """Several tables as one, where a first update moves the rows of all of them alike."""
        after = np.sum([part.after for part in parts], axis=0)
        return cls(parts[0].spacing, after, tuple(chain.from_iterable(p.made for p in parts)))

    def average(self, intervals: float) -> float:
        """Mean movement lost by a failure at a uniform time from 0 to `intervals`."""
        done = saves_until(intervals, self.spacing, len(self.after))
        times = np.append(np.arange(done + 1) * self.spacing, intervals)
        left = np.concatenate([[0.0], self.after[:done]])
        return float(np.maximum(np.diff(times), 0) @ left) / intervals + self._unsaved(times)

    def relative(self, intervals: float) -> float:
        """The same, relative to saving everything once an interval (CPR-vanilla)."""
        whole = np.append(np.arange(whole_periods(intervals, 1.0) + 1.0), intervals)
        return self.average(intervals) / self._unsaved(whole)

    def share(self, intervals: float) -> float:
        """The same, as a share of all movement made until then."""
        return self.average(intervals) / math.fsum(m.until(intervals)[0] for m in self.made)

    def _unsaved(self, times: NDArray[np.float64]) -> float:
        """Mean movement made since the last of the times, up to the last; the first is 0."""
        until = np.sum([made.until(times[:-1]) for made in self.made], axis=0)
        area = math.fsum(made.area(float(times[-1])) for made in self.made)
        return (area - float(np.maximum(np.diff(times), 0) @ until)) / float(times[-1])
