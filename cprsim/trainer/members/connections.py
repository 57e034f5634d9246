"""Connections of a trainer: to servers of rows, and to that of the dense part, if there is one."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from cprsim.trainer.members.wire import Link, Op, PeerLostError, Raw


class ServerLostError(Exception):
    """A server has gone or is silent; `server` is its place among those that serve."""

    def __init__(self, server: int) -> None:
        super().__init__(server)
        self.server = server


class Connections:
    """A connection for each shard, the dense part being the one after the last of rows.

    Each answer has the deadline.
    `connect`, `sync`, `send` and `receive` raise `ServerLostError` where a server doesn't answer.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._links: dict[int, Link] = {}  # by shard
        self._answering: dict[int, int] = {}  # the server that answers for each

    @property
    def shards(self) -> list[int]:
        """Those that there is a connection for."""
        return list(self._links)

    def connect(self, routes: Sequence[Sequence[tuple[int, str]]], epoch: int) -> None:
        """Connect anew.

        `routes`: of each shard, the server that answers for it and those that hold copies, with
        their addresses; none for one that nobody holds at present.
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
        # All were greeted before any is waited for: each answers once older connections have ended,
        # and they wait for that together.
        for shard in self._links:
            self.receive(shard)

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
                # Answers to what was asked before the loss may still come; the last of them is that
                # to SYNC.
                while link.receive().op not in (Op.SYNC, Op.LOST):
                    pass
        self.close()

    def sync(self) -> None:
        """Wait until all that was sent is done."""
        for shard in self._links:
            self.send(shard, Op.SYNC, 0)
        for shard in self._links:
            self.receive(shard)

    def send(self, shard: int, op: Op, step: int, *parts: Raw) -> None:
        """Send a message."""
        try:
            self._links[shard].send(op, step, *parts)
        except PeerLostError:
            raise ServerLostError(self._answering[shard]) from None

    def push(self, shard: int, step: int, *parts: Raw) -> None:
        """Send an update; a server that doesn't take it is found out when it is asked next."""
        try:
            self._links[shard].send(Op.UPDATE, step, *parts)
        except PeerLostError:
            self._links[shard].close()  # half a message may have gone

    def receive(self, shard: int) -> bytearray:
        """Wait for the next message; its first part, or nothing."""
        try:
            answer = self._links[shard].receive()
        except PeerLostError:
            raise ServerLostError(self._answering[shard]) from None
        if answer.op == Op.LOST:
            raise ServerLostError(answer.step)
        return answer.parts[0] if answer.parts else bytearray()
