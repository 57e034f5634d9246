"""What saving by priority loses, played row by row with a tracker, as a trainer would use it."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.lost import Lost
from cprsim.rows.movement import Made, Steady, moved
from cprsim.rows.names import OptimizerRule
from cprsim.rows.popularity import Popularity
from cprsim.rows.trackers.contract import Tracker

#: Accesses drawn together, so that temporaries stay small.
_CHUNK = 1 << 18
# With a Python int instead, `np.add.at` leaves its fast path.
_ONE = np.int32(1)


def zipf_by_row(rows: int, exponent: float) -> Popularity:
    """Zipf without classes: each row is one of its own."""
    share = np.arange(1, rows + 1) ** -exponent
    return Popularity(np.ones(rows), share / share.sum())


def zipf_by_class(rows: int, classes: int = 80, exponent: float = 1.1) -> Popularity:
    """So many classes of equally many rows, whose popularities follow Zipf's law."""
    share = np.arange(1, classes + 1) ** -exponent
    return Popularity(np.full(classes, rows / classes), share / share.sum() / (rows / classes))


def of_each_row(popularity: Popularity) -> NDArray[np.float64]:
    """Access probability of every row, shape (size,), the most popular first."""
    return np.repeat(popularity.share, popularity.rows.astype(np.int64))


def left_by(
    tracker: Tracker,
    popularity: Popularity,
    *,
    places: int,
    batches: int,
    of: int,
    saves: int,
    rng: np.random.Generator,
    step: Callable[[NDArray[np.int64]], None] = lambda _: None,
) -> float:
    """Mean number of updates that saves of so many `places` leave.

    Between two of them come so many `batches` of so many accesses; `step` trains the rows of one,
    each given once.
    """
    each = of_each_row(popularity)
    law = np.cumsum(each)
    unsaved, left = np.zeros(each.size, dtype=np.int64), []
    for _ in range(saves):
        for _ in range(batches):
            ids = np.searchsorted(law / law[-1], rng.random(of), side="right")
            unsaved += np.bincount(ids, minlength=each.size)
            step(np.unique(ids))
            tracker.observe(ids)
        chosen = tracker.select(places)
        tracker.saved(chosen)
        unsaved[chosen] = 0
        left.append(unsaved.sum())
    return float(np.mean(left))


class LostByRow(NamedTuple):
    """What one play lost: in `updates`, each of which counts alike, and in `change`."""

    updates: Lost
    change: Lost


def play(
    popularity: Popularity,
    tracker: Tracker,
    *,
    updates: float,
    fraction: float,
    saves: int,
    seed: int,
    batch: int | None = None,
    table: NDArray[np.floating[Any]] | None = None,
    rule: OptimizerRule = "sgd",
    renewed: float = 0.0,
) -> LostByRow:
    """Updates and change that are lost with the rows that a tracker selects for each save.

    Row numbers are dealt out at random. Between saves every row is accessed a Poisson number of
    times, in random order; each access is an update of it, lost until the row is saved. A save of
    all rows needs no tracker, and takes them whatever it selects.

    With `renewed`, ids go and new ones as popular come, just after a save. A new one takes a row
    that is free at random, or one of those that become free; what was not saved of it stays so.

    `updates`: accesses expected in one interval. `fraction`: share of the rows that a save takes,
    and of the interval between saves. `batch`: accesses that the tracker observes together, 262,144
    without it, which is all the same to trackers that count. `table`: the live table that the
    tracker looks at, zeros of shape (rows,), kept at how far each row has moved. `renewed`: rate at
    which ids are replaced by new ones, in an interval.

    Lost updates are in units of `updates`, lost movement in first updates; their scatter is that
    of Poisson numbers.
    """
    rng = np.random.default_rng(seed)
    draw = _Draw(popularity, rng)
    k = round(fraction * popularity.size)
    rows_made = _Rows(rule, popularity.size)
    live, saved = rows_made.live, np.zeros(popularity.size, dtype=np.int32)
    saved_place = np.zeros(popularity.size)
    after, change = np.empty(saves), np.empty(saves)
    for save in range(saves):
        if renewed and save:
            rows_made.begin_anew(draw.renew(-math.expm1(-renewed * fraction)))
        count = int(rng.poisson(updates * fraction))
        for rows in draw.pieces(count, batch or _CHUNK):
            np.add.at(live, rows, _ONE)
            if table is not None:
                table[rows] = rows_made.place(rows)
            for start in range(0, len(rows), batch or _CHUNK):
                tracker.observe(rows[start : start + (batch or _CHUNK)])
        rows = tracker.select(k) if k < len(live) else np.arange(k)
        tracker.saved(rows)
        saved[rows], saved_place[rows] = live[rows], rows_made.place(rows)
        after[save] = (live - saved).sum(dtype=np.int64)
        change[save] = (rows_made.place(slice(None)) - saved_place).sum()
    made = Steady(updates) if rule == "sgd" else Made(popularity, updates, renewed, fraction)
    return LostByRow(Lost(fraction, after / updates), Lost(fraction, change, (made,)))


class _Rows:
    """How many updates each row has, `live`, and how far they have moved it."""

    def __init__(self, rule: OptimizerRule, size: int) -> None:
        self._rule = rule
        self.live, self._since = (np.zeros(size, dtype=np.int32) for _ in range(2))
        self._before = np.zeros(size)  # movement by ids that were there before

    def place(self, rows: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        """How far these rows have been moved."""
        by_this_id = moved(self._rule, self.live[rows] - self._since[rows])
        return np.asarray(self._before[rows] + by_this_id)

    def begin_anew(self, rows: NDArray[np.int64]) -> None:
        """From now on other ids have these rows: their first updates are to come."""
        self._before[rows] = self.place(rows)
        self._since[rows] = self.live[rows]


class _Draw:
    """Draws rows by popularity: the class that a random number falls into, and where in it."""

    def __init__(self, popularity: Popularity, rng: np.random.Generator) -> None:
        self._rng = rng
        self._order = rng.permutation(popularity.size).astype(np.uint32)
        self._share = popularity.share
        self._ends = np.cumsum(popularity.rows * popularity.share)
        self._starts = np.concatenate([[0.0], self._ends[:-1]])
        last = np.cumsum(popularity.rows).astype(np.int64)
        self._last = last - 1
        self._first = last - popularity.rows.astype(np.int64)
        self._touched = np.count_nonzero(self._share) - 1

    def renew(self, share: float) -> NDArray[np.int64]:
        """Let a random share of the ids give their places to new ones; the rows of those."""
        used = int(self._last[self._touched]) + 1
        gone = np.flatnonzero(self._rng.random(used) < share)
        old, free = self._order[gone], self._order[used:]
        pool, rest = (free, old) if len(free) >= len(gone) else (np.append(free, old), old[:0])
        dealt = self._rng.permutation(pool)
        self._order[gone] = dealt[: len(gone)]
        self._order[used:] = np.append(dealt[len(gone) :], rest)
        return np.asarray(self._order[gone], dtype=np.int64)

    def pieces(self, count: int, batch: int) -> Iterator[NDArray[np.int64]]:
        """So many rows, in pieces of whole batches but for the last."""
        size = batch * max(1, _CHUNK // batch)
        for done in range(0, count, size):
            yield self._rows(min(size, count - done))

    def _rows(self, count: int) -> NDArray[np.int64]:
        at = self._rng.random(count)
        place = np.searchsorted(self._ends, at, side="right")
        np.minimum(place, self._touched, out=place)  # the ends may add up to just below 1
        within = ((at - self._starts[place]) / self._share[place]).astype(np.int64)
        ranks = np.minimum(self._first[place] + within, self._last[place])
        return np.asarray(self._order[ranks], dtype=np.int64)
