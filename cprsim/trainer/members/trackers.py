"""The trackers of `cprsim.rows.trackers` for tables that are tensors, and one for a whole server.

They are the same trackers, with the same state and the same selections, in memory that torch and
NumPy share: only what a batch does in them is torch's where torch is quicker. They take tensors in
CPU memory where the others take arrays.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.errors import UsageError
from cprsim.rows.trackers import MFU, SCAR, RowIds
from cprsim.rows.trackers.contract import TrackerName, row_ids
from cprsim.trainer.members.trackers_lists import Lists

Ids: TypeAlias = Tensor | NDArray[np.integer[Any]]
_MOST = int(np.iinfo(np.int32).max)


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
        self._live.index_add_(0, ids, self._once(most))

    def _once(self, count: int) -> Tensor:
        if len(self._ones) < count:
            self._ones = torch.ones(count, dtype=torch.int32)
        return self._ones[:count]


class TorchSCAR(SCAR):
    """`SCAR` of a tensor in CPU memory, which is looked at where it is."""

    def __init__(self, table: Tensor) -> None:
        if not isinstance(table, Tensor):
            raise UsageError(f"table is a {type(table).__name__}: give the tensor in use")
        super().__init__(table.detach().numpy())
        self._marks = torch.from_numpy(self._touched)

    def part(self, rows: range) -> Self:
        """A tracker of these rows alone, on the same copy; observe by the whole one."""
        part = copy.copy(self)
        part._table = self._table[rows.start : rows.stop]
        part._copy = self._copy[rows.start : rows.stop]
        part._touched = self._touched[rows.start : rows.stop]
        return part

    def observe(
        self,
        rows: Ids,
        values: object = None,  # noqa: ARG002  (the table itself has them)
    ) -> None:
        """Mark the rows as touched."""
        self._marks.index_fill_(0, _ids(rows, self._touched.size), True)


class ShardTracker:
    """Which rows of a server deserve the next save: a tracker for its part of each tracked table.

    Parameters
    ----------
    name
        "mfu", "ssu" or "scar".
    weights
        All live rows of the server, shape (rows, dim).
    tables
        The ranges of its rows that are tracked, ascending and apart; the other rows are saved whole
        each time, and so is a range of which `fraction` is not one row.
    fraction
        Share of the rows of each range that a save takes, and that a list of SSU holds.
    subsample, seed
        SSU looks at the first of so many batches; of its evictions.

    Notes
    -----
    All tables share memory, so that a batch is noted in one go.
    """

    def __init__(
        self,
        name: TrackerName,
        weights: Tensor,
        tables: Sequence[range],
        fraction: float,
        subsample: int = 2,
        seed: int = 0,
    ) -> None:
        ends = [end for each in tables for end in (each.start, each.stop)]
        if (np.diff([0, *ends, len(weights)]) < 0).any():
            raise UsageError(
                f"tables {list(tables)}: give ranges of {len(weights)} rows in order, apart"
            )
        self._rows = len(weights)
        shares = [(each, round(fraction * len(each))) for each in tables]
        self._shares = {each: share for each, share in shares if share}
        self._tables: _Parts | Lists
        if name == "mfu":
            self._tables = _Parts(TorchMFU(self._rows), list(self._shares))
        elif name == "scar":
            self._tables = _Parts(TorchSCAR(weights), list(self._shares))
        elif name == "ssu":
            self._tables = Lists(self._rows, self._shares, subsample, seed)
        else:
            raise UsageError(f"tracker {name!r} is none of 'mfu', 'ssu' and 'scar'")

    def observe(self, rows: Ids) -> None:
        """Take note of the rows that one batch has accessed and updated, by their ids here."""
        self._tables.observe(rows)

    def select(self) -> RowIds:
        """The rows of the next save, ascending: a share of each tracked table, and all others."""
        chosen = np.ones(self._rows, dtype=bool)
        for number, (each, share) in enumerate(self._shares.items()):
            chosen[each.start : each.stop] = False
            chosen[self._tables.select(number, share)] = True
        return np.flatnonzero(chosen)

    def saved(self, rows: Ids) -> None:
        """Take note that these rows, distinct as `select` gave them, have been saved."""
        self._tables.saved(row_ids(np.asarray(rows), self._rows))

    @property
    def memory_bytes(self) -> int:
        """What is kept in memory for the rows between calls, bytes; constant."""
        return self._tables.memory_bytes


class _Parts:
    """The parts of one tracker, for ranges of its rows."""

    def __init__(self, whole: TorchMFU | TorchSCAR, ranges: Sequence[range]) -> None:
        self._whole = whole
        self._ranges = ranges
        self._parts = [whole.part(each) for each in ranges]

    def observe(self, rows: Ids) -> None:
        self._whole.observe(rows)

    def select(self, number: int, k: int) -> RowIds:
        return self._parts[number].select(k) + self._ranges[number].start

    def saved(self, ids: RowIds) -> None:
        ordered = np.sort(ids)
        for each, part in zip(self._ranges, self._parts, strict=True):
            first, last = np.searchsorted(ordered, (each.start, each.stop))
            part.saved(ordered[first:last] - each.start)

    @property
    def memory_bytes(self) -> int:
        return self._whole.memory_bytes


def _ids(rows: Ids, count: int) -> Tensor:
    """`row_ids` as a tensor; the usual ones are checked by torch, which is warm already."""
    if isinstance(rows, Tensor) and rows.dtype == torch.int64 and rows.numel():
        least, most = torch.aminmax(rows)
        if least.item() >= 0 and most.item() < count:
            return rows.reshape(-1)
    return _tensor(row_ids(np.asarray(rows), count))


def _tensor(array: NDArray[Any]) -> Tensor:
    """The same memory as a tensor; a copy of what torch doesn't take: read-only, or backwards."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))
