"""Connections of the trainer to servers."""

from collections.abc import Collection, Sequence
from typing import Any

from numpy.typing import NDArray

from cprsim.trainer.members.around import Around, Link
from cprsim.trainer.members.wire import Message, Op, PeerLostError


class ServersLostError(Exception):
    """Servers have gone or are silent; `servers` are their numbers."""

    def __init__(self, servers: Collection[int]) -> None:
        super().__init__(sorted(servers))
        self.servers = servers


class Connections:
    """A connection for each shard.

    Whoever is asked is asked together with all others, and all have the same deadline.
    `connect`, `sync` and `answers` raise `ServersLostError` where servers don't answer.
    """

    def __init__(self, around: Around, deadline_s: float) -> None:
        self._around, self._deadline_s = around, deadline_s
        self._links: dict[int, Link] = {}  # by shard
        self._answering: dict[int, int] = {}  # the server that answers for each

    @property
    def shards(self) -> list[int]:
        """Those that there is a connection for."""
        return list(self._links)

    async def connect(self, routes: Sequence[Sequence[tuple[int, str]]], epoch: int) -> None:
        """Connect anew.

        `routes`: of each shard, the server that answers for it and those that hold copies, with
        their addresses; none for one that nobody holds at present.
        """
        self.close()
        gone: set[int] = set()
        for shard, route in enumerate(routes):
            if not route:
                continue
            (server, address), *copies = route
            try:
                link = await self._around.connect(address)
            except PeerLostError:
                gone.add(server)
                continue
            self._links[shard], self._answering[shard] = link, server
            link.put(Op.GREET, epoch, shard=shard, copies=copies, by=None)
        # Each answers once older connections have ended; they wait for that together.
        await self.answers(self._links, gone)

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    async def settle(self, lost: Collection[int]) -> set[int]:
        """Wait until servers have done what was sent; close connections.

        `lost`: those that are known not to answer. Gives all that don't.
        """
        asked = {
            shard: link
            for shard, link in self._links.items()
            if self._answering[shard] not in lost and not link.gone
        }
        for link in asked.values():
            link.put(Op.SYNC)

        # Answers to what was asked before the loss may still come.
        def done(link: Link) -> bool:
            return link.gone or any(each.op == Op.SYNC for each in link.inbox)

        due_s = self._around.now_s() + self._deadline_s
        await self._around.until(lambda: all(done(link) for link in asked.values()), due_s)
        found = {*lost}
        for shard, link in self._links.items():
            if not any(each.op == Op.SYNC for each in link.inbox):
                found.add(self._answering[shard])
            found.update(*(each.lost for each in link.inbox))
        self.close()
        return found

    async def sync(self) -> None:
        """Wait until all that was sent is done."""
        for shard in self._links:
            self.send(shard, Op.SYNC, 0)
        await self.answers(self._links)

    def send(self, shard: int, op: Op, step: int, *arrays: NDArray[Any]) -> None:
        """Begin to send a message; a server that doesn't take it is found out when it answers."""
        self._links[shard].put(op, step, *arrays)

    async def sent(self) -> None:
        """Wait until all that was sent is on its way; who doesn't take it is done with."""
        await self._around.sent(self._links.values(), self._around.now_s() + self._deadline_s)
        for link in self._links.values():
            if not link.sent:
                link.close()  # half a message may have gone

    async def answers(
        self, shards: Collection[int], gone: Collection[int] = ()
    ) -> dict[int, Message]:
        """Wait for the next message of each; servers in `gone` are known not to answer."""
        links = {shard: self._links[shard] for shard in shards}
        found = await self._around.answers(links, self._around.now_s() + self._deadline_s)
        lost = {*gone, *(self._answering[shard] for shard in links.keys() - found.keys())}
        lost.update(*(message.lost for message in found.values()))
        if lost:
            raise ServersLostError(lost)
        return found
