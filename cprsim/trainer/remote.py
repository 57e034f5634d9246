"""The rows of all servers, as a trainer sees them."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

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


#: What was pushed: the step, what it had looked up, and the gradients of that.
_Push: TypeAlias = tuple[int, Looked, Tensor]


class RemoteRows:
    """Looks up and updates rows wherever they are; each answer has the deadline.

    All methods raise `ServerLostError` where a server doesn't answer.
    """

    def __init__(self, placement: Placement, dim: int, deadline_s: float) -> None:
        self._placement, self._dim, self._deadline_s = placement, dim, deadline_s
        self._links: dict[int, Link] = {}  # by shard
        self._answering: dict[int, int] = {}  # the server that answers for each
        self._pushed: _Push | None = None

    def connect(self, routes: Sequence[Sequence[tuple[int, str]]], epoch: int, again: bool) -> None:
        """Connect anew.

        `routes`: of each shard, the server that answers for it and those that hold copies, with
        their addresses. Rows of a shard without any are zeros, and their updates are dropped.
        `again`: push once more what was pushed last; who has it already passes over it.
        """
        self.close()
        for shard, route in enumerate(routes):
            if not route:
                continue
            (self._answering[shard], address), *copies = route
            try:
                link = self._links[shard] = Link.to(Path(address), self._deadline_s)
                link.tell(Op.GREET, epoch, {"shard": shard, "copies": copies})
            except PeerLostError:
                raise ServerLostError(self._answering[shard]) from None
        for shard in self._links:
            self._receive(shard)
        if not again:
            self.forget()
        elif self._pushed is not None:
            self._push(self._pushed)

    def forget(self) -> None:
        """What was pushed last is not to be pushed again."""
        self._pushed = None

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def settle(self, lost: int) -> None:
        """Wait until all servers but the lost one have done what was sent; close connections."""
        for shard, link in self._links.items():
            if self._answering[shard] == lost:
                continue
            with contextlib.suppress(PeerLostError):
                link.send(Op.SYNC)
                while link.receive().op not in (Op.SYNC, Op.LOST):
                    pass
        self.close()

    def sync(self) -> None:
        """Wait until all that was sent is done."""
        for shard in self._links:
            self._send(shard, Op.SYNC, 0)
        for shard in self._links:
            self._receive(shard)

    def lookup(self, step: int, sparse: NDArray[np.int64]) -> Looked:
        """The rows of a batch; `sparse` has shape (B, tables)."""
        ids = torch.from_numpy(self._placement.ids(sparse).reshape(-1))
        distinct, uses, times = torch.unique(ids, return_inverse=True, return_counts=True)
        servers = self._placement.servers
        on, there = distinct % servers, distinct // servers
        places = [torch.nonzero(on == server).squeeze(1) for server in range(servers)]
        parts = [there[place] for place in places]
        for shard in self._links:
            self._send(shard, Op.LOOKUP, step, parts[shard])
        rows = torch.zeros((len(distinct), self._dim))
        for shard in self._links:
            answer = self._receive(shard)
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
        for shard, link in self._links.items():
            ids, place = looked.ids[shard], looked.places[shard]
            parts = ids, looked.times[place], gradients[place]
            try:
                link.send(Op.UPDATE, step, *(part.numpy() for part in parts))
            except PeerLostError:
                link.close()  # half a message may have gone

    def _send(self, shard: int, op: Op, step: int, *parts: Tensor) -> None:
        try:
            self._links[shard].send(op, step, *(part.numpy() for part in parts))
        except PeerLostError:
            raise ServerLostError(self._answering[shard]) from None

    def _receive(self, shard: int) -> bytearray:
        try:
            answer = self._links[shard].receive()
        except PeerLostError:
            raise ServerLostError(self._answering[shard]) from None
        if answer.op == Op.LOST:
            raise ServerLostError(answer.step)
        return answer.parts[0] if answer.parts else bytearray()
