"""The contract of a tracker, and the arguments that all of them check alike."""

import operator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError

#: Ids of rows: 0 is the first row of the table.
RowIds: TypeAlias = NDArray[np.int64]


class Tracker(Protocol):
    """Remembers which rows of one table deserve the next save.

    Row ids are arrays of any integer type and any shape, empty ones too. An id that the table
    doesn't have raises `UsageError` and changes nothing.
    """

    def observe(self, rows: NDArray[np.integer[Any]], values: NDArray[Any] | None = None) -> None:
        """Take note of the rows that one batch has accessed and updated.

        Parameters
        ----------
        rows
            Their ids. One that is there several times was accessed as many times. Their order
            doesn't matter, and an empty array is no batch.
        values
            What the rows hold now, shape `rows.shape` or `rows.shape + (dim,)`, for trackers that
            judge by it and have no table to look at. None of cprsim's own does.
        """

    def select(self, k: int) -> RowIds:
        """Rows to save now: up to `k` distinct ids, in no particular order; changes nothing.

        They are the `k` that deserve it most. Fewer come where fewer deserve it at all.
        """

    def saved(self, rows: NDArray[np.integer[Any]]) -> None:
        """Take note that these rows, distinct as `select` gave them, have been saved."""

    @property
    def memory_bytes(self) -> int:
        """Return the memory for the table between calls, bytes; constant."""


def table_rows(rows: int) -> int:
    """`rows` of a table, checked."""
    if operator.index(rows) < 1:
        raise UsageError(f"rows = {rows}: a table has at least 1 row")
    return operator.index(rows)


def at_most(k: int) -> int:
    """`k` of `Tracker.select`, checked."""
    if operator.index(k) < 0:
        raise UsageError(f"k = {k}: give how many rows to select, 0 or more")
    return operator.index(k)


def row_ids(rows: NDArray[np.integer[Any]], count: int) -> RowIds:
    """`rows` as one flat array of ids, all of them checked to be below `count` and not negative."""
    ids = np.asarray(rows)
    if ids.size == 0:
        return np.empty(0, dtype=np.int64)
    if ids.dtype.kind not in "iu":
        raise UsageError(
            f"row ids of type {ids.dtype}: give integers (np.flatnonzero makes them from a mask)"
        )
    if ids.min() < 0 or ids.max() >= count:
        wrong = ids[(ids < 0) | (ids >= count)][0]
        raise UsageError(f"row {wrong} is not in the table: its {count} rows are 0 to {count - 1}")
    return ids.reshape(-1).astype(np.int64, copy=False)


def distinct(ids: RowIds) -> RowIds:
    """`ids` in order, each once: `np.unique`, which takes twenty times as long (NumPy 2.4)."""
    ordered = np.sort(ids)
    first = np.ones(ordered.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
