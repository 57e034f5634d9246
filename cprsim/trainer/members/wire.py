"""Messages between processes: pickles over Unix sockets, each after its length."""

import pickle
import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum, unique
from types import MappingProxyType
from typing import Any, NamedTuple

from numpy.typing import NDArray

#: The length of the pickle after it, B.
_LENGTH = struct.Struct("<Q")
#: Of messages that say nothing more.
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@unique
class Op(IntEnum):
    """What a message asks for or answers."""

    # A trainer to a server, and its answers; they name servers that don't answer this one
    GREET = 1  # step: the epoch of this connection; the shard, who holds copies; answered by itself
    LOOKUP = 2  # ids -> ROWS, or LOST
    ROWS = 3
    UPDATE = 4  # ids, how often each was accessed, gradients; not answered
    SYNC = 5  # answered by itself, once all that was sent before is done
    KEEP = 7  # the trainer's dense part, step steps of it done, last gradients; not answered
    KEPT = 8  # answered by itself, with what it was last told to keep, or nothing

    # A server to another: GREET, SYNC and UPDATE for copies, and
    FETCH = 6  # answered by itself: all rows of a shard; then, those changed since

    # The controller to a server or a trainer, and their answers
    READY = 10  # it can be spoken to
    LOAD = 11  # step -> LOADED, with the step that was found
    LOADED = 12
    SAVE = 13  # the number of the save -> TAKEN, then SAVED, with that number
    TAKEN = 14  # training may go on
    SAVED = 15
    CONNECT = 17  # to a trainer: addresses of all servers; answered by itself, step: of its MLPs
    TRAIN = 18  # to a trainer: the step to train to -> STEPPED again and again, then TRAINED
    STEPPED = 19
    TRAINED = 20
    LOST = 21  # instead of an answer: which servers don't answer
    PREDICT = 22  # -> PREDICTED
    PREDICTED = 23
    FAILED = 24  # from a member that can't go on, for a reason that starting it again won't cure
    HALT = 25  # to a trainer: end TRAIN after the step it is in; not answered if it trains no more
    FILL = 26  # to a server: where to fetch shards from -> LOADED
    CATCH_UP = 27  # to a server: fetch what has changed since -> LOADED


class Message(NamedTuple):
    """One message: `step` is a number that goes with the operation."""

    op: Op
    step: int = 0
    arrays: tuple[NDArray[Any], ...] = ()
    facts: Mapping[str, Any] = _NOTHING

    @property
    def lost(self) -> set[int]:
        """Servers that it says don't answer."""
        return {*self.facts.get("lost", ())}


class PeerLostError(Exception):
    """The other side has gone, or has been silent for longer than the deadline."""


def packed(message: Message) -> bytes:
    """A message as it is sent: its arrays as they are now."""
    op, step, arrays, facts = message
    told = pickle.dumps((int(op), step, arrays, dict(facts)), pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(told)) + told


class Arriving:
    """Messages of which pieces arrive."""

    def __init__(self) -> None:
        self._come = bytearray()

    def take(self, piece: bytes) -> Iterator[Message]:
        """Those that are whole with this piece."""
        self._come += piece
        while len(self._come) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._come)
            end = _LENGTH.size + length
            if len(self._come) < end:
                return
            with memoryview(self._come) as come, come[_LENGTH.size : end] as told:
                op, step, arrays, facts = pickle.loads(told)
            del self._come[:end]
            yield Message(Op(op), step, arrays, facts)
