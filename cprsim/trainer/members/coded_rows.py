"""A server's rows and the parity that it holds, and which entries of both are lost."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.shard_state import ShardState
from cprsim.trainer.members.stripes import Stripes
from cprsim.trainer.members.wire import Message

#: Bits of weights, shape (stripes, dim), and of optimiser state, shape (stripes,), both int32.
Bits: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]
#: Numbers of stripes, or of rows.
Ids: TypeAlias = NDArray[np.int64]


class Difference(NamedTuple):
    """What the update of a step has changed in rows of one group: bits before XOR bits after."""

    step: int
    stripes: Ids
    bits: Bits


class CodedRows:
    """A server's entries in all its groups, by the place that it has there.

    `group`: what makes the rows that it holds the parity of, as they are at the start of the job;
    nothing where it replaces another, whose parity is to be worked out. `rows`: most rows of these
    servers and its own.

    At the places up to `data` these are rows of its own, at the last one a parity: the exclusive or
    of the bits of `data` rows and of their optimiser state, which is exact, where sums of floats
    are not.

    Attributes
    ----------
    lost
        Entries that are to be worked out from the rest of their groups, shape (places, stripes).
    applied
        Steps whose updates are in the rows of each place: they may differ by one once a server
        has died between two groups.
    heard
        Steps whose updates are in the parity, from each place of its group.
    last
        Of each place, the difference that was sent last.
    version
        Counted on whenever the rows return to a checkpoint.
    """

    def __init__(
        self,
        number: int,
        stripes: Stripes,
        own: ShardState,
        rows: int,
        group: Sequence[Callable[[], Shard]],
    ) -> None:
        self.number, self.stripes, self.own = number, stripes, own
        count = -(-rows // stripes.data)
        self._dim = own.shard.weights.shape[1]
        parity = np.zeros((count, self._dim), np.int32), np.zeros(count, np.int32)
        of_rows = [_bits(own.shard, place, stripes.data) for place in range(stripes.data)]
        self._entries = [*of_rows, parity]
        for place, source in enumerate(group):
            for held, bits in zip(parity, _bits(source(), place, stripes.data), strict=True):
                held[: len(bits)] ^= bits
        self.lost = np.zeros((stripes.data + 1, count), bool)
        self.applied, self.heard = (np.zeros(stripes.data, np.int64) for _ in range(2))
        self.version = 0
        self.last: dict[int, Difference] = {}

    @property
    def parity_place(self) -> int:
        """That of the parity."""
        return self.stripes.data

    def steps(self, place: int) -> NDArray[np.int64]:
        """Steps whose updates are in the entries of a place: for the parity, from each source."""
        return self.heard if place == self.parity_place else self.applied[place : place + 1]

    def lose(self, place: int, steps: Sequence[int]) -> None:
        """All entries of a place are lost; they had so many steps."""
        self.lost[place, : len(self._entries[place][0])] = True
        self.steps(place)[:] = steps
        self.own.return_to(int(self.applied.min()))

    def return_to(self, step: int) -> None:
        """The rows are those of a checkpoint, as those of all servers are; the parity is lost."""
        self.version += 1
        self.last.clear()
        self.lost[:] = False
        self.applied[:] = step
        self.lose(self.parity_place, [step] * self.stripes.data)

    def behind(self, least: Mapping[int, int]) -> set[int]:
        """Servers of whose updates fewer than so many steps are in the parity, by their places."""
        late = (place for place, step in least.items() if self.heard[place] < step)
        return {self.stripes.member(self.number, self.parity_place, place) for place in late}

    def read(self, place: int, stripes: Ids) -> Bits:
        """Bits of entries; zeros where a server has none, since another has a row more."""
        weights, squares = self._entries[place]
        found = (
            np.zeros((len(stripes), self._dim), np.int32),
            np.zeros(len(stripes), np.int32),
        )
        held = stripes < len(weights)
        for out, entries in zip(found, (weights, squares), strict=True):
            out[held] = entries[stripes[held]]
        return found

    def install(self, place: int, stripes: Ids, bits: Bits) -> None:
        """Take over entries, those that are lost: others may have been updated meanwhile."""
        lost = self.lost[place, stripes]
        for entries, found in zip(self._entries[place], bits, strict=True):
            entries[stripes[lost]] = found[lost]
        self.lost[place, stripes[lost]] = False

    def lacks(self, place: int, stripes: Ids) -> bool:
        """Whether some of these entries are lost; others may have more than there are here."""
        return bool(self.lost[place, stripes[stripes < self.lost.shape[1]]].any())

    def lost_of(self, ids: Ids | None) -> dict[int, Ids]:
        """By place, stripes of these rows that are lost, or of all of them."""
        if not self.lost.any():
            return {}
        if ids is None:
            ids = np.arange(len(self.own.shard))
        places, stripes = ids % self.stripes.data, ids // self.stripes.data
        lost = self.lost[places, stripes]
        return {place: stripes[lost & (places == place)] for place in range(self.stripes.data)}

    def update(self, message: Message) -> dict[int, Difference]:
        """Apply an update to the rows that lack it; what it has changed, by place."""
        data, step = self.stripes.data, message.step
        behind = [place for place in range(data) if self.applied[place] <= step]
        if not behind:
            return {}
        ids, times, gradients = (
            np.frombuffer(part, kind)
            for part, kind in zip(message.parts, (np.int64, np.int32, np.float32), strict=True)
        )
        chosen = np.isin(ids % data, behind)
        rows = ids[chosen]
        before = self.own.shard.arrays(rows)
        given = rows, times[chosen], gradients.reshape(-1, self._dim)[chosen]
        self.own.update(step, *map(torch.from_numpy, given))
        after = self.own.shard.arrays(rows)
        weights, squares = (
            old.view(np.int32) ^ new.view(np.int32) for old, new in zip(before, after, strict=True)
        )
        found: dict[int, Difference] = {}
        for place in behind:
            mine = rows % data == place
            bits = weights[mine], squares[mine]
            found[place] = Difference(step, rows[mine] // data, bits)
            self.applied[place] = step + 1
        self.last |= found
        return found

    def hear(self, source: int, message: Message) -> None:
        """Apply to the parity what a server has changed in its rows, unless it is in it."""
        place = self.stripes.place(source, self.number)
        if message.step < self.heard[place]:
            return
        stripes = np.frombuffer(message.parts[0], np.int64)
        # What is lost will be worked out with this in it.
        held = ~self.lost[self.parity_place, stripes]
        found = self.bits_of(message.parts[1:])
        for entries, bits in zip(self._entries[self.parity_place], found, strict=True):
            entries[stripes[held]] ^= bits[held]
        self.heard[place] = message.step + 1

    def bits_of(self, parts: Sequence[bytearray]) -> Bits:
        """Bits as they are sent."""
        weights, squares = (np.frombuffer(part, np.int32) for part in parts)
        return weights.reshape(-1, self._dim), squares


def _bits(shard: Shard, place: int, data: int) -> Bits:
    """Bits of the rows that have that place, as they lie in memory."""
    weights, squares = shard.weights.numpy(), shard.squares.numpy()
    return weights.view(np.int32)[place::data], squares.view(np.int32)[place::data]
