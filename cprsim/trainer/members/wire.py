"""Messages between processes: a header and raw arrays over a Unix socket."""

import json
import socket
import struct
from collections import deque
from collections.abc import Callable
from enum import IntEnum, unique
from itertools import islice
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: What can be sent: bytes, or an array as it lies in memory.
Raw: TypeAlias = bytes | bytearray | NDArray[Any]
_MOST_PARTS = 3
#: Operation, number of parts, step, and the size of each part, B.
_HEADER = struct.Struct(f"<BBxxxxxxq{_MOST_PARTS}Q")
#: How many pieces one call sends at most, and how long a queue at one socket may be.
_PIECES, _QUEUE = 64, 128


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
    DIGEST = 16  # answered by itself, with a hash of all state
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


#: What names servers that don't answer.
_NAMING = (Op.GREET, Op.SYNC, Op.LOST, Op.LOADED)


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

    @property
    def lost(self) -> set[int]:
        """Servers that it says don't answer."""
        return {*self.facts.get("lost", ())} if self.op in _NAMING else set()


class PeerLostError(Exception):
    """The other side has gone, or has been silent for longer than the deadline."""


def packed(op: Op, step: int, parts: tuple[Raw, ...]) -> list[memoryview]:
    """A message as it is sent; arrays, which must be contiguous, go as they lie in memory."""
    views = [memoryview(part.data if isinstance(part, np.ndarray) else part) for part in parts]
    sizes = [view.nbytes for view in views]
    header = _HEADER.pack(op, len(views), step, *sizes, *[0] * (_MOST_PARTS - len(sizes)))
    return [memoryview(header), *(view.cast("B") for view in views if view.nbytes)]


class Arriving:
    """A message of which pieces arrive."""

    def __init__(self) -> None:
        self._begun: tuple[Op, int] | None = None
        self._parts = [bytearray(_HEADER.size)]
        self._at = self._filled = 0

    @property
    def room(self) -> memoryview:
        """Where the next piece belongs."""
        return memoryview(self._parts[self._at])[self._filled :]

    def take(self, got: int) -> Message | None:
        """So many bytes have come into the room; the message, once it is whole."""
        self._filled += got
        if self._begun is None and self._filled == _HEADER.size:
            op, count, step, *sizes = _HEADER.unpack(self._parts[0])
            self._begun = Op(op), step
            self._parts = [bytearray(size) for size in sizes[:count]]
            self._at = self._filled = 0
        if self._begun is None:
            return None
        while self._at < len(self._parts) and self._filled == len(self._parts[self._at]):
            self._at, self._filled = self._at + 1, 0
        if self._at < len(self._parts):
            return None
        message = Message(*self._begun, tuple(self._parts))
        self.__init__()  # type: ignore[misc]
        return message


class Link:
    """The controller's end of a connection: each send and receive has the deadline."""

    def __init__(self, end: socket.socket, deadline_s: float | None) -> None:
        end.settimeout(deadline_s)
        self._socket = end

    @classmethod
    def to(cls, address: Path | str, deadline_s: float) -> "Link":
        """Connect to a listening socket."""
        return cls(connected(address, deadline_s), deadline_s)

    def send(self, op: Op, step: int = 0, *parts: Raw) -> None:
        """Send a message."""
        try:
            for piece in packed(op, step, parts):
                self._socket.sendall(piece)
        except OSError as error:  # a timeout is one
            raise PeerLostError(str(error)) from None

    def tell(self, op: Op, step: int, facts: dict[str, Any], *parts: Raw) -> None:
        """Send a message whose first part is JSON."""
        self.send(op, step, json.dumps(facts).encode(), *parts)

    def receive(self) -> Message:
        """Wait for the next message."""
        arriving = Arriving()
        while True:
            try:
                # The deadline is for each piece: whoever goes on sending is not silent.
                got = self._socket.recv_into(arriving.room)
            except OSError as error:
                raise PeerLostError(str(error)) from None
            if not got:
                raise PeerLostError("the connection is closed")
            message = arriving.take(got)
            if message is not None:
                return message

    def fileno(self) -> int:
        """For `select` and its like."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()


class Channel:
    """A member's end of a connection, which never blocks.

    Attributes
    ----------
    inbox
        What has come and nobody has taken.
    gone
        The other side has, or this end is closed; what is in the inbox came before.
    """

    def __init__(self) -> None:
        self.inbox: deque[Message] = deque()
        self.gone = False

    def put(self, op: Op, step: int = 0, *parts: Raw) -> None:
        """Begin to send a message; its arrays must stay as they are until it is sent."""
        raise NotImplementedError

    def tell(self, op: Op, step: int, facts: dict[str, Any], *parts: Raw) -> None:
        """Begin to send a message whose first part is JSON."""
        self.put(op, step, json.dumps(facts).encode(), *parts)

    @property
    def sent(self) -> bool:
        """Whether all that was put is on its way, if the other side is there."""
        raise NotImplementedError

    def close(self) -> None:
        """Close this end; what was not sent yet never is."""
        raise NotImplementedError


class SocketChannel(Channel):
    """One over a socket; `flush` and `fill` are called when it is ready for that.

    `watch` is called with what it waits for (`selectors.EVENT_READ`, `EVENT_WRITE`) when that is
    something else than before; with 0 at its end.
    """

    def __init__(self, end: socket.socket, watch: "Callable[[SocketChannel, int], None]") -> None:
        super().__init__()
        end.setblocking(False)
        self._socket, self._watch = end, watch
        self._pieces: deque[memoryview] = deque()
        self._arriving = Arriving()
        watch(self, EVENT_READ)

    def put(self, op: Op, step: int = 0, *parts: Raw) -> None:
        """Send as much of a message as the socket takes now."""
        if not self.gone:
            waits = bool(self._pieces)
            self._pieces.extend(packed(op, step, parts))
            if not waits:
                self._send()
                if self._pieces:
                    self._watch(self, EVENT_READ | EVENT_WRITE)

    @property
    def sent(self) -> bool:
        """Whether the socket has taken all of it."""
        return not self._pieces

    def flush(self) -> None:
        """Send as much of what is left as the socket takes now."""
        self._send()
        if not self._pieces:
            self._watch(self, EVENT_READ)

    def _send(self) -> None:
        try:
            while self._pieces:
                taken = self._socket.sendmsg(list(islice(self._pieces, _PIECES)))
                while taken:
                    first = self._pieces.popleft()
                    if taken < len(first):
                        self._pieces.appendleft(first[taken:])
                    taken -= min(taken, len(first))
        except BlockingIOError:
            return
        except OSError:  # it is gone: so says the end of what it had sent before
            self._pieces.clear()

    def fill(self) -> None:
        """Receive what is there, up to the end of a message."""
        try:
            message = None
            while message is None:
                got = self._socket.recv_into(self._arriving.room)
                if not got:
                    self._end()
                    return
                message = self._arriving.take(got)
            self.inbox.append(message)
        except BlockingIOError:
            return
        except OSError:
            self._end()

    def _end(self) -> None:
        if not self.gone:
            self.gone = True
            self._pieces.clear()
            self._watch(self, 0)

    def fileno(self) -> int:
        """For `select` and its like."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self._end()
        self._socket.close()


def connected(address: Path | str, deadline_s: float | None) -> socket.socket:
    """A socket that is connected to a listening one."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        end.settimeout(deadline_s)
        end.connect(str(address))
    except OSError as error:
        end.close()
        raise PeerLostError(str(error)) from None
    return end


def listening(address: Path) -> socket.socket:
    """A socket that others can connect to."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.bind(str(address))
    end.listen(_QUEUE)
    return end
