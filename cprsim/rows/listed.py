"""SSU in the mean field: a list of rows that some batches accessed, which evicts at random."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from cprsim.rows.lost import Left, slope

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListedBatches:
    """Do the same as `cprsim.rows.listed.Listed`, batch by batch: a list sees its rows together.

    `rows` of each class and `accesses` of one row between two saves, shape (classes,), in so many
    `batches`. The first of `period` batches is looked at, whenever saves come; of these, so many go
    on the list `together` as if they were one, but for the last before a save.

    Rows of a batch that are off the list go on it in random order. Once it is full, each takes the
    place of a random row, maybe of one of the same batch, which isn't back before the next batch
    that is looked at. So a list that is shorter than a batch misses hot rows, too.
    """

    rows: Array
    accesses: Array
    places: int
    period: int
    batches: int
    together: int = 1

    def left(self, saves: int) -> Left:
        """Expected updates not saved just after each of `saves` saves."""
        updates = np.empty(saves)
        left, sum_left = (np.zeros_like(self.accesses) for _ in range(2))
        for save in range(saves):
            on, missed = self._at_save(save)
            left = left * (1 - on) + missed
            updates[save] = self.rows @ left
            sum_left += left
        return Left(updates, slope(self.rows, self.accesses, sum_left))

    def _at_save(self, save: int) -> tuple[Array, Array]:
        """Probability of being on the list, and updates that it misses, of a save from 0 on."""
        start, end = (-(-number * self.batches // self.period) for number in (save, save + 1))
        if end - start not in self._known:
            self._known[end - start] = self._of(end - start)
        return self._known[end - start]

    @cached_property
    def _known(self) -> dict[int, tuple[Array, Array]]:
        """By how many batches are looked at before a save; that is a number or one more."""
        return {}

    def _of(self, looked_at: int) -> tuple[Array, Array]:
        """Probability of being on the list, and updates since the last save that it misses."""
        each = self.accesses / self.batches
        on, seen_on, seen_off = (np.zeros_like(each) for _ in range(3))
        length = 0.0
        for first in range(0, looked_at, self.together):
            came = min(self.together, looked_at - first) * each
            used = -np.expm1(-came)
            new = float(self.rows @ ((1 - on) * used))
            free = min(new, self.places - length)
            stays = (1 - 1 / self.places) ** (new - free)  # evicted by none of the others
            gets_on = (free * stays + self.places * (1 - stays)) / new if new else 0.0
            seen_on, seen_off = (
                stays * (seen_on + on * came) + gets_on * (seen_off * used + (1 - on) * came),
                (1 - stays) * (seen_on + on * came)
                + seen_off * (1 - used * gets_on)
                + (1 - on) * came * (1 - gets_on),
            )
            on = on * stays + (1 - on) * used * gets_on
            length += free
        # What the list doesn't look at goes with whoever is off it.
        return on, seen_off + (self.batches - looked_at) * each * (1 - on)


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of `places` rows, empty after each save, and what it leaves of the updates.

    `rows` of each class and `accesses` of one row between two saves, shape (classes,). One batch
    of `period` is looked at. A row off the list gets on it by its next such access; once the list
    is full, each that comes evicts a random one. A save takes all that are on it.

    Between saves every row has a probability of being on the list, and its accesses are more than
    usual if it is on it, fewer if not. Both follow a linear differential equation, given the rate
    of evictions; that rate keeps the list full. Batches are taken to be small compared with the
    list: a hot row that a batch evicts is back with the next access seen, not with the next batch.
    (Batches of an eighth of the list lose 3 % more on `dlrm-production`, row by row.)
    """

    rows: Array
    accesses: Array
    places: int
    period: int

    def left(self, saves: int) -> Left:
        """Expected updates not saved just after each of `saves` saves."""
        on, added = self._at_a_save
        number = np.arange(1, saves + 1)[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.where(on > 0, -np.expm1(number * np.log1p(-on)) / on, number)
        of_classes = sums * added
        return Left(
            np.asarray(of_classes @ self.rows),
            slope(self.rows, self.accesses, of_classes.sum(axis=0)),
        )

    def limit(self) -> float:
        """The updates after many saves."""
        on, added = self._at_a_save
        touched = on > 0
        return float((added[touched] / on[touched]) @ self.rows[touched])

    def kept(self, times: Array) -> Array:
        """Probability that a row which the list saw last at a time is on it at the save.

        Times run from 0, the last save, to 1, the next; any shape.
        """
        at, evictions = self._filled[2]
        return np.asarray(np.exp(np.interp(times, at, evictions) - evictions[-1]))

    @cached_property
    def _filled(self) -> tuple[Array, Array, tuple[Array, Array]]:
        return _lists(self.rows, self.accesses / self.period, self.places)

    @cached_property
    def _at_a_save(self) -> tuple[Array, Array]:
        """Probability of being on the list, and updates since the last save that it misses."""
        seen = self.accesses / self.period
        on, missed, _ = self._filled
        # What the list doesn't look at goes with whoever is off it.
        return on, missed + (self.accesses - seen) * (1 - on)


def _lists(rows: Array, seen: Array, places: int) -> tuple[Array, Array, tuple[Array, Array]]:
    """Probability of being on the list at the save, and expected accesses seen if off it, else 0.

    Time runs from 0 to 1 between two saves; `seen` accesses of a row come in it. The third are
    times, and how often each row on the list is expected to have been evicted until then.
    """

    def surplus(time: float) -> float:
        return float(rows @ -np.expm1(-seen * time)) - places

    if surplus(1.0) <= 0:
        return -np.expm1(-seen), np.zeros_like(seen), (np.array([0.0, 1.0]), np.zeros(2))
    time = brentq(surplus, 0.0, 1.0, xtol=1e-300, rtol=1e-13)
    on = -np.expm1(-seen * time)
    missed = np.zeros_like(seen)
    rate = float(rows @ (seen * (1 - on))) / places
    step = 0.05 / rate
    at, evictions = [0.0, time], [0.0, 0.0]
    while time < 1:
        step = min(step, 1 - time)
        last, rate = rate, _eviction_rate(rows, seen, on, places, step, rate)
        fade = np.exp(-(seen + rate) * step)
        # a' = rate (seen t - a) - seen a has this solution, and what differs from it fades.
        steady = rate * seen / (seen + rate)
        missed -= steady * (time - 1 / (seen + rate))
        time = 1.0 if step == 1 - time else time + step
        missed = missed * fade + steady * (time - 1 / (seen + rate))
        on = seen / (seen + rate) * (1 - fade) + on * fade
        at.append(time)
        evictions.append(evictions[-1] + rate * step)
        if abs(rate / last - 1) < 0.05:
            step *= 1.5
    return on, np.maximum(missed, 0.0), (np.array(at), np.array(evictions))


def _eviction_rate(
    rows: Array, seen: Array, on: Array, places: int, step: float, last: float
) -> float:
    """The rate at which each row on the list is evicted that keeps it full over a step."""

    def surplus(rate: float) -> float:
        fade = np.exp(-(seen + rate) * step)
        return float(rows @ (seen / (seen + rate) * (1 - fade) + on * fade)) - places

    low, high = last / 2, last
    while surplus(high) > 0:
        high *= 2
    while surplus(low) < 0:
        low /= 2
    return float(brentq(surplus, low, high, rtol=1e-9))
