"""SSU for several ranges of rows at once: a list for each, and all of them told in one go."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cprsim.rows.trackers import Rows
from cprsim.rows.trackers.contract import distinct, row_ids
from cprsim.rows.trackers.ssu import _Bits


class Lists:
    """A list of SSU for each of some ranges of rows, side by side in one array.

    Parameters
    ----------
    rows
        Of all, in ranges or not.
    capacities
        How many rows the list of each range holds; the ranges ascend and don't overlap.
    period
        Of so many batches the first is looked at.
    seed
        Of the evictions.

    Notes
    -----
    Each list does what `SSU` does for a table of that range's rows. A `SSU` for each would take
    several times as long: a batch has few rows of each range.
    """

    def __init__(self, rows: int, capacities: Mapping[range, int], period: int, seed: int) -> None:
        self._rows = rows
        self._starts = np.array([each.start for each in capacities], dtype=np.int64)
        self._stops = np.array([each.stop for each in capacities], dtype=np.int64)
        self._capacities = np.array(list(capacities.values()), dtype=np.int64)
        self._first = np.cumsum(self._capacities) - self._capacities  # places of the lists
        self._lengths = np.zeros_like(self._capacities)
        self._list = np.zeros(int(self._capacities.sum()), dtype=np.uint32)
        self._listed = _Bits(rows)
        self._period, self._batches = period, 0
        self._rng = np.random.default_rng(seed)

    def observe(
        self,
        rows: Tensor | NDArray[np.integer[Any]],
        times: object = None,  # noqa: ARG002  (for trackers that count)
    ) -> None:
        """Put the rows on their lists, if it is this batch's turn."""
        ids = row_ids(np.asarray(rows), self._rows)
        turn = self._batches % self._period == 0
        self._batches += ids.size > 0
        if turn:
            self._put(distinct(ids[~self._listed.has(ids)]))

    def select(self, number: int, k: int) -> Rows:
        """Up to `k` rows of one of the lists: those that have been there longest."""
        return self._of(number)[:k].astype(np.int64)

    def saved(self, ids: Rows) -> None:
        """Take these rows off the lists."""
        self._listed.remove(distinct(ids[self._listed.has(ids)]))
        for number, first in enumerate(self._first.tolist()):
            listed = self._of(number)
            kept = listed[self._listed.has(listed)]
            self._list[first : first + kept.size] = kept
            self._lengths[number] = kept.size

    @property
    def memory_bytes(self) -> int:
        """The lists, 4 bytes a place, and what is on them, a bit a row."""
        return self._list.nbytes + self._listed.nbytes

    def _of(self, number: int) -> NDArray[np.uint32]:
        first = self._first[number]
        return self._list[first : first + self._lengths[number]]

    def _put(self, new: Rows) -> None:
        """Put rows that are on no list on those of their ranges, in random order."""
        self._rng.shuffle(new)
        lists = np.searchsorted(self._stops, new, side="right")
        tracked = new >= np.append(self._starts, np.iinfo(np.int64).max)[lists]
        new, lists = new[tracked], lists[tracked]
        order = np.argsort(lists, kind="stable")
        new, lists = new[order], lists[order]
        counts = np.bincount(lists, minlength=self._lengths.size)
        turns = np.arange(new.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places = self._lengths[lists] + turns
        free = places < self._capacities[lists]
        self._list[(self._first[lists] + places)[free]] = new[free]
        self._listed.add(new[free])
        self._lengths = np.minimum(self._lengths + counts, self._capacities)
        self._replace(new[~free], lists[~free])

    def _replace(self, new: Rows, lists: NDArray[np.int64]) -> None:
        """Put each row in a random place, where one of these may have been put before."""
        places = self._first[lists] + self._rng.integers(self._capacities[lists])
        changed = distinct(places)
        self._listed.remove(self._list[changed])
        self._list[places] = new  # the last one stays where a place was drawn again
        self._listed.add(self._list[changed])
