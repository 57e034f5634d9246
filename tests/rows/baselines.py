"""Trackers that look at nothing, to compare the others with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.trackers.contract import RowIds, at_most, row_ids, table_rows


class _Blind:
    """What trackers that look at nothing share: they only check ids, and keep nothing of a row."""

    def __init__(self, rows: int) -> None:
        self._rows = table_rows(rows)

    def observe(
        self,
        rows: NDArray[np.integer[Any]],
        values: NDArray[Any] | None = None,
    ) -> None:
        """Check the ids."""
        row_ids(rows, self._rows)

    @property
    def memory_bytes(self) -> int:
        """Nothing for a row."""
        return 0


class RoundRobin(_Blind):
    """Saves the rows in order of their ids, and after the last one the first again.

    Parameters
    ----------
    rows
        How many the table has.

    Notes
    -----
    `select` returns `k` rows, or the whole table where it has fewer, accessed or not. What comes
    next moves on by as many rows as have been saved.
    """

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self._next = 0

    def select(self, k: int) -> RowIds:
        """The next `k` rows."""
        return (self._next + np.arange(min(at_most(k), self._rows))) % self._rows

    def saved(self, rows: NDArray[np.integer[Any]]) -> None:
        """Move on by as many rows."""
        self._next = (self._next + row_ids(rows, self._rows).size) % self._rows


class Random(_Blind):
    """Saves rows drawn uniformly, without replacement within one save.

    Parameters
    ----------
    rows
        How many the table has.
    seed
        Of its draws, or a generator to take one from.

    Notes
    -----
    `select` returns `k` rows, or the whole table where it has fewer, accessed or not. Each save has
    a draw of its own, so that asking twice changes nothing.
    """

    def __init__(self, rows: int, seed: int | np.random.Generator) -> None:
        super().__init__(rows)
        self._key = int(np.random.default_rng(seed).integers(1 << 63))
        self._saves = 0

    def select(self, k: int) -> RowIds:
        """The `k` rows drawn for the next save."""
        rng = np.random.default_rng((self._key, self._saves))
        return rng.choice(self._rows, min(at_most(k), self._rows), replace=False, shuffle=False)

    def saved(self, rows: NDArray[np.integer[Any]]) -> None:
        """Draw others next time."""
        self._saves += row_ids(rows, self._rows).size > 0
