"""Which server holds which rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Placement:
    """Tables of so many `rows` over so many `servers`, row by row.

    The rows of all tables are numbered one after the other. Row i of all is on server i mod
    `servers`, its row i div `servers` there. So a table is one range of rows on each server, hot
    rows are spread over all of them, and sizes differ by one row at most.
    """

    rows: tuple[int, ...]
    servers: int

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The number of the first row of each table, shape (tables,)."""
        return np.concatenate(([0], np.cumsum(self.rows)[:-1])).astype(np.int64)

    @property
    def total(self) -> int:
        """Rows of all tables."""
        return sum(self.rows)

    def rows_of(self, server: int) -> int:
        """Rows that a server holds."""
        return self._below(self.total, server)

    def range_of(self, table: int, server: int) -> range:
        """The rows of a table on a server, by their numbers there."""
        first = int(self.offsets[table])
        return range(self._below(first, server), self._below(first + self.rows[table], server))

    def ids(self, sparse: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers among all rows of the rows of each table, shape (B, tables) both."""
        return sparse + self.offsets

    def _below(self, row: int, server: int) -> int:
        """Rows of that server among the first `row` of all."""
        return max(-(-(row - server) // self.servers), 0)
