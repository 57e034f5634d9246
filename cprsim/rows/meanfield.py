"""Mean losses of saving by priority, from classes of rows: the same cost for any table.

Every `fraction` of an interval the `fraction` of a table's rows that a tracker selects is saved.
A row's accesses are a Poisson process, and the table is large: what the tracker selects is a
matter of each row alone, given a threshold or a rate that all rows share. Row numbers say nothing
about popularity. `tests/rows/exact.py` plays the same row by row. Where the movement of updates
counts, a row's history does: a sample of rows is played then (`cprsim.rows.sampled`).
"""

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.errors import UsageError
from cprsim.rows.counters import counted, counted_in_the_long_run
from cprsim.rows.listed import Listed, ListedBatches
from cprsim.rows.lost import Left, Lost
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

    def lost(self, tracker: TrackerName, intervals: float) -> Lost:
        """Expected lost updates from time 0 to a number of intervals."""
        left, on = self._left(tracker, whole_periods(intervals, self.fraction)), None
        if self.servers is not None:
            even = 1 / len(self.servers)
            on = tuple(even + left.slope * (share - even) for share in self.servers)
        return Lost(self.fraction, left.updates / self.updates, left=on)

    def change(self, tracker: TrackerName, intervals: float) -> Lost:
        """Expected lost movement under Adagrad from time 0 to a number of intervals.

        Of trackers that choose rows by their use.
        """
        saves = whole_periods(intervals, self.fraction)
        made = Made(self.popularity, self.updates, self.renewed, self.fraction)
        whole = self.k == self.popularity.size
        after = np.zeros(saves) if whole else left_unsaved(self, tracker, saves)[1]
        return Lost(self.fraction, after, (made,))

    def long_run(self, tracker: TrackerName) -> float:
        """Mean lost share relative to saving everything once an interval, in the long run.

        Of plain SGD, ids that stay, and batches of one access. Rows that are hardly ever touched
        take long to get there: up to 1 / (their accesses an interval) intervals. `Lost.relative`
        says where a job of known length is.
        """
        size, k = self.popularity.size, self.k
        if k == size:
            left = 0.0
        elif tracker in ("mfu", "scar"):
            left = counted_in_the_long_run(self.classes, k) / self.updates
        elif tracker == "ssu":
            left = Listed(*self.classes, k, self.subsample).limit() / self.updates
        else:
            left = self.fraction * float(_AGES[tracker](k / size, np.array([2**53]))[0])
        return 2 * left + self.fraction

    def _left(self, tracker: TrackerName, saves: int) -> Left:
        size, k = self.popularity.size, self.k
        if k == size:
            return Left(np.zeros(saves))
        by_movement = tracker == "scar" and (self.rule != "sgd" or self.directions is not None)
        if by_movement or (self.renewed > 0 and tracker in BY_USE):  # a row's history counts
            return left_unsaved(self, tracker, saves)[0]
        if tracker in ("mfu", "scar"):
            return Left(counted(self.classes, k, saves))
        if tracker == "ssu":
            batches = self.batches_a_save
            one = (*self.classes, k, self.subsample)
            if batches is None or batches > _MOST_BATCHES:
                return Listed(*one).left(saves)
            return ListedBatches(*one, batches, self.together).left(saves)
        made = self.updates * self.fraction
        return Left(made * _AGES[tracker](k / size, np.arange(1, saves + 1)), slope=1.0)

    @property
    def k(self) -> int:
        """Rows that a save takes; `UsageError` where they are less than half a row."""
        rows = self.popularity.size
        k = round(self.fraction * rows)
        if k == 0:
            raise UsageError(
                f"fraction {self.fraction:g} of {rows} rows is less than half a row; save the "
                "table whole"
            )
        return k

    @property
    def classes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows of each class, and accesses of one of them between two saves."""
        return self.popularity.rows, self.popularity.share * (self.updates * self.fraction)

    @property
    def batches_a_save(self) -> int | None:
        """Whole batches between two saves."""
        return None if self.batches is None else max(1, round(self.batches * self.fraction))


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
