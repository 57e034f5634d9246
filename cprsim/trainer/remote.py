"""The rows of all servers, as a trainer sees them."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.trainer.placement import Placement
from cprsim.trainer.uses import Uses
from cprsim.trainer.wire import Link, Op, PeerLostError, Raw


class ServerLostError(Exception):
    """A server has gone or is silent; its number is `server`."""

    def __init__(self, server: int) -> None:
        super().__init__(server)
        self.server = server


class Looked(NamedTuple):
    """The rows that a batch uses, shape (rows, dim), and where it uses them."""

    rows: Tensor
    uses: Uses

    def of_samples(self, tables: int) -> Tensor:
        """Rows by sample and table, shape (B, tables, dim)."""
        return self.uses.spread(self.rows).view(-1, tables, self.rows.shape[1])


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
        uses = Uses(self._placement, sparse)
        for server, part in enumerate(uses.parts):
            self._send(server, Op.LOOKUP, step, uses.ids[part])
        rows = torch.empty((len(uses.ids), self._dim))
        for server, part in enumerate(uses.parts):
            answer = torch.from_numpy(np.frombuffer(self._receive(server), np.float32))
            rows[part] = answer.view(-1, self._dim)
        return Looked(rows, uses)

    def update(self, step: int, looked: Looked, of_samples: Tensor) -> None:
        """Push the gradients of what was looked up, shape (B, tables, dim)."""
        uses = looked.uses
        gradients = uses.collect(of_samples.reshape(-1, self._dim)).numpy()
        for server, part in enumerate(uses.parts):
            self._send(server, Op.UPDATE, step, uses.ids[part], uses.times[part], gradients[part])

    def _ask(self, op: Op, step: int) -> None:
        for server in range(len(self._links)):
            self._send(server, op, step)
        for server in range(len(self._links)):
            self._receive(server)

    def _send(self, server: int, op: Op, step: int, *parts: Raw) -> None:
        try:
            self._links[server].send(op, step, *parts)
        except PeerLostError:
            raise ServerLostError(server) from None

    def _receive(self, server: int) -> bytearray:
        try:
            parts = self._links[server].receive().parts
        except PeerLostError:
            raise ServerLostError(server) from None
        return parts[0] if parts else bytearray()
