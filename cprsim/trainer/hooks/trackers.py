"""Which of the rows that a process holds deserve the next save.

The trackers of `cprsim.rows.trackers`, with the same state and the same selections, in memory that
torch and NumPy share: only what a batch does in them is torch's where torch is quicker.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.contract import Tracking
from cprsim.rows.trackers import MFU, SCAR, RowIds
from cprsim.rows.trackers.contract import distinct, row_ids
from cprsim.rows.trackers.ssu import _Bits

Ids: TypeAlias = Tensor | NDArray[np.integer[Any]]
#: Of a range of rows the tensor in use, which SCAR compares with a copy; or what gives a number of
#: each row that grows as the row moves.
LiveRows: TypeAlias = Tensor | Callable[[], Tensor]
_MOST = int(np.iinfo(np.int32).max)


class RowTrackers:
    """Trackers of rows that are numbered one after the other, told of lookups in one go.

    SCAR looks at live rows, so each range has a tracker of its own. MFU and SSU know numbers alone,
    and share their memory.

    `rows`: how many there are in all. `tracked`: the ranges of them that are tracked, ascending and
    apart, with the live rows. A save takes a share of each, and all other rows; so it does of a
    range whose share is not one row. `tracking`: what the plan says of trackers. `seed`: of SSU's
    evictions.
    """

    def __init__(
        self, rows: int, tracked: Mapping[range, LiveRows], tracking: Tracking, seed: int
    ) -> None:
        shares = {each: round(tracking.fraction * len(each)) for each in tracked}
        self._rows, self._shares = rows, {each: share for each, share in shares.items() if share}
        self._whole: TorchMFU | Lists | None = None
        self._parts: dict[range, TorchMFU | TorchSCAR | Movement] = {}
        if not self._shares:
            return
        if tracking.tracker == "ssu":
            self._whole = Lists(rows, self._shares, tracking.subsample, seed)
        elif tracking.tracker == "mfu":
            self._whole = TorchMFU(rows)
            self._parts = {each: self._whole.part(each) for each in self._shares}
        else:
            self._parts = {each: _of_values(tracked[each]) for each in self._shares}

    def observe(self, numbers: Tensor) -> None:
        """Take note of the rows that one batch has used, by their numbers."""
        if self._whole is not None:
            self._whole.observe(numbers)
            return
        ordered = numbers.sort().values
        for rows, tracker in self._parts.items():
            first, end = torch.searchsorted(ordered, torch.tensor([rows.start, rows.stop])).tolist()
            tracker.observe(ordered[first:end] - rows.start)

    def select(self) -> RowIds:
        """The rows of the next save, ascending: a share of each tracked range, and all others."""
        chosen = np.ones(self._rows, dtype=bool)
        for number, (rows, share) in enumerate(self._shares.items()):
            chosen[rows.start : rows.stop] = False
            if isinstance(self._whole, Lists):
                chosen[self._whole.select(number, share)] = True
            else:
                chosen[self._parts[rows].select(share) + rows.start] = True
        return np.flatnonzero(chosen)

    def saved(self, numbers: RowIds) -> None:
        """Take note that these rows, ascending, have been saved."""
        if isinstance(self._whole, Lists):
            self._whole.saved(numbers)
        for rows, tracker in self._parts.items():
            first, end = np.searchsorted(numbers, (rows.start, rows.stop))
            tracker.saved(numbers[first:end] - rows.start)

    def forget(self, lost: Mapping[range, LiveRows]) -> None:
        """What was known of these tracked ranges is lost: their rows are as they were saved."""
        for rows, live in lost.items():
            if self._whole is not None:
                self.saved(np.arange(rows.start, rows.stop))
            elif rows in self._parts:
                self._parts[rows] = _of_values(live)


def _of_values(live: LiveRows) -> "TorchSCAR | Movement":
    return TorchSCAR(live) if isinstance(live, Tensor) else Movement(live)


class TorchMFU(MFU):
    """`MFU` that counts by `index_add_`, which is quicker than `scatter_add_` in one dimension."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self._live = torch.from_numpy(self._counts)
        self._ones = torch.ones(0, dtype=torch.int32)

    def part(self, rows: range) -> Self:
        """A tracker of these rows alone, on the same counters; observe by the whole one."""
        part = copy.copy(self)
        part._counts = self._counts[rows.start : rows.stop]
        return part

    def observe(
        self,
        rows: Ids,
        values: object = None,  # noqa: ARG002  (for trackers that judge by values)
    ) -> None:
        """Count every occurrence of every id."""
        ids = _ids(rows, self._counts.size)
        most = len(ids)
        if self._bound + most > _MOST:
            self._bound = int(self._counts.max())
        if self._bound + most > _MOST:  # a counter may be full: the way that minds it
            super().observe(ids.numpy())
            return
        self._bound += most
        if len(self._ones) < most:
            self._ones = torch.ones(most, dtype=torch.int32)
        self._live.index_add_(0, ids, self._ones[:most])


class TorchSCAR(SCAR):
    """`SCAR` of a tensor in CPU memory, which is looked at where it is."""

    def __init__(self, table: Tensor) -> None:
        super().__init__(table.detach().numpy())
        self._marks = torch.from_numpy(self._touched)

    def observe(
        self,
        rows: Ids,
        values: object = None,  # noqa: ARG002  (the table itself has them)
    ) -> None:
        """Mark the rows as touched."""
        self._marks.index_fill_(0, _ids(rows, self._touched.size), True)


class Movement:
    """The rows of a part that have moved furthest since they were saved, by a number of each."""

    def __init__(self, moved: Callable[[], Tensor]) -> None:
        self._moved = moved
        self._saved = moved().clone()

    def observe(self, rows: Ids) -> None:
        """Nothing: how far a row has moved is looked at when it is chosen."""

    def select(self, k: int) -> RowIds:
        """The rows of the next save, ascending."""
        moved = self._moved() - self._saved
        return moved.topk(k).indices.sort().values.cpu().numpy()

    def saved(self, rows: RowIds) -> None:
        """Note that these rows have been saved."""
        ids = torch.as_tensor(rows, device=self._saved.device)
        self._saved[ids] = self._moved()[ids]


class Lists:
    """A list of SSU for each of some ranges of rows, side by side in one array.

    `rows`: of all, in ranges or not. `capacities`: how many rows the list of each range holds; the
    ranges ascend and don't overlap. `period`: of so many batches the first is looked at. `seed`: of
    the evictions.

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

    def observe(self, rows: Ids) -> None:
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


def _ids(rows: Ids, count: int) -> Tensor:
    """`row_ids` as a tensor; the usual ones are checked by torch, which is warm already."""
    if isinstance(rows, Tensor) and rows.dtype == torch.int64 and rows.numel():
        least, most = torch.aminmax(rows)
        if least.item() >= 0 and most.item() < count:
            return rows.reshape(-1)
    # A copy of what torch doesn't take: read-only, or backwards.
    return torch.from_numpy(np.require(row_ids(np.asarray(rows), count), requirements=["C", "W"]))
