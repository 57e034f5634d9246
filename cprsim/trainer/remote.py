"""The rows of all servers, as a trainer sees them."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.trainer.placement import Placement
from cprsim.trainer.wire import Link, Op, PeerLostError


class ServerLostError(Exception):
    """A server has gone or is silent; its number is `server`."""

    def __init__(self, server: int) -> None:
        super().__init__(server)
        self.server = server


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
    """Looks up and updates rows wherever they are; each answer has the deadline.

    All methods raise `ServerLostError` where a server doesn't answer.
    """

    def __init__(self, placement: Placement, dim: int, deadline_s: float) -> None:
        self._placement, self._dim, self._deadline_s = placement, dim, deadline_s
        self._links: list[Link] = []

    def connect(self, addresses: Sequence[Path], epoch: int) -> None:
        """Connect to all servers anew."""
        self.close()
        for server, address in enumerate(addresses):
            try:
                self._links.append(Link.to(address, self._deadline_s))
            except PeerLostError:
                raise ServerLostError(server) from None
        self._ask(Op.GREET, epoch)

    def close(self) -> None:
        """Close all connections."""
        for link in self._links:
            link.close()
        self._links.clear()

    def settle(self, lost: int) -> None:
        """Wait until all servers but the lost one have done what was sent; close connections."""
        for link in [*self._links[:lost], *self._links[lost + 1 :]]:
            with contextlib.suppress(PeerLostError):
                link.send(Op.SYNC)
                while link.receive().op != Op.SYNC:
                    pass
        self.close()

    def sync(self) -> None:
        """Wait until all that was sent is done."""
        self._ask(Op.SYNC, 0)

    def lookup(self, step: int, sparse: NDArray[np.int64]) -> Looked:
        """The rows of a batch; `sparse` has shape (B, tables)."""
        ids = torch.from_numpy(self._placement.ids(sparse).reshape(-1))
        distinct, uses, times = torch.unique(ids, return_inverse=True, return_counts=True)
        servers = self._placement.servers
        on, there = distinct % servers, distinct // servers
        places = [torch.nonzero(on == server).squeeze(1) for server in range(servers)]
        parts = [there[place] for place in places]
        for server, part in enumerate(parts):
            self._send(server, Op.LOOKUP, step, part)
        rows = torch.empty((len(distinct), self._dim))
        for server, place in enumerate(places):
            answer = self._receive(server)
            rows[place] = torch.from_numpy(np.frombuffer(answer, np.float32)).view(-1, self._dim)
        return Looked(rows, parts, places, uses, times.to(torch.int32))

    def update(self, step: int, looked: Looked, of_samples: Tensor) -> None:
        """Push the gradients of what was looked up, shape (B, tables, dim)."""
        gradients = looked.gradients(of_samples)
        for server, (ids, place) in enumerate(zip(looked.ids, looked.places, strict=True)):
            self._send(server, Op.UPDATE, step, ids, looked.times[place], gradients[place])

    def _ask(self, op: Op, step: int) -> None:
        for server in range(len(self._links)):
            self._send(server, op, step)
        for server in range(len(self._links)):
            self._receive(server)

    def _send(self, server: int, op: Op, step: int, *parts: Tensor) -> None:
        try:
            self._links[server].send(op, step, *(part.numpy() for part in parts))
        except PeerLostError:
            raise ServerLostError(server) from None

    def _receive(self, server: int) -> bytearray:
        try:
            parts = self._links[server].receive().parts
        except PeerLostError:
            raise ServerLostError(server) from None
        return parts[0] if parts else bytearray()
