"""Copies of shards between servers: updates that go on to them, and rows that are fetched."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.around import Around, Link
from cprsim.trainer.members.shard import ShardState
from cprsim.trainer.members.wire import Message, Op, PeerLostError


class Ring(NamedTuple):
    """So many `copies` of each shard, on its own server and on those after it on the ring."""

    servers: int
    copies: int = 1

    def shards(self, server: int) -> list[int]:
        """Those that a server holds, its own first."""
        return [(server - each) % self.servers for each in range(self.copies)]

    def copied(self, server: int) -> list[int]:
        """Shards that a server holds beside its own."""
        return self.shards(server)[1:]

    def sources(self, server: int, without: Collection[int] = ()) -> dict[int, int] | None:
        """Who answers for the shards that a server holds, by shard; None if nobody does for one."""
        found = {shard: self.holders(shard, without) for shard in self.shards(server)}
        if not all(found.values()):
            return None
        return {shard: first for shard, (first, *_) in found.items() if first != server}

    def holders(self, shard: int, without: Collection[int] = ()) -> list[int]:
        """Servers that hold a shard: the first of them answers for it, the others follow."""
        found = ((shard + each) % self.servers for each in range(self.copies))
        return [server for server in found if server not in without]


class Forwarder:
    """Passes what a trainer sends for one shard on to the other servers that hold copies of it.

    Each connection of a trainer has its own, so that nothing waits for anything in a circle. All
    copies are told something before any is waited for, all for the same time.

    Attributes
    ----------
    lost
        Servers that don't answer this one, or another.
    """

    def __init__(self, around: Around, deadlines: Deadlines) -> None:
        self._around, self._deadlines = around, deadlines
        self.lost: set[int] = set()
        self._links: dict[int, Link] = {}

    async def greet(
        self, epoch: int, shard: int, copies: Sequence[tuple[int, str]], by: int
    ) -> None:
        """Connect to these servers; `by` is the one that does."""
        for server, address in copies:
            try:
                link = self._links[server] = await self._around.connect(address)
            except PeerLostError:
                self.lost.add(server)
            else:
                link.put(Op.GREET, epoch, shard=shard, copies=[], by=by)

    async def greeted(self, by: Link, due_s: float) -> None:
        """Wait until all have answered that; raises `PeerLostError` where `by` goes first."""
        links = self._links.values()
        await self._around.while_there(
            by, lambda: all(each.inbox or each.gone for each in links), due_s
        )
        await self._answered(due_s)

    async def pass_on(self, message: Message) -> None:
        """Send a message on, and wait until all have taken it."""
        links = self._links.values()
        for link in links:
            link.pass_on(message)
        await self._around.sent(links, self._around.now_s() + self._deadlines.passed_s)
        # Told with the next answer: an update has none of its own.
        self._lose({each for each, link in self._links.items() if link.gone or not link.sent})

    async def sync(self) -> None:
        """Wait until all that was sent on is done."""
        for link in self._links.values():
            link.put(Op.SYNC)
        await self._answered(self._around.now_s() + self._deadlines.passed_s)

    async def _answered(self, due_s: float) -> None:
        found = await self._around.answers(self._links, due_s)
        for message in found.values():
            self.lost |= message.lost
        self._lose(self._links.keys() - found.keys())

    def _lose(self, servers: Collection[int]) -> None:
        """Have nothing more to do with these: half a message may be on its way."""
        for server in servers:
            self._links.pop(server).close()
        self.lost.update(servers)

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.close()


class SourcesLostError(Exception):
    """Servers that rows are fetched from don't answer; their numbers are `servers`."""

    def __init__(self, servers: Collection[int]) -> None:
        super().__init__(sorted(servers))
        self.servers = servers


class _Fetched(NamedTuple):
    server: int
    state: ShardState
    link: Link


class Fetching:
    """Fills shards with the rows that other servers hold, while those are trained.

    Raises `SourcesLostError` where some of them don't answer.
    """

    def __init__(self, around: Around, deadline_s: float) -> None:
        self._around, self._deadline_s = around, deadline_s
        self._fetched: dict[int, _Fetched] = {}

    async def begin(
        self, sources: Mapping[int, tuple[int, str]], states: Mapping[int, ShardState]
    ) -> None:
        """Fetch all rows of these shards; `sources` are servers and addresses by shard."""
        self.close()
        gone = set()
        for shard, (server, address) in sources.items():
            try:
                link = await self._around.connect(address)
            except PeerLostError:
                gone.add(server)
                continue
            self._fetched[shard] = _Fetched(server, states[shard], link)
            link.put(Op.FETCH, shard)
        found = await self._answers(gone)
        for shard, answer in found.items():
            # These rows are as of the step that the other has applied; what it applies from now on
            # it marks, and `end` fetches it.
            states[shard].become(answer.step, answer.arrays)

    async def end(self) -> None:
        """Fetch what has changed since; nothing must be under way to these rows."""
        # Nobody trains now (the controller sees to that), so nothing can be marked after it was
        # asked for.
        for each in self._fetched.values():
            each.link.put(Op.FETCH)
        found = await self._answers(set())
        for shard, answer in found.items():
            ids, *arrays = answer.arrays
            self._fetched[shard].state.become(answer.step, tuple(arrays), ids)
        self.close()

    async def _answers(self, gone: set[int]) -> dict[int, Message]:
        links = {shard: each.link for shard, each in self._fetched.items()}
        found = await self._around.answers(links, self._around.now_s() + self._deadline_s)
        gone |= {self._fetched[shard].server for shard in links.keys() - found.keys()}
        if gone:
            raise SourcesLostError(gone)
        return found

    def close(self) -> None:
        """Close all connections."""
        for each in self._fetched.values():
            each.link.close()
        self._fetched.clear()


async def give_copy(state: ShardState, link: Link, around: Around) -> None:
    """Give all rows to who has asked for them, and once it asks again, those changed since."""
    applied, (weights, squares), marks = state.begin_copy()
    link.put(Op.FETCH, applied, weights, squares)
    try:
        await around.received(link)
    except PeerLostError:
        state.end_copy(marks)
        raise
    applied, ids, (weights, squares) = state.end_copy(marks)
    link.put(Op.FETCH, applied, ids, weights, squares)
    await around.sent([link])
