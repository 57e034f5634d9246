"""The rows of all servers, as a trainer sees them."""

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


class RemoteRows:
    """Looks up and updates rows wherever they are.

    The methods raise `ServerLostError` where a server doesn't answer.
    """

    def __init__(self, placement: Placement, dim: int, connections: Connections) -> None:
        self._placement, self._dim, self._connections = placement, dim, connections

    def lookup(self, step: int, sparse: NDArray[np.int64]) -> Looked:
        """The rows of a batch; `sparse` has shape (B, tables)."""
        ids = torch.from_numpy(self._placement.ids(sparse).reshape(-1))
        distinct, uses, times = torch.unique(ids, return_inverse=True, return_counts=True)
        servers = self._placement.servers
        on, there = distinct % servers, distinct // servers
        places = [torch.nonzero(on == server).squeeze(1) for server in range(servers)]
        parts = [there[place] for place in places]
        for server, part in enumerate(parts):
            self._connections.send(server, Op.LOOKUP, step, part.numpy())
        rows = torch.empty((len(distinct), self._dim))
        for server, place in enumerate(places):
            answer = self._connections.receive(server)
            rows[place] = torch.from_numpy(np.frombuffer(answer, np.float32)).view(-1, self._dim)
        return Looked(rows, parts, places, uses, times)

    def update(self, step: int, looked: Looked, of_samples: Tensor) -> None:
        """Push the gradients of what was looked up, shape (B, tables, dim)."""
        gradients = looked.gradients(of_samples)
        for server, (ids, place) in enumerate(zip(looked.ids, looked.places, strict=True)):
            parts = (ids.numpy(), looked.times[place].numpy(), gradients[place].numpy())
            self._connections.send(server, Op.UPDATE, step, *parts)
