"""Copies of shards between servers: updates that go on to them, and rows that are fetched."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cprsim.trainer.members.shard_state import ShardState
from cprsim.trainer.members.wire import Link, Message, Op, PeerLostError


class Ring(NamedTuple):
    """So many `copies` of each shard, on its own server and on those after it on the ring."""

    servers: int
    copies: int = 1

    def shards(self, server: int) -> list[int]:
        """Those that a server holds, its own first."""
        return [(server - each) % self.servers for each in range(self.copies)]

    def holders(self, shard: int, without: Collection[int] = ()) -> list[int]:
        """Servers that hold a shard: the first of them answers for it, the others follow."""
        found = ((shard + each) % self.servers for each in range(self.copies))
        return [server for server in found if server not in without]


class Forwarder:
    """Passes what a trainer sends for one shard on to the other servers that hold copies of it.

    Each connection of a trainer has its own, so that nothing waits for anything in a circle.

    Attributes
    ----------
    lost
        A server that doesn't answer.
    """

    def __init__(
        self, shard: int, copies: Sequence[tuple[int, str]], epoch: int, deadline_s: float
    ) -> None:
        self.lost: int | None = None
        self._links: dict[int, Link] = {}
        for server, address in copies:
            try:
                link = self._links[server] = Link.to(Path(address), deadline_s)
                link.tell(Op.GREET, epoch, {"shard": shard, "copies": []})
                link.receive()
            except PeerLostError:
                self.lost = server

    def pass_on(self, message: Message) -> None:
        """Send a message on."""
        parts = [np.frombuffer(part, np.uint8) for part in message.parts]
        for server, link in self._links.items():
            try:
                link.send(message.op, message.step, *parts)
            # Told with the next answer: an update has none of its own.
            except PeerLostError:
                self.lost = server

    def sync(self) -> None:
        """Wait until all that was sent on is done."""
        for server, link in self._links.items():
            try:
                link.send(Op.SYNC)
                link.receive()
            except PeerLostError:
                self.lost = server

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.close()


class SourceLostError(Exception):
    """A server that rows are fetched from doesn't answer; its number is `server`."""

    def __init__(self, server: int) -> None:
        super().__init__(server)
        self.server = server


class Fetching:
    """Fills shards with the rows that other servers hold, while those are trained.

    Raises `SourceLostError` where one of them doesn't answer.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._fetched: list[tuple[int, ShardState, Link]] = []

    def begin(
        self, sources: Mapping[int, tuple[int, str]], states: Mapping[int, ShardState]
    ) -> None:
        """Fetch all rows of these shards; `sources` are servers and addresses by shard."""
        self.close()
        for shard, (server, address) in sources.items():
            try:
                link = Link.to(Path(address), self._deadline_s)
                self._fetched.append((server, states[shard], link))
                link.send(Op.FETCH, shard)
                answer = link.receive()
            except PeerLostError:
                raise SourceLostError(server) from None
            weights, squares = (np.frombuffer(part, np.float32) for part in answer.parts)
            # These rows are as of the step that the other has applied; what it applies from now on
            # it marks, and `end` fetches it.
            states[shard].become(answer.step, (weights, squares))

    def end(self) -> None:
        """Fetch what has changed since; nothing must be under way to these rows."""
        # Nobody trains now (the controller sees to that), so nothing can be marked after it was
        # asked for.
        for server, state, link in self._fetched:
            try:
                link.send(Op.FETCH)
                answer = link.receive()
            except PeerLostError:
                raise SourceLostError(server) from None
            ids = np.frombuffer(answer.parts[0], np.int64)
            weights, squares = (np.frombuffer(part, np.float32) for part in answer.parts[1:])
            state.become(answer.step, (weights, squares), ids)
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for _, _, link in self._fetched:
            link.close()
        self._fetched.clear()


def give_copy(state: ShardState, link: Link) -> None:
    """Give all rows to who has asked for them, and once it asks again, those changed since."""
    # No lock is held while anything is sent: a slow peer must not stop those that train here.
    applied, (weights, squares), marks = state.begin_copy()
    try:
        link.send(Op.FETCH, applied, weights, squares)
        link.receive()
    except PeerLostError:
        state.end_copy(marks)
        raise
    applied, ids, (weights, squares) = state.end_copy(marks)
    with suppress(PeerLostError):
        link.send(Op.FETCH, applied, ids, weights, squares)
