"""The rows of all servers, as a trainer sees them."""

from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.trainer.connections import Connections
from cprsim.trainer.placement import Placement
from cprsim.trainer.wire import Op


class Looked:
    """Rows that a batch looked up, each once, and where its samples use them.

    `ids`: of each server, the rows on it, ascending. `places`: of each server, where these stand
    among all of them. `uses`: the row of every sample and table, shape (B * tables,).
    """

    def __init__(
        self, rows: Tensor, ids: list[Tensor], places: list[Tensor], uses: Tensor, times: Tensor
    ) -> None:
        self._rows, self._uses = rows, uses
        self.ids, self.places, self.times = ids, places, times

    def of_samples(self, tables: int) -> Tensor:
        """Rows by sample and table, shape (B, tables, dim)."""
        return self._rows[self._uses].view(-1, tables, self._rows.shape[1])

    def gradients(self, of_samples: Tensor) -> Tensor:
        """Gradients of the distinct rows: those of all their uses added up, shape (rows, dim)."""
        width = self._rows.shape[1]
        return torch.zeros_like(self._rows).index_add_(0, self._uses, of_samples.reshape(-1, width))


#: What was pushed: the step, what it had looked up, and the gradients of that.
_Push: TypeAlias = tuple[int, Looked, Tensor]


class RemoteRows:
    """Looks up and updates rows wherever they are.

    Rows of a shard that there is no connection for are zeros, and their updates are dropped.
    """

    def __init__(self, placement: Placement, dim: int, connections: Connections) -> None:
        self._placement, self._dim, self._connections = placement, dim, connections
        self._pushed: _Push | None = None

    @property
    def _shards(self) -> list[int]:
        return [each for each in self._connections.shards if each < self._placement.servers]

    def forget(self) -> None:
        """What was pushed last is not to be pushed again."""
        self._pushed = None

    def push_again(self) -> None:
        """Push once more what was pushed last; who has it already passes over it."""
        if self._pushed is not None:
            self._push(self._pushed)

    def lookup(self, step: int, sparse: NDArray[np.int64]) -> Looked:
        """The rows of a batch; `sparse` has shape (B, tables)."""
        ids = torch.from_numpy(self._placement.ids(sparse).reshape(-1))
        distinct, uses, times = torch.unique(ids, return_inverse=True, return_counts=True)
        servers = self._placement.servers
        on, there = distinct % servers, distinct // servers
        places = [torch.nonzero(on == server).squeeze(1) for server in range(servers)]
        parts = [there[place] for place in places]
        shards = self._shards
        for shard in shards:
            self._connections.send(shard, Op.LOOKUP, step, parts[shard].numpy())
        rows = torch.zeros((len(distinct), self._dim))
        for shard in shards:
            answer = self._connections.receive(shard)
            rows[places[shard]] = torch.from_numpy(np.frombuffer(answer, np.float32)).view(
                -1, self._dim
            )
        return Looked(rows, parts, places, uses, times)

    def update(self, step: int, looked: Looked, of_samples: Tensor) -> None:
        """Push the gradients of what was looked up, shape (B, tables, dim).

        Who doesn't take them is found out when it is asked next: the step is done all the same.
        """
        gradients = looked.gradients(of_samples)
        self._pushed = step, looked, gradients
        self._push(self._pushed)

    def _push(self, pushed: _Push) -> None:
        step, looked, gradients = pushed
        for shard in self._shards:
            ids, place = looked.ids[shard], looked.places[shard]
            parts = ids, looked.times[place], gradients[place]
            self._connections.push(shard, step, *(part.numpy() for part in parts))
