"""Trackers that look at nothing, to compare the others with."""

import numpy as np

from cprsim.rows.trackers import RowIds
from cprsim.rows.trackers.contract import at_most, row_ids


class RoundRobin:
    """Saves the rows in order of their ids, and after the last one the first again."""

    memory_bytes = 0

    def __init__(self, rows: int) -> None:
        self._rows, self._next = rows, 0

    def observe(self, rows, values=None) -> None:
        row_ids(rows, self._rows)

    def select(self, k: int) -> RowIds:
        return (self._next + np.arange(min(at_most(k), self._rows))) % self._rows

    def saved(self, rows) -> None:
        self._next = (self._next + row_ids(rows, self._rows).size) % self._rows


class Random:
    """Saves rows drawn uniformly, without replacement within one save.

    Each save has a draw of its own, so that a second `select` changes nothing.
    """

    memory_bytes = 0

    def __init__(self, rows: int, seed: int | np.random.Generator) -> None:
        self._rows, self._saves = rows, 0
        self._key = int(np.random.default_rng(seed).integers(1 << 63))

    def observe(self, rows, values=None) -> None:
        row_ids(rows, self._rows)

    def select(self, k: int) -> RowIds:
        rng = np.random.default_rng((self._key, self._saves))
        return rng.choice(self._rows, min(at_most(k), self._rows), replace=False, shuffle=False)

    def saved(self, rows) -> None:
        self._saves += row_ids(rows, self._rows).size > 0
