"""Connections of a trainer: to servers of rows, and to that of the dense part, if there is one."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from cprsim.trainer.wire import Link, Op, PeerLostError, Raw


class ServerLostError(Exception):
    """A server has gone or is silent; `server` is its place among those that are connected to."""

    def __init__(self, server: int) -> None:
        super().__init__(server)
        self.server = server


class Connections:
    """One connection to each server, in their order; each answer has the deadline.

    All methods but `close` and `settle` raise `ServerLostError` where a server doesn't answer.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
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

    def send(self, server: int, op: Op, step: int, *parts: Raw) -> None:
        """Send a message."""
        try:
            self._links[server].send(op, step, *parts)
        except PeerLostError:
            raise ServerLostError(server) from None

    def receive(self, server: int) -> bytearray:
        """Wait for the next message; its first part, or nothing."""
        try:
            parts = self._links[server].receive().parts
        except PeerLostError:
            raise ServerLostError(server) from None
        return parts[0] if parts else bytearray()

    def _ask(self, op: Op, step: int) -> None:
        for server in range(len(self._links)):
            self.send(server, op, step)
        for server in range(len(self._links)):
            self.receive(server)
