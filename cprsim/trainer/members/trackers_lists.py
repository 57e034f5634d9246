"""SSU for several ranges of rows at once: a list for each, and all of them told in one go."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cprsim.rows.trackers import RowIds
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
    Each list does what `SSU` does for a table of that range's rows, but that rows of a batch which
    all find room on it stand there in the order of their ids. A `SSU` for each would take several
    times as long: a batch has few rows of each range. Batches whose turn it isn't are not looked
    at, so that wrong ids in them are no error.
    """

    def __init__(self, rows: int, capacities: Mapping[range, int], period: int, seed: int) -> None:
        self._rows = rows
        self._ends = np.array(  # of all ranges, first and last ones in turn
            [end for each in capacities for end in (each.start, each.stop)], dtype=np.int64
        )
        self._capacities = np.array(list(capacities.values()), dtype=np.int64)
        self._first = np.cumsum(self._capacities) - self._capacities  # places of the lists
        self._lengths = np.zeros_like(self._capacities)
        self._list = np.zeros(int(self._capacities.sum()), dtype=np.uint32)
        self._listed = _Bits(rows)
        self._period, self._batches = period, 0
        self._rng = np.random.default_rng(seed)

    def observe(self, rows: Tensor | NDArray[np.integer[Any]]) -> None:
        """Put the rows on their lists, if it is this batch's turn."""
        if self._batches % self._period == 0:
            self._put(distinct(row_ids(np.asarray(rows), self._rows)))
        self._batches += len(rows) > 0

    def select(self, number: int, k: int) -> RowIds:
        """Up to `k` rows of one of the lists: those that have been there longest."""
        return self._of(number)[:k].astype(np.int64)

    def saved(self, ids: RowIds) -> None:
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

    def _put(self, ids: RowIds) -> None:
        """Put rows, ascending, on the lists of their ranges unless they are there."""
        ends = np.searchsorted(ids, self._ends).tolist()
        parts = [ids[first:stop] for first, stop in zip(ends[::2], ends[1::2], strict=True)]
        tracked = np.concatenate([ids[:0], *parts])
        new = tracked[~self._listed.has(tracked)]
        stops = np.searchsorted(new, self._ends[1::2])
        counts = np.diff(stops, prepend=0)
        fitting = np.minimum(counts, self._capacities - self._lengths)
        surplus = new[:0]
        if (fitting < counts).any():
            new, surplus = self._divided(new, stops, fitting)
        shifts = self._first + self._lengths - (np.cumsum(fitting) - fitting)
        self._list[np.arange(new.size) + np.repeat(shifts, fitting)] = new
        self._lengths += fitting
        self._listed.add(new)
        if surplus.size:
            self._replace(surplus, counts - fitting)

    def _divided(
        self, new: RowIds, stops: NDArray[np.int64], fitting: NDArray[np.int64]
    ) -> tuple[RowIds, RowIds]:
        """As many rows of each list as find room, a random choice where not all do; the others."""
        parts = np.split(new, stops[:-1])
        for part, count in zip(parts, fitting.tolist(), strict=True):
            if count < part.size:
                self._rng.shuffle(part)
        firsts = [part[:count] for part, count in zip(parts, fitting.tolist(), strict=True)]
        others = [part[count:] for part, count in zip(parts, fitting.tolist(), strict=True)]
        return np.concatenate(firsts), np.concatenate(others)

    def _replace(self, new: RowIds, counts: NDArray[np.int64]) -> None:
        """Put rows, so many on each list, in random places, in some perhaps one after the other."""
        capacities = np.repeat(self._capacities, counts)
        places = np.repeat(self._first, counts)
        places += (self._rng.random(new.size) * capacities).astype(np.int64)
        changed = distinct(places)
        self._listed.remove(self._list[changed])
        self._list[places] = new  # the last one stays where a place was drawn again
        self._listed.add(self._list[changed])
