"""Mean losses of saving by priority, from classes of rows: the same cost for any table.

Every `fraction` of an interval the `fraction` of a table's rows that a tracker selects is saved.
A row's accesses are a Poisson process, and the table is large: what the tracker selects is a
matter of each row alone, given a threshold or a rate that all rows share. Row numbers say nothing
about popularity. `tests/rows/exact.py` plays the same row by row. Where the movement of updates
counts, a row's history does: a sample of rows is played then (`cprsim.rows.sampled`).
"""

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.errors import UsageError
from cprsim.rows.change import LostChange
from cprsim.rows.counters import counted, counted_in_the_long_run
from cprsim.rows.listed import Listed, ListedBatches
from cprsim.rows.lost import Left, LostShare
from cprsim.rows.movement import Made
from cprsim.rows.names import BY_USE, OptimizerRule, TrackerName
from cprsim.rows.popularity import Popularity
from cprsim.rows.sampled import left_unsaved

TRACKERS: tuple[TrackerName, ...] = get_args(TrackerName)
#: Between two saves: lists that see more of them are taken to see rows one by one.
_MOST_BATCHES = 10_000


@dataclass(frozen=True)
class MeanField:
    """A table that is saved by priority.

    `popularity` of its rows; `updates`: accesses to it in one interval, each an update of one row;
    `fraction` of the rows that a save takes, and of the interval between saves; `subsample`: of so
    many batches SSU looks at one; `rule`: how far an update moves its row, by which SCAR chooses;
    `renewed`: rate at which ids are replaced by new ones in an interval, just after saves.

    `directions` of a row's gradients: if given, SCAR sees a random walk (`cprsim.rows.walk`), and
    otherwise rows that go one way. `batches` in one interval: whole ones between two saves, of
    which a row's step is one each and SSU's list sees each as a whole, so many `together` as one;
    without them a batch is one access. `servers`: share of its updates that each gets, if unlike.
    """

    popularity: Popularity
    updates: float
    fraction: float
    subsample: int = 2
    rule: OptimizerRule = "sgd"
    renewed: float = 0.0
    directions: int | None = None
    batches: float | None = None
    together: int = 1
    servers: tuple[float, ...] | None = None

    def lost(self, tracker: TrackerName, intervals: float) -> LostShare:
        """Expected lost share from time 0, when everything is saved, to a number of intervals."""
        saves = whole_periods(intervals, self.fraction)
        left = self._left(tracker, saves)
        on = self._on_servers(left.slope)
        return LostShare.expected(self.fraction, left.updates / self.updates, on)

    def change(self, tracker: TrackerName, intervals: float) -> LostChange:
        """Expected lost movement from time 0, when no row has had an update, to a time."""
        saves = whole_periods(intervals, self.fraction)
        after = self._change_after(tracker, saves)
        return LostChange(self.fraction, after, (self._made,))

    def long_run(self, tracker: TrackerName) -> float:
        """Mean lost share relative to saving everything once an interval, in the long run.

        Rows that are hardly ever touched take long to get there: up to 1 / (their accesses an
        interval) intervals. `LostShare.relative` says where a job of known length is. Under
        Adagrad or on a random walk SCAR has no cycle, and where ids are renewed
        there is none either; raise `UsageError` then.
        """
        if self.renewed:
            raise UsageError("the long run of ids that are renewed isn't known; ask for intervals")
        if self._by_movement(tracker):
            how = "on a random walk" if self.directions else f"under {self.rule}"
            raise UsageError(f"scar has no long run {how}; ask for some intervals")
        return 2 * self._limit(tracker) + self.fraction

    def _left(self, tracker: TrackerName, saves: int) -> Left:
        size, k = self.popularity.size, self._k
        if k == size:
            return Left(np.zeros(saves))
        if self._is_played(tracker):
            return self._played(tracker, saves)[0]
        if tracker in ("mfu", "scar"):
            return Left(counted(self._classes, k, saves))
        if tracker == "ssu":
            return self._listed.left(saves)
        made = self.updates * self.fraction
        return Left(made * _AGES[tracker](k / size, np.arange(1, saves + 1)), slope=1.0)

    def _change_after(self, tracker: TrackerName, saves: int) -> NDArray[np.float64]:
        size, k = self.popularity.size, self._k
        if self.rule == "sgd":
            return self._left(tracker, saves).updates
        if k == size:
            return np.zeros(saves)
        if tracker in BY_USE:
            return self._played(tracker, saves)[1]
        made = self._made.until(np.arange(saves + 1) * self.fraction)
        # A row lost what was made in each of the periods that it is older than.
        age, share = np.arange(1, saves + 1), k / size
        older = (1 - share) ** age if tracker == "random" else np.maximum(0.0, 1 - share * age)
        return np.convolve(np.diff(made), older)[:saves]

    def _played(self, tracker: TrackerName, saves: int) -> tuple[Left, NDArray[np.float64]]:
        """Return the rest of a sample of rows, and its movement."""
        renewal = -math.expm1(-self.renewed * self.fraction)
        return left_unsaved(
            self.rule,
            tracker,
            self._classes,
            self._k,
            saves,
            self.subsample,
            renewal,
            self.directions,
            self._batches,
        )

    def _is_played(self, tracker: TrackerName) -> bool:
        """Return whether it is a sample of rows, since a row's history counts."""
        return self._by_movement(tracker) or (self.renewed > 0 and tracker in BY_USE)

    def _by_movement(self, tracker: TrackerName) -> bool:
        """Return whether the tracker chooses by movement, and updates differ in it."""
        return tracker == "scar" and (self.rule != "sgd" or self.directions is not None)

    def _on_servers(self, slope: float) -> tuple[float, ...] | None:
        """Share of what saves leave on each server, by how far it lies where updates go."""
        if self.servers is None:
            return None
        even = 1 / len(self.servers)
        return tuple(even + slope * (share - even) for share in self.servers)

    @property
    def _made(self) -> Made:
        return Made(self.rule, self.popularity, self.updates, self.renewed, self.fraction)

    def _limit(self, tracker: TrackerName) -> float:
        size, k = self.popularity.size, self._k
        if k == size:
            return 0.0
        if tracker in ("mfu", "scar"):
            return counted_in_the_long_run(self._classes, k) / self.updates
        if tracker == "ssu":
            return self._listed.limit() / self.updates
        return self.fraction * float(_AGES[tracker](k / size, np.array([2**53]))[0])

    @property
    def _k(self) -> int:
        """Rows that a save takes."""
        rows = self.popularity.size
        k = round(self.fraction * rows)
        if k == 0:
            raise UsageError(
                f"fraction {self.fraction:g} of {rows} rows is less than half a row; save the "
                "table whole"
            )
        return k

    @property
    def _classes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows of each class, and accesses of one of them between two saves."""
        return self.popularity.rows, self.popularity.share * (self.updates * self.fraction)

    @property
    def _batches(self) -> int | None:
        """Whole batches between two saves."""
        return None if self.batches is None else max(1, round(self.batches * self.fraction))

    @property
    def _listed(self) -> Listed | ListedBatches:
        batches = self._batches
        if batches is None or batches > _MOST_BATCHES:
            return Listed(*self._classes, self._k, self.subsample)
        return ListedBatches(*self._classes, self._k, self.subsample, batches, self.together)


def random_age(share: float, saves: NDArray[np.integer]) -> NDArray[np.float64]:
    """Mean age of a row just after each save if each takes a random `share` of the rows.

    In units of the time between saves. A row's age is i or more with probability (1 - share)^i.
    """
    kept = 1 - share
    return np.asarray(kept * (1 - kept**saves) / share)


def round_robin_age(share: float, saves: NDArray[np.integer]) -> NDArray[np.float64]:
    """Mean age of a row just after each save if they take the rows in turn, `share` at a time.

    In units of the time between saves. Age i belongs to `share` of the rows, or to what the
    younger ones left; a row that was never saved is as old as the job.
    """
    turns = np.minimum(saves, int(1 / share))  # ages below it belong to `share` of the rows
    young = share * turns * (turns - 1) / 2
    return np.asarray(young + np.maximum(0.0, 1 - share * turns) * turns)


#: Of trackers that look at nothing: mean age of a row just after each save.
_AGES = {"random": random_age, "round-robin": round_robin_age}
