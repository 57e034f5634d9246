"""Sub-sampled used: a bounded list of rows that some of the batches have accessed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.rows.trackers.contract import RowIds, at_most, distinct, row_ids, table_rows


class SSU:
    """Saves rows that were accessed in a sub-sample of the batches since the last save (CPR-SSU).

    Parameters
    ----------
    rows
        How many the table has, at most 2^32.
    capacity
        How many rows the list holds; in the paper r times `rows`, r the share that a save takes.
    period
        Of so many batches the first is looked at; 2 in the paper.
    seed
        Of the evictions, or a generator for them, which should be nobody else's.

    Notes
    -----
    The distinct rows of a batch that are not yet on the list go on it, one after the other in
    random order. Once it is full, each takes the place of a row drawn uniformly. Saved rows leave
    it. `select` returns fewer than `k` rows where fewer are on the list, and otherwise those that
    have been on it longest (but for evictions, which put a new row in the place of an old one).

    The paper counts the list, 4 bytes a place: 0.78 % of rows of 64 bytes for a capacity of an
    eighth of the rows (Criteo Kaggle), 0.195 % of rows of 256 (Criteo Terabyte). To
    know what is on the list there is also a bit for each row, 0.195 % and 0.049 %: `memory_bytes`
    has both.

    Source: Maeng et al., MLSys 2021, CPR-SSU.
    """

    def __init__(
        self, rows: int, capacity: int, period: int = 2, seed: int | np.random.Generator = 0
    ) -> None:
        self._rows = table_rows(rows)
        for name, value in (("capacity", capacity), ("period", period)):
            if value < 1:
                raise UsageError(f"{name} = {value}: must be at least 1")
        if rows > 1 << 32:
            raise UsageError(f"rows = {rows}: ids of 4 bytes reach to 2^32 rows; split the table")
        self._list = np.zeros(min(capacity, rows), dtype=np.uint32)
        self._length = 0
        self._listed = _Bits(rows)
        self._period = period
        self._batches = 0
        self._rng = np.random.default_rng(seed)

    def observe(
        self,
        rows: NDArray[np.integer[Any]],
        values: NDArray[Any] | None = None,  # noqa: ARG002  (for trackers that judge by values)
    ) -> None:
        """Put the rows on the list, if it is this batch's turn."""
        ids = row_ids(rows, self._rows)
        turn = self._batches % self._period == 0
        self._batches += ids.size > 0
        if turn:
            self._put(distinct(ids[~self._listed.has(ids)]))

    def select(self, k: int) -> RowIds:
        """Up to `k` rows of the list."""
        return self._list[: min(at_most(k), self._length)].astype(np.int64)

    def saved(self, rows: NDArray[np.integer[Any]]) -> None:
        """Take these rows off the list."""
        ids = row_ids(rows, self._rows)
        self._listed.remove(distinct(ids[self._listed.has(ids)]))
        listed = self._list[: self._length]
        kept = listed[self._listed.has(listed)]
        self._list[: kept.size] = kept
        self._length = kept.size

    @property
    def memory_bytes(self) -> int:
        """The list, 4 bytes a place, and what is on it, a bit a row."""
        return self._list.nbytes + self._listed.nbytes

    def _put(self, new: RowIds) -> None:
        """Put rows on the list that are not on it."""
        free = self._list.size - self._length
        self._rng.shuffle(new)
        first, later = new[:free], new[free:]
        self._list[self._length : self._length + first.size] = first
        self._length += first.size
        self._listed.add(first)
        # Each later one takes the place of a random row, maybe of one that was put there just now.
        places = self._rng.integers(self._list.size, size=later.size)
        changed = distinct(places)
        self._listed.remove(self._list[changed])
        self._list[places] = later  # the last one stays where a place was drawn again
        self._listed.add(self._list[changed])


class _Bits:
    """A set of rows, a bit for each row of the table."""

    def __init__(self, rows: int) -> None:
        self._bytes = np.zeros(-(-rows // 8), dtype=np.uint8)

    def has(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        bytes_ = np.take(self._bytes, ids >> 3, mode="clip")  # which needs no checks
        there: NDArray[np.bool_] = (bytes_ >> (ids & 7).astype(np.uint8) & 1).view(np.bool_)
        return there

    def add(self, ids: NDArray[np.integer[Any]]) -> None:
        """Add distinct rows that are not in the set."""
        np.add.at(self._bytes, ids >> 3, _bit(ids))

    def remove(self, ids: NDArray[np.integer[Any]]) -> None:
        """Remove distinct rows that are in the set."""
        np.subtract.at(self._bytes, ids >> 3, _bit(ids))

    @property
    def nbytes(self) -> int:
        return self._bytes.nbytes


_BIT = np.left_shift(1, np.arange(8)).astype(np.uint8)


def _bit(ids: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    return np.take(_BIT, ids & 7)
