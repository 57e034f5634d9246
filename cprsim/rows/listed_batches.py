"""SSU in the mean field where few batches come between two saves, each of many rows."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.lost import Left, slope

Array = NDArray[np.float64]
#: Of a cycle of saves, those that the long run is taken over.
_MOST_SAVES = 10_000


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

    def limit(self) -> float:
        """The updates after many saves, on average."""
        cycle = range(min(self.period // math.gcd(self.batches, self.period), _MOST_SAVES))
        kept, added = np.ones_like(self.accesses), np.zeros_like(self.accesses)
        for on, missed in map(self._at_save, cycle):
            kept, added = kept * (1 - on), added * (1 - on) + missed
        touched = kept < 1
        left = np.zeros_like(self.accesses)
        left[touched] = added[touched] / (1 - kept[touched])
        found = []
        for on, missed in map(self._at_save, cycle):
            left = left * (1 - on) + missed
            found.append(float(self.rows @ left))
        return math.fsum(found) / len(found)

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
