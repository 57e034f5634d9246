"""The rows of each server, and the rows that a batch uses."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional


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

    def before(self, table: int, server: int) -> int:
        """Rows of a table on servers of lower numbers."""
        return sum(len(self.range_of(table, each)) for each in range(server))

    def ids(self, sparse: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers among all rows of the rows of each table, shape (B, tables) both."""
        return sparse + self.offsets

    def _below(self, row: int, server: int) -> int:
        """Rows of that server among the first `row` of all."""
        return max(-(-(row - server) // self.servers), 0)


class Uses:
    """The distinct rows of a batch, in the order of servers and there of their numbers.

    `sparse` has shape (B, tables); a use is an entry of it, in C order.

    `ids`: numbers of the rows on their servers, shape (rows,). `times`: how often each is used,
    shape (rows,), int32. `parts`: of each server, which of the rows are on it.
    """

    def __init__(self, placement: Placement, sparse: NDArray[np.int64]) -> None:
        ids = placement.ids(sparse).reshape(-1)
        there = ids // placement.servers
        room = placement.rows_of(0)  # no server has more
        places = (ids - there * placement.servers) * room + there
        # Sorted together with what they belong to: several times as quick as an `argsort`.
        bits = ids.size.bit_length()
        places <<= bits
        places += np.arange(ids.size)
        places.sort()
        self._order = places & ((1 << bits) - 1)  # uses, row by row
        places >>= bits
        self._starts = np.flatnonzero(np.diff(places, prepend=-1))  # of each row among these
        rows = places[self._starts]
        ends = np.searchsorted(rows, room * np.arange(placement.servers + 1)).tolist()
        self.parts = [slice(*each) for each in itertools.pairwise(ends)]
        self.ids = rows % room
        self.times = np.diff(self._starts, append=ids.size).astype(np.int32)

    def spread(self, rows: Tensor) -> Tensor:
        """Return the row of each use, shape (uses, dim); `rows` has shape (rows, dim)."""
        return rows.index_select(0, self._rows_of_uses)

    def collect(self, of_uses: Tensor) -> Tensor:
        """For each row the sum over its uses; `of_uses` has shape (uses, dim)."""
        order, starts = torch.from_numpy(self._order), torch.from_numpy(self._starts)
        return functional.embedding_bag(order, of_uses, starts, mode="sum")

    @cached_property
    def _rows_of_uses(self) -> Tensor:
        rows = np.empty_like(self._order)
        rows[self._order] = np.repeat(np.arange(self.ids.size), self.times)
        return torch.from_numpy(rows)
