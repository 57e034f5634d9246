"""SSU in the mean field where few batches come between two saves, each of many rows."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.lost import slope

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListedBatches:
    """As `cprsim.rows.listed.Listed`, batch by batch: a list sees the rows of a batch together.

    `rows` of each class and `accesses` of one row between two saves, shape (classes,), in so many
    `batches`. The first of `period` batches is looked at, whenever saves come; of these, so many go
    on the list `together` as if they were one, but for the last before a save.

    Rows of a batch that are off the list go on it in random order. Once it is full, each takes the
    place of a random row, maybe of one of the same batch, which isn't back before the next batch
    that is looked at. So a list that is short beside a batch misses hot rows, too.
    """

    rows: Array
    accesses: Array
    places: int
    period: int
    batches: int
    together: int = 1

    def after(self, saves: int) -> Array:
        """Expected updates not saved just after each of `saves` saves, shape (saves,)."""
        return np.array([self.rows @ left for left in self._left(saves)])

    def slope(self, saves: int) -> float:
        """How far what so many saves leave lies where updates go: `cprsim.rows.lost.slope`."""
        return slope(self.rows, self.accesses, sum(self._left(saves), np.zeros_like(self.accesses)))

    def limit(self) -> float:
        """The same after many saves, on average."""
        kept, added = np.ones_like(self.accesses), np.zeros_like(self.accesses)
        for on, missed in self._cycle:
            kept, added = kept * (1 - on), added * (1 - on) + missed
        touched = kept < 1
        left = np.zeros_like(self.accesses)
        left[touched] = added[touched] / (1 - kept[touched])
        found = []
        for on, missed in self._cycle:
            left = left * (1 - on) + missed
            found.append(float(self.rows @ left))
        return math.fsum(found) / len(found)

    def _left(self, saves: int) -> Iterator[Array]:
        """Of a row of each class, just after each of `saves` saves."""
        left = np.zeros_like(self.accesses)
        for save in range(saves):
            on, missed = self._cycle[save % len(self._cycle)]
            left = left * (1 - on) + missed
            yield left

    @cached_property
    def _cycle(self) -> list[tuple[Array, Array]]:
        """Probability of being on the list, and updates that it misses, of saves in turn."""
        saves = self.period // math.gcd(self.batches, self.period)
        ends = [-(-save * self.batches // self.period) for save in range(saves + 1)]
        looked_at = np.diff(ends).tolist()
        of_so_many = {number: self._at_a_save(number) for number in set(looked_at)}
        return [of_so_many[number] for number in looked_at]

    def _at_a_save(self, looked_at: int) -> tuple[Array, Array]:
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
