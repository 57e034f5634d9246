"""The model that the lab trains: its rows on servers, and the dense part.

A DLRM: bottom MLP, dot interaction, top MLP (Naumov et al., "Deep Learning Recommendation Model for
Personalization and Recommendation Systems", arXiv 1906.00091).
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cprsim.trainer.data.contract import Batch, Data


@dataclass(frozen=True)
class Placement:
    """Tables of so many `rows` over so many `servers`, row by row.

    The rows of all tables are numbered one after the other. Row i of all is on server i mod
    `servers`, its row i div `servers` there. So a table is one range of rows on each server, hot
    rows are spread over all of them, and sizes differ by one row at most.
    """

    rows: tuple[int, ...]
    servers: int

    @classmethod
    def of(cls, data: Data, servers: int) -> "Placement":
        """Return the placement of the tables of some samples."""
        return cls(tuple(table.rows for table in data.tables), servers)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The number of the first row of each table, shape (tables,)."""
        return np.concatenate(([0], np.cumsum(self.rows)[:-1])).astype(np.int64)

    def rows_of(self, server: int) -> int:
        """Rows that a server holds."""
        return self._below(sum(self.rows), server)

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

    def updates(self, data: Data, steps: int) -> NDArray[np.int64]:
        """Updates of each table's rows on each server in the first steps, (tables, servers)."""
        counts = np.zeros((len(self.rows), self.servers), np.int64)
        for step in range(steps):
            on = self.ids(data.batch(step).sparse) % self.servers
            for table, of_table in enumerate(on.T):
                counts[table] += np.bincount(of_table, minlength=self.servers)
        return counts

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
        of_uses = np.empty_like(self._order)
        of_uses[self._order] = np.repeat(np.arange(self.ids.size), self.times)
        return rows.index_select(0, torch.from_numpy(of_uses))

    def collect(self, of_uses: Tensor) -> Tensor:
        """For each row the sum over its uses; `of_uses` has shape (uses, dim)."""
        order, starts = torch.from_numpy(self._order), torch.from_numpy(self._starts)
        return functional.embedding_bag(order, of_uses, starts, mode="sum")


#: Largest absolute value that a number of an embedding row starts with. Chosen: rows of 16 numbers
#: then start shorter than the output of the bottom MLP.
SPREAD = 0.05
#: Keeps a gradient of 0 from being divided by 0, as in `torch.optim.Adagrad`.
EPSILON = 1e-10


class Shard:
    """Rows and their optimiser state; not safe for threads.

    `rows`, `dim`: how many rows, and how many float32 numbers each has. `seed`: of the initial
    rows, which are uniform between -`SPREAD` and `SPREAD`. `learning_rate`: of Adagrad.

    `weights`: shape (rows, dim). `squares`: the optimiser state of each row, shape (rows,).

    Notes
    -----
    Row-wise Adagrad (FBGEMM's `EXACT_ROWWISE_ADAGRAD`): one number of state a row, to which the
    mean square of the row's gradient is added. The gradient of a row is that of the whole batch.
    """

    def __init__(self, rows: int, dim: int, seed: int, learning_rate: float) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.weights = (torch.rand((rows, dim), generator=generator) * 2 - 1) * SPREAD
        self.squares = torch.zeros(rows)
        self._rate = learning_rate

    def __len__(self) -> int:
        return len(self.weights)

    def lookup(self, ids: Tensor) -> Tensor:
        """Copies of rows, shape (ids, dim)."""
        return self.weights.index_select(0, ids)

    def update(self, ids: Tensor, gradients: Tensor) -> None:
        """One step of Adagrad on distinct rows; `gradients` has shape (ids, dim)."""
        squares = self.squares.index_select(0, ids) + gradients.square().mean(dim=1)
        self.squares.index_copy_(0, ids, squares)
        steps = gradients * (-self._rate / (squares.sqrt() + EPSILON)).unsqueeze(1)
        self.weights.index_add_(0, ids, steps)


class Dlrm:
    """The MLPs, their parameters in one vector, and Adagrad on it.

    `dense`: dense features of a sample. `tables`: embedding tables; a sample looks up one row of
    each. `dim`: width of a row, and of what the bottom MLP makes of the dense features. `hidden`:
    width of the one hidden layer of both MLPs. `seed`: of the initial parameters. `learning_rate`:
    of Adagrad.

    `weights`: all parameters in one vector, shape (parameters,), float32. `squares`: their
    optimiser state, as shaped.
    """

    def __init__(
        self, dense: int, tables: int, dim: int, hidden: int, seed: int, learning_rate: float
    ) -> None:
        pairs = tables * (tables + 1) // 2
        self._bottom = _mlp(dense, hidden, dim)
        self._top = _mlp(dim + pairs, hidden, 1)
        self._pairs = torch.triu_indices(tables + 1, tables + 1, offset=1)
        self._rate = learning_rate
        layers = [each for each in (*self._bottom, *self._top) if isinstance(each, nn.Linear)]
        generator = torch.Generator().manual_seed(seed)
        self.weights = torch.cat([_initial(each, generator) for each in layers])
        self.squares = torch.zeros_like(self.weights)
        self._parts = [each for layer in layers for each in layer.parameters()]
        # From here on they are views of the vector, and change with it.
        nn.utils.vector_to_parameters(self.weights, self._parts)

    def learn(self, batch: Batch, uses: Uses, rows: Tensor) -> Tensor:
        """Take one step on a batch with these distinct rows; return their gradients, as shaped."""
        dense, sparse, labels = batch
        looked = uses.spread(rows).view(*sparse.shape, -1)
        of_uses = self.step(torch.from_numpy(dense), looked, torch.from_numpy(labels))
        return uses.collect(of_uses.reshape(-1, rows.shape[1]))

    def step(self, dense: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        """Take one step on a batch; return the gradient of its mean loss by `rows`.

        `dense` has shape (B, dense), `rows` (B, tables, dim), `labels` (B,).
        """
        of_weights, of_rows = self.gradients(dense, rows, labels)
        squares = self.squares.add_(of_weights.square())
        self.weights -= self._rate * of_weights / (squares.sqrt() + EPSILON)
        return of_rows

    def gradients(self, dense: Tensor, rows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of a batch's mean loss by the parameters and by `rows`."""
        rows = rows.detach().requires_grad_()
        loss = functional.binary_cross_entropy_with_logits(self._logits(dense, rows), labels)
        *of_parts, of_rows = torch.autograd.grad(loss, (*self._parts, rows))
        return nn.utils.parameters_to_vector(of_parts), of_rows

    def predict(self, dense: Tensor, rows: Tensor) -> Tensor:
        """Probabilities of a click, shape (B,)."""
        with torch.no_grad():
            return torch.sigmoid(self._logits(dense, rows))

    def _logits(self, dense: Tensor, rows: Tensor) -> Tensor:
        made = functional.relu(self._bottom(dense))
        together = torch.cat((made.unsqueeze(1), rows), dim=1)
        dots = torch.bmm(together, together.transpose(1, 2))
        crossed = dots[:, self._pairs[0], self._pairs[1]]
        found: Tensor = self._top(torch.cat((made, crossed), dim=1)).squeeze(1)
        return found


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def _initial(layer: nn.Linear, generator: torch.Generator) -> Tensor:
    """Weights and biases of one layer, uniform as in `torch.nn.Linear`."""
    count, bound = (layer.in_features + 1) * layer.out_features, 1 / math.sqrt(layer.in_features)
    return (torch.rand(count, generator=generator) * 2 - 1) * bound
