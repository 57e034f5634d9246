"""The mean field by a sample of rows, where what is lost depends on a row's whole history.

How far an update moves its row depends on how many came before. Of a class of equally popular rows
a few represent all, each with a weight, and are played save by save: which are saved is decided by
a threshold or by evictions that all rows share, as in `cprsim.rows.meanfield`. Their accesses are
stratified, so that a class has as many as it should; what scatter is left is of the order of 0.5 %
of the result, and always the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, pdtr

from cprsim.rows.listed import Listed
from cprsim.rows.lost import Left, slope
from cprsim.rows.movement import moved
from cprsim.rows.names import TrackerName
from cprsim.rows.trackers.ranking import rotating_start
from cprsim.rows.walk import Walk, batches_met

if TYPE_CHECKING:
    from cprsim.rows.meanfield import MeanField

Array = NDArray[np.float64]
#: Rows of the sample times saves, and bounds of the former: many saves even out what few rows do.
_PLAYED, _FEWEST, _MOST = 1 << 22, 1 << 13, 1 << 15
_SEED = 0
#: Expected accesses from which their law is a normal one, with the skewness of Poisson's.
_MANY = 1000.0


def left_unsaved(field: "MeanField", tracker: TrackerName, saves: int) -> tuple[Left, Array]:
    """Expected updates and movement, in first updates, not saved just after each of `saves` saves.

    They follow the one of everything, when no row has had an update. Just after each, the ids that
    are renewed go; as many new ones take rows that are free.

    Returns
    -------
    tuple
        Updates, and their movement, shape (saves,).
    """
    k, renewal = field.k, -math.expm1(-field.renewed * field.fraction)
    rows, accesses = _in_use(*field.classes, with_free=renewal > 0)
    directions = field.directions if tracker == "scar" else None
    # Chance alone mixes rows that walk, and their steps take longer.
    most = _MOST if directions is None else _FEWEST
    each = max(1, min(max(_PLAYED // max(saves, 1), _FEWEST), most) // len(rows))
    rng = np.random.default_rng(_SEED)
    draw = Stratified(accesses, each, rng)
    weight = np.repeat(rows / each, each)
    choose: Callable[[_Seen], NDArray[np.intp]] = _Largest(weight, k, rng, tracker == "scar")
    if tracker == "ssu":
        choose = _OnTheList(Listed(*field.classes, k, field.subsample), rng)
    updates, change = np.empty(saves), np.empty(saves)
    # Updates of the id that has the row; updates and movement of the row that are not saved.
    count, unsaved = (np.zeros(weight.size, dtype=np.int64) for _ in range(2))
    unsaved_change, place, left = (np.zeros(weight.size) for _ in range(3))
    walk = None
    if directions is not None:
        walk = Walk(field.rule, weight.size, directions, np.random.default_rng((_SEED, 1)))
    renew = _Renewal(weight, np.repeat(accesses > 0, each), renewal, rng)
    for save in range(saves):
        if renewal and save:
            new, state = renew()
            unsaved, unsaved_change = unsaved[state], unsaved_change[state]
            count[new], place[new] = 0, 0.0
            if walk is not None:
                walk.renew(new, state)
        came = draw.counts()
        count += came
        last, place = place, moved(field.rule, count)
        unsaved += came
        unsaved_change += place - last
        score = unsaved_change
        if walk is not None:
            walk.go(batches_met(came, field.batches_a_save, rng))
            score = walk.distance
        chosen = choose(_Seen(came, unsaved, score))
        if walk is not None:
            walk.save(chosen)
        unsaved[chosen], unsaved_change[chosen] = 0, 0.0
        left += unsaved
        # Products of such a size are no work for several threads, which `@` would start.
        updates[save] = (weight * unsaved).sum()
        change[save] = (weight * unsaved_change).sum()
    return Left(updates, slope(weight, np.repeat(accesses, each), left)), change


def _in_use(rows: Array, accesses: Array, with_free: bool) -> tuple[Array, Array]:
    """Classes of rows that are accessed; and, where they matter, those that are not, in several.

    A quarter as many classes: ids go there from all the others, and leave unlike states behind.
    """
    used = accesses > 0
    free = float(rows[~used].sum())
    if not with_free or free == 0:
        return rows[used], accesses[used]
    parts = 1 + int(np.count_nonzero(used)) // 4
    return np.append(rows[used], [free / parts] * parts), np.append(accesses[used], [0.0] * parts)


@dataclass(frozen=True, eq=False)
class _Renewal:
    """Lets a `share` of the ids go, and new ones come into rows at random.

    The state of a row stays with the row: a new id has the state of a row that was free, and a row
    that becomes free keeps that of the id that went.
    """

    weight: Array
    used: NDArray[np.bool_]
    share: float
    rng: np.random.Generator

    def __call__(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the sample that have new ids; and, for all, whose state they have from now on."""
        state = np.arange(self.weight.size)
        gone = np.flatnonzero(self.used & (self.rng.random(state.size) < self.share))
        free = np.flatnonzero(~self.used)
        going, room = self.weight[gone].sum(), self.weight[free].sum()
        if not gone.size:
            return gone, state
        if room < going:  # all that are free or become so are dealt out
            mixed = np.append(free, gone)
            state[mixed] = self._some(mixed, mixed.size)
            return gone, state
        state[gone] = self._some(free, gone.size)
        taken = free[self.rng.random(free.size) < going / room]
        state[taken] = self._some(gone, taken.size)
        return gone, state

    def _some(self, rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
        """So many of the rows, by their weights, evenly spread and in random order."""
        ends = np.cumsum(self.weight[rows])
        at = (np.arange(count) + self.rng.random()) / max(count, 1) * ends[-1]
        return self.rng.permutation(rows[np.minimum(np.searchsorted(ends, at), rows.size - 1)])


class _Seen(NamedTuple):
    """For each row of the sample: accesses since the last save, updates not saved, and change.

    `change`: how far the row is from where it was saved, as SCAR sees it.
    """

    came: NDArray[np.int64]
    updates: NDArray[np.int64]
    change: Array


class _Largest:
    """MFU and SCAR: the k rows with the largest score, ties in turn as `ranking.largest` does."""

    def __init__(self, weight: Array, k: int, rng: np.random.Generator, by_change: bool) -> None:
        self._weight, self._k, self._rng, self._by_change = weight, k, rng, by_change
        self._position = rng.random(weight.size)
        self._saves = 0

    def __call__(self, seen: _Seen) -> NDArray[np.intp]:
        scores = seen.change if self._by_change else seen.updates
        turn = rotating_start(self._saves, 1 << 32) / (1 << 32)
        self._saves += 1
        some = np.flatnonzero(scores)
        order = some[np.argsort(scores[some])[::-1]]
        ends = np.cumsum(self._weight[order])
        if not order.size or ends[-1] <= self._k:
            return order
        least = scores[order[np.searchsorted(ends, self._k)]]
        above = some[scores[some] > least]
        ties = some[scores[some] == least]
        ties = ties[np.argsort((self._position[ties] - turn) % 1)]
        rest = self._k - float(self._weight[above].sum())
        ends = np.cumsum(self._weight[ties])
        whole = min(int(np.searchsorted(ends, rest, side="right")), ties.size - 1)
        # The row at the edge represents some that are saved and some that are not.
        part = 1 - (ends[whole] - rest) / self._weight[ties[whole]]
        return np.concatenate([above, ties[: whole + bool(self._rng.random() < part)]])


class _OnTheList:
    """SSU: rows that the list has seen and not evicted since."""

    def __init__(self, listed: Listed, rng: np.random.Generator) -> None:
        self._listed, self._rng = listed, rng

    def __call__(self, seen: _Seen) -> NDArray[np.intp]:
        looked_at = self._rng.binomial(seen.came, 1 / self._listed.period)
        some = np.flatnonzero(looked_at)
        last = self._rng.random(some.size) ** (1 / looked_at[some])  # the latest of so many times
        return some[self._rng.random(some.size) < self._listed.kept(last)]


@dataclass(frozen=True, eq=False)
class Stratified:
    """Poisson numbers for `each` rows of every class, stratified within it and dealt out again.

    `accesses`: the mean of a row of each class, shape (classes,).
    """

    accesses: Array
    each: int
    rng: np.random.Generator

    def counts(self) -> NDArray[np.int64]:
        """Return the accesses between two saves, class by class; shape (classes x each,)."""
        at = (np.arange(self.each) + self.rng.random((self.accesses.size, 1))) / self.each
        counts = np.empty(at.shape, dtype=np.int64)
        many = self.accesses > _MANY
        score = ndtri(np.clip(at[many], 1e-300, 1 - 1e-16))
        mean = self.accesses[many, np.newaxis]
        counts[many] = np.rint(mean + np.sqrt(mean) * score + (score**2 - 1) / 6)
        laws, starts = self._laws
        few = at[~many]
        keys = np.arange(len(few))[:, np.newaxis] + np.minimum(few, 1 - 1e-12)
        counts[~many] = np.searchsorted(laws, keys, side="right") - starts[:, np.newaxis]
        return np.asarray(self.rng.permuted(counts, axis=1).ravel())

    @cached_property
    def _laws(self) -> tuple[Array, NDArray[np.int64]]:
        """Distribution functions one after the other, the i-th raised by i: one search serves all.

        And for each where it would have its 0.
        """
        pieces, starts, at = [], [], 0
        for number, mean in enumerate(self.accesses[self.accesses <= _MANY]):
            spread = 8 * np.sqrt(mean)
            first, end = max(0, int(mean - spread)), int(mean + spread + 20)
            law = np.minimum(pdtr(np.arange(first, end), mean), 1 - 1e-12)
            law[-1] = 1.0  # nothing beyond
            pieces.append(number + law)
            starts.append(at - first)
            at += len(law)
        return np.concatenate([*pieces, np.zeros(0)]), np.array(starts, dtype=np.int64)
