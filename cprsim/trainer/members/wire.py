"""Messages between processes: a header and raw arrays over a Unix socket, with a deadline."""

import json
import select
import socket
import struct
import threading
from enum import IntEnum, unique
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

#: What can be sent: bytes, or an array as it lies in memory.
Raw: TypeAlias = bytes | NDArray[Any]
_MOST_PARTS = 3
#: Operation, number of parts, step, and the size of each part, B.
_HEADER = struct.Struct(f"<BBxxxxxxq{_MOST_PARTS}Q")


@unique
class Op(IntEnum):
    """What a message asks for or answers."""

    # A trainer to a server, and its answers; LOST where another that holds copies doesn't answer
    GREET = 1  # step: the epoch of this connection; the shard, who holds copies; answered by itself
    LOOKUP = 2  # ids, or nothing for all rows -> ROWS
    ROWS = 3
    UPDATE = 4  # ids, how often each was accessed, gradients, or of all rows these; not answered
    SYNC = 5  # answered by itself, once all that was sent before is done

    # A server to another: GREET, UPDATE and SYNC for copies, and
    FETCH = 6  # answered by itself: all rows of a shard; then, those changed since

    # The controller to a server or a trainer, and their answers
    READY = 10  # it can be spoken to
    LOAD = 11  # step -> LOADED, with the step that was found
    LOADED = 12
    SAVE = 13  # the number of the save -> TAKEN, then SAVED, with that number
    TAKEN = 14  # training may go on
    SAVED = 15
    DIGEST = 16  # answered by itself, with a hash of all state
    CONNECT = 17  # to a trainer: addresses of all servers; answered by itself
    TRAIN = 18  # to a trainer: the step to train to -> STEPPED again and again, then TRAINED
    STEPPED = 19
    TRAINED = 20
    LOST = 21  # instead of an answer: which server does not answer
    LEAVE = 28  # to a trainer: close connections to servers; answered by itself
    PREDICT = 22  # -> PREDICTED
    PREDICTED = 23
    FAILED = 24  # from a member that can't go on, for a reason that starting it again won't cure
    HALT = 25  # to a trainer: end TRAIN after the step it is in; not answered if it trains no more
    FILL = 26  # to a server: where to fetch shards from -> LOADED
    CATCH_UP = 27  # to a server: fetch what has changed since -> LOADED


class Message(NamedTuple):
    """One message: `step` is a number that goes with the operation, `parts` are raw bytes."""

    op: Op
    step: int
    parts: tuple[bytearray, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """The first part, which is JSON."""
        found: dict[str, Any] = json.loads(self.parts[0])
        return found


class PeerLostError(Exception):
    """The other side has gone, or has been silent for longer than the deadline."""


class Link:
    """One end of a connection. Every send and every receive has the deadline.

    Several threads may send; one receives.
    """

    def __init__(self, end: socket.socket, deadline_s: float | None) -> None:
        end.settimeout(deadline_s)
        self._socket = end
        self._sending = threading.Lock()

    @classmethod
    def to(cls, address: Path, deadline_s: float) -> "Link":
        """Connect to a listening socket."""
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            end.settimeout(deadline_s)
            end.connect(str(address))
        except OSError as error:
            end.close()
            raise PeerLostError(str(error)) from None
        return cls(end, deadline_s)

    def send(self, op: Op, step: int = 0, *parts: Raw) -> None:
        """Send a message; arrays, which must be contiguous, go as they lie in memory."""
        views = [memoryview(part if isinstance(part, bytes) else part.data) for part in parts]
        sizes = [view.nbytes for view in views]
        header = _HEADER.pack(op, len(views), step, *sizes, *[0] * (_MOST_PARTS - len(sizes)))
        try:
            # A message goes out whole: the thread that writes checkpoints reports over the same
            # link.
            with self._sending:
                self._socket.sendall(header)
                for view in views:
                    if view.nbytes:
                        self._socket.sendall(view)
        except OSError as error:  # a timeout is one
            raise PeerLostError(str(error)) from None

    def tell(self, op: Op, step: int, facts: dict[str, Any], *parts: Raw) -> None:
        """Send a message whose first part is JSON."""
        self.send(op, step, json.dumps(facts).encode(), *parts)

    def receive(self) -> Message:
        """Wait for the next message."""
        op, count, step, *sizes = _HEADER.unpack(self._exactly(_HEADER.size))
        return Message(Op(op), step, tuple(self._exactly(size) for size in sizes[:count]))

    @property
    def waiting(self) -> bool:
        """Whether there is something to receive."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def _exactly(self, size: int) -> bytearray:
        whole = bytearray(size)
        left = memoryview(whole)
        while left:
            try:
                # The deadline is for each piece: whoever goes on sending is not silent.
                got = self._socket.recv_into(left)
            except OSError as error:
                raise PeerLostError(str(error)) from None
            if not got:
                raise PeerLostError("the connection is closed")
            left = left[got:]
        return whole

    def fileno(self) -> int:
        """For `select` and its like."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()


def listening(address: Path) -> socket.socket:
    """A socket that others can connect to."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.bind(str(address))
    end.listen()
    return end
