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
        self._capacities = list(capacities.values())
        self._first = np.cumsum([0, *self._capacities[:-1]]).tolist()  # places of the lists
        self._lengths = [0] * len(self._capacities)
        self._list = np.zeros(sum(self._capacities), dtype=np.uint32)
        self._listed = _Bits(rows)
        self._period, self._batches = period, 0
        self._rng = np.random.default_rng(seed)

    def observe(
        self,
        rows: Tensor | NDArray[np.integer[Any]],
        times: object = None,  # noqa: ARG002  (for trackers that count)
    ) -> None:
        """Put the rows on their lists, if it is this batch's turn."""
        if self._batches % self._period == 0:
            self._put(_ascending(row_ids(np.asarray(rows), self._rows)))
        self._batches += len(rows) > 0

    def select(self, number: int, k: int) -> Rows:
        """Up to `k` rows of one of the lists: those that have been there longest."""
        return self._of(number)[:k].astype(np.int64)

    def saved(self, ids: Rows) -> None:
        """Take these rows off the lists."""
        self._listed.remove(distinct(ids[self._listed.has(ids)]))
        for number, first in enumerate(self._first):
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

    def _parts(self, ids: Rows) -> list[Rows]:
        """Views of the part of ascending ids that is in each range."""
        ends = np.searchsorted(ids, self._ends).tolist()
        return [ids[first:stop] for first, stop in zip(ends[::2], ends[1::2], strict=True)]

    def _put(self, ids: Rows) -> None:
        """Put rows, ascending, on the lists of their ranges unless they are there."""
        tracked = np.concatenate([ids[:0], *self._parts(ids)])
        new = tracked[~self._listed.has(tracked)]
        parts = self._parts(new)
        surplus = [self._append(number, part) for number, part in enumerate(parts)]
        if any(each.size for each in surplus):
            fitting = zip(parts, surplus, strict=True)
            self._listed.add(
                np.concatenate([part[: part.size - each.size] for part, each in fitting])
            )
            self._replace(surplus)
        else:
            self._listed.add(new)

    def _append(self, number: int, new: Rows) -> Rows:
        """Put rows on a list while there is room, or a random choice of them; returns the others.

        These stand behind the others in `new` then.
        """
        end = self._first[number] + self._lengths[number]
        room = self._capacities[number] - self._lengths[number]
        if new.size > room:
            self._rng.shuffle(new)
        fitting = new[:room]
        self._list[end : end + fitting.size] = fitting
        self._lengths[number] += fitting.size
        return new[room:]

    def _replace(self, new: list[Rows]) -> None:
        """Put rows in random places of their lists, where one of these may have been put before."""
        lists = np.repeat(np.arange(len(new)), [each.size for each in new])
        random = self._rng.random(lists.size) * np.take(self._capacities, lists)
        places = np.take(self._first, lists) + random.astype(np.int64)
        changed = distinct(places)
        self._listed.remove(self._list[changed])
        self._list[places] = np.concatenate(new)  # the last stays where a place was drawn again
        self._listed.add(self._list[changed])


def _ascending(ids: Rows) -> Rows:
    """`distinct`, for ids that mostly are in order and each there once."""
    return ids if (ids[1:] > ids[:-1]).all() else distinct(ids)
