"""Lost entries of a server, worked out from the rest of their groups, while those are trained."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.coded_rows import Bits, CodedRows, Difference, Ids
from cprsim.trainer.members.copying import Forwarder, SourcesLostError
from cprsim.trainer.members.waiting import Around, Steps, Wait, answers, sent
from cprsim.trainer.members.wire import Channel, Message, Op, PeerLostError

#: Stripes that are read at once, at most. Chosen: some 100 kB from each server, so that nobody who
#: looks up rows waits long.
_PORTION = 2048
#: Portions from sign of life to sign of life.
_PORTIONS = 16
#: Rounds of all links in which what has come is taken: one that reads it, one in which whoever
#: serves that link takes it.
_ROUNDS = 2
_NONE = np.empty(0, np.int64)


class GroupPeers(NamedTuple):
    """Servers that share groups with this one, as of an epoch: where they answer."""

    epoch: int
    addresses: Mapping[int, str]


class _Read(NamedTuple):
    """What the server at one place of a group has: entries, and steps that are in them."""

    steps: NDArray[np.int64]
    bits: Bits


class Decoder:
    """Asks servers for the rest of groups, over links of its own.

    Those go on with their updates. Entries are worked out where the parity has just the updates
    that each row has: whoever is asked says how far it is, and if that differs all are asked again.
    Raises `SourcesLostError` where some of them don't answer.
    """

    def __init__(self, around: Around, coded: CodedRows, deadlines: Deadlines) -> None:
        self._around, self._coded, self._deadlines = around, coded, deadlines
        self._links: dict[str, Channel] = {}

    def learn(self, peers: GroupPeers) -> Steps[None]:
        """All entries are lost, and have the steps that others know of."""
        for place in range(self._coded.parity_place + 1):
            found = yield from self._ask(peers, place, _NONE, {}, peers.epoch)
            self._coded.lose(place, self._steps(found, place))

    def decode(
        self, peers: GroupPeers, place: int, stripes: Ids, void: Callable[[], bool] = lambda: False
    ) -> Steps[None]:
        """Work out those of these entries of a place that are lost, unless that is `void`."""
        coded, least, version, portion = self._coded, dict[int, int](), -1, _PORTION
        while stripes.size and not void():
            asked = stripes[:portion]
            asked = asked[coded.lost[place, asked]]
            if not asked.size:
                stripes = stripes[portion:]
                continue
            if version != coded.version:  # the rows have returned to a checkpoint
                least, version = {}, coded.version
            found = yield from self._ask(peers, place, asked, least)
            least = {q: int(read.steps[0]) for q, read in found.items() if q != coded.parity_place}
            if place == coded.parity_place:
                yield from self._heard(least)
            steps = coded.heard if place == coded.parity_place else found[coded.parity_place].steps
            # The fewer are read, the less is trained meanwhile.
            portion = max(portion // 2, 1)
            if version == coded.version and all(steps[q] == step for q, step in least.items()):
                coded.install(place, asked, _xor([read.bits for read in found.values()]))
                portion = min(4 * portion, _PORTION)

    def decode_all(
        self, peers: GroupPeers, progress: Callable[[], None], void: Callable[[], bool]
    ) -> Steps[None]:
        """Work out all that is lost; `progress` is called again and again."""
        for place, lost in enumerate(self._coded.lost):
            stripes = np.flatnonzero(lost)
            many = _PORTIONS * _PORTION
            for first in range(0, len(stripes), many):
                yield from self.decode(peers, place, stripes[first : first + many], void)
                progress()

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _steps(self, found: Mapping[int, _Read], place: int) -> list[int]:
        """Those that are in the entries of a place, as the others know: for the parity, of each."""
        parity = self._coded.parity_place
        if place == parity:
            return [int(found[q].steps[0]) for q in range(parity)]
        return [int(found[parity].steps[place])]

    def _ask(
        self, peers: GroupPeers, place: int, stripes: Ids, least: Mapping[int, int], after: int = 0
    ) -> Steps[dict[int, _Read]]:
        """What the others of the group have at these stripes, by their places.

        `least`: steps of theirs that the parity must have heard of. `after`: all that this server
        had sent before that epoch, before it died, has to be in what they have.
        """
        coded, servers = self._coded, dict[int, int]()
        links, gone = dict[int, Channel](), set[int]()
        facts = [coded.number, after, *(least.get(q, 0) for q in range(coded.stripes.data))]
        for q in range(coded.parity_place + 1):
            if q == place:
                continue
            server = servers[q] = coded.stripes.member(coded.number, place, q)
            try:
                links[q] = self._link(peers.addresses[server])
            except PeerLostError:
                gone.add(server)
            else:
                links[q].put(Op.READ, q, np.array(facts), stripes)
        found = yield from answers(links, self._around.now_s() + self._deadlines.passed_s)
        gone |= {servers[q] for q in links.keys() - found.keys()}
        gone.update(*(message.lost for message in found.values()))
        if gone:
            self.close()  # answers may still come
            raise SourcesLostError(gone)
        return {q: self._read(message) for q, message in found.items()}

    def _read(self, message: Message) -> _Read:
        steps, *bits = message.parts
        return _Read(np.frombuffer(steps, np.int64), self._coded.bits_of(bits))

    def _link(self, address: str) -> Channel:
        # One link each: a server shares several groups with this one, but is asked for one at once.
        if address not in self._links or self._links[address].gone:
            self._links[address] = self._around.connect(address)
        return self._links[address]

    def _heard(self, least: Mapping[int, int]) -> Steps[None]:
        """Wait until this server's parity has so many steps of each source."""
        coded, within_s = self._coded, self._deadlines.passed_s
        yield from _waited(self._around, lambda: not coded.behind(least), within_s)
        if coded.behind(least):
            raise SourcesLostError(coded.behind(least))


def _waited(around: Around, ready: Callable[[], object], within_s: float) -> Steps[None]:
    """Wait for what others send, for so long, and until what has come by then is taken.

    A server that didn't run for longer finds its limit passed with all of it unread.
    """
    yield Wait(ready, around.now_s() + within_s)
    for _ in range(_ROUNDS):
        if not ready():
            yield Wait(lambda: True)


def _xor(all_bits: list[Bits]) -> Bits:
    weights, squares = zip(*all_bits, strict=True)
    return reduce(np.bitwise_xor, weights), reduce(np.bitwise_xor, squares)


class Reconstruction:
    """What a server works out that was started anew, whom it asks, and what it tells others.

    Attributes
    ----------
    coded
        What it holds.
    peers
        Whom it asks.
    """

    def __init__(self, around: Around, coded: CodedRows, deadlines: Deadlines) -> None:
        self.around, self.coded, self.deadlines = around, coded, deadlines
        self.peers = GroupPeers(0, {})
        self._decoder = Decoder(around, coded, deadlines)
        self._anew = True  # it holds what the job began with

    def begin(self, epoch: int, sources: Mapping[int, tuple[int, str]]) -> Steps[None]:
        """All is lost, unless it was before, or a checkpoint has been loaded since."""
        self.peers = GroupPeers(epoch, dict(sources.values()))
        if self._anew:
            yield from self._decoder.learn(self.peers)
            self._anew = False

    def end(self, epoch: int) -> Steps[None]:
        """Work out all that is lost still; the controller is told that it goes on."""

        def progress() -> None:
            self.around.control.tell(Op.FILLING, 0, {"epoch": epoch})

        def void() -> bool:
            # Others may have returned already: their steps and those of this parity never meet.
            return any(each.op == Op.LOAD for each in self.around.control.inbox)

        yield from self._decoder.decode_all(self.peers, progress, void)
        self._decoder.close()

    def return_to(self, step: int) -> None:
        """The rows are those of a checkpoint."""
        self.coded.return_to(step)
        self._anew = False

    def give(
        self, link: Channel, asked: Message, drained: Callable[[int, int], bool]
    ) -> Steps[None]:
        """Give entries of a place, as a `Decoder` asks for them.

        `drained`: whether all that a server had sent before an epoch is in the parity.
        """
        coded, place = self.coded, asked.step
        by, epoch, *steps = np.frombuffer(asked.parts[0], np.int64).tolist()
        stripes = np.frombuffer(asked.parts[1], np.int64)
        least = dict(enumerate(steps)) if place == coded.parity_place else {}

        def late() -> set[int]:
            if coded.lacks(place, stripes) or not drained(by, epoch):
                return {coded.number}
            return coded.behind(least)

        if late():
            yield from _waited(self.around, lambda: link.gone or not late(), self.deadlines.heard_s)
        if lost := late():
            link.tell(Op.LOST, place, {"lost": sorted(lost)})
        else:
            link.put(Op.READ, place, coded.steps(place).copy(), *coded.read(place, stripes))
        yield from sent([link])


class Coding:
    """What a server does with a connection where rows have parities."""

    def __init__(self, forwarder: Forwarder, reconstruction: Reconstruction) -> None:
        self.forwarder, self.state = forwarder, reconstruction.coded.own
        self._reconstruction, self._coded = reconstruction, reconstruction.coded
        self._decoder = Decoder(
            reconstruction.around, reconstruction.coded, reconstruction.deadlines
        )

    def push_again(self) -> Steps[None]:
        """Send what was sent last, if anything: a parity may lack it, or passes over it."""
        yield from self._send(self._coded.last)

    def prepare(self, message: Message) -> Steps[None]:
        """Work out rows that a message names, or all of them."""
        ids = np.frombuffer(message.parts[0], np.int64) if message.parts else None
        try:
            for place, stripes in self._coded.lost_of(ids).items():
                yield from self._decoder.decode(self._reconstruction.peers, place, stripes)
        except SourcesLostError as gone:
            self.forwarder.lost.update(gone.servers)

    def update(self, message: Message, counts: Callable[[], bool]) -> Steps[None]:
        """Apply an update, if it still counts, and send on what it has changed.

        Where its rows can't be worked out it is pushed again, or the job returns to a checkpoint.
        """
        yield from self.prepare(message)
        if not self.forwarder.lost and counts():
            yield from self._send(self._coded.update(message))

    def _send(self, differences: Mapping[int, Difference]) -> Steps[None]:
        coded = self._coded
        for place, each in differences.items():
            server = coded.stripes.member(coded.number, place, coded.parity_place)
            self.forwarder.put(server, Op.DIFFER, each.step, each.stripes, *each.bits)
        yield from self.forwarder.taken()

    def close(self) -> None:
        """Close all connections of its own."""
        self.forwarder.close()
        self._decoder.close()
