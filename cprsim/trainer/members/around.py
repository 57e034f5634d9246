"""What members wait for, and the process that they run in.

A member is a handful of coroutines that wait for what `Around.until` is told, over links of its
own. So nothing in a member knows of sockets, threads or clocks. `MemberLoop` runs them in a process
of their own; a test runs many members side by side, over links in memory, in whatever order it
likes, and so can try all that may happen.
"""

import asyncio
import contextlib
import math
import socket
import time
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import torch

from cprsim.errors import CprsimError
from cprsim.runs.workers import end_with_parent
from cprsim.trainer.members.wire import Arriving, Message, Op, PeerLostError, packed

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")
#: What a member does, and what comes of it.
Steps: TypeAlias = Coroutine[Any, Any, T]
#: How long a queue at one socket may be.
_QUEUE = 128


class Link:
    """A member's end of a connection, which never blocks.

    Attributes
    ----------
    inbox
        What has come and nobody has taken.
    gone
        The other side has, or this end is closed; what is in the inbox came before.
    sent
        Whether all that was put is on its way, if the other side is there.
    """

    def __init__(self) -> None:
        self.inbox: deque[Message] = deque()
        self.gone = False
        self.sent = True

    def put(self, op: Op, step: int = 0, *arrays: Any, **facts: Any) -> None:
        """Begin to send a message."""
        self.pass_on(Message(op, step, arrays, facts))

    def pass_on(self, message: Message) -> None:
        """Begin to send a message that has come from somewhere else."""
        raise NotImplementedError

    def close(self) -> None:
        """Close this end; what was not sent yet never is."""
        raise NotImplementedError


class Beside(Protocol[T_co]):
    """Something that is done beside all else."""

    def done(self) -> bool:
        """Whether it is over."""

    def result(self) -> T_co:
        """What came of it; raises what it raised."""


class Around:
    """What a member has around it; `control` is its link to the controller."""

    control: Link

    def now_s(self) -> float:
        """Of the clock that limits are of."""
        raise NotImplementedError

    async def until(self, ready: Callable[[], object], due_s: float = math.inf) -> None:
        """Wait until `ready` is true, or until `due_s` of the clock."""
        raise NotImplementedError

    async def look(self) -> None:
        """Let what has come be seen, and others go on."""
        raise NotImplementedError

    async def connect(self, address: str) -> Link:
        """Connect to a server; raises `PeerLostError` if there is none."""
        raise NotImplementedError

    def beside(self, work: Callable[[], T]) -> Beside[T]:
        """Do this beside all else, after what was to be done so before."""
        raise NotImplementedError

    def begin(self, steps: Steps[None]) -> None:
        """Take these steps as well, from now on."""
        raise NotImplementedError

    async def while_there(self, link: Link, ready: Callable[[], object], due_s: float) -> None:
        """As `until`; raises `PeerLostError` where the other side of `link` goes first."""
        await self.until(lambda: link.gone or ready(), due_s)
        if link.gone:
            raise PeerLostError("the connection is closed")

    async def received(self, link: Link) -> Message:
        """The next message, whenever it comes; raises `PeerLostError` if none will."""
        await self.until(lambda: link.inbox or link.gone)
        if not link.inbox:
            raise PeerLostError("the connection is closed")
        return link.inbox.popleft()

    async def sent(self, links: Collection[Link], due_s: float = math.inf) -> None:
        """Wait until all have sent what was put, or have gone."""
        await self.until(lambda: all(each.sent or each.gone for each in links), due_s)

    async def answers(self, links: Mapping[K, Link], due_s: float) -> dict[K, Message]:
        """The next message of each; of who has gone, or says nothing until then, there is none."""
        await self.until(lambda: all(each.inbox or each.gone for each in links.values()), due_s)
        return {key: each.inbox.popleft() for key, each in links.items() if each.inbox}


class _SocketLink(Link, asyncio.Protocol):
    """One over a socket of the loop's."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed, self._arriving = changed, Arriving()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.set_write_buffer_limits(high=0)  # `sent` once the socket has all of it
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.inbox.extend(self._arriving.take(data))
        self._changed()

    def connection_lost(self, _: Exception | None) -> None:
        self.gone = True
        self._changed()

    def pause_writing(self) -> None:
        self.sent = False

    def resume_writing(self) -> None:
        self.sent = True
        self._changed()

    def pass_on(self, message: Message) -> None:
        """Send as much of a message as the socket takes now."""
        if not self.gone and self._transport is not None:
            self._transport.write(packed(message))

    def close(self) -> None:
        """Close this end."""
        self.gone = True
        if self._transport is not None:
            self._transport.abort()


class MemberLoop(Around):
    """Sockets, a clock and a thread around a member.

    One thread does all that touches the member's state. The other one writes files.
    """

    def __init__(self) -> None:
        self._tasks: asyncio.TaskGroup
        self._change = asyncio.Event()
        # One thread: checkpoints are written in the order in which they were taken.
        self._writer = ThreadPoolExecutor(1, "writer")
        self._open = contextlib.ExitStack()

    def now_s(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    async def until(self, ready: Callable[[], object], due_s: float = math.inf) -> None:
        """Look again whenever something has changed."""
        while not ready() and (left_s := due_s - self.now_s()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if left_s == math.inf else left_s):
                    await self._change.wait()

    async def look(self) -> None:
        """What has come is read in the round after this one."""
        for _ in range(2):
            await asyncio.sleep(0)

    async def connect(self, address: str) -> Link:
        """Connect to a server's socket; who hangs has it accepted by the system."""
        loop, link = asyncio.get_running_loop(), self._link()
        try:
            await loop.create_unix_connection(lambda: link, address)
        except OSError as error:
            raise PeerLostError(str(error)) from None
        return link

    def beside(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Do this in the thread that writes."""
        found = asyncio.get_running_loop().run_in_executor(self._writer, work)
        found.add_done_callback(lambda _: self._changed())
        return found

    def begin(self, steps: Steps[None]) -> None:
        """Take these steps as well."""
        self._tasks.create_task(steps).add_done_callback(lambda _: self._changed())

    async def listen(self, address: Path, serve: Callable[[Link], Steps[None]]) -> None:
        """Serve whoever comes to this address."""

        def accept() -> _SocketLink:
            link = self._link()
            self.begin(serve(link))
            return link

        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(accept, address, backlog=_QUEUE)
        self._open.callback(server.close)

    async def live(
        self, control: socket.socket, obey: Callable[["MemberLoop"], Steps[None]]
    ) -> None:
        """Be a member until the controller has gone; raises what is the member's own fault."""
        loop = asyncio.get_running_loop()
        _, self.control = await loop.create_unix_connection(self._link, sock=control)
        self._open.callback(self.control.close)
        self._open.callback(self._writer.shutdown, wait=False)
        try:
            with reported(self.control):
                async with asyncio.TaskGroup() as self._tasks:
                    self.begin(obey(self))
        finally:
            await self.sent([self.control])  # the controller is told all that it is told
            self._open.close()

    def _link(self) -> _SocketLink:
        return _SocketLink(self._changed)

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


def run_member(obey: Callable[[MemberLoop], Steps[None]], control: socket.socket) -> None:
    """Be a member of the cluster until the controller has gone.

    `obey` makes the member and is what it does. An error of its own, wherever it comes from, ends
    the job: to start the member again would bring the same.
    """
    end_with_parent()
    torch.set_num_threads(1)  # more would spin for cores that other members use
    asyncio.run(MemberLoop().live(control, obey))


@contextlib.contextmanager
def reported(control: Link) -> Iterator[None]:
    """Tell the controller of errors in this block that are the member's own; then it ends."""
    try:
        yield
    except BaseExceptionGroup as group:
        # The controller's end: all others are the member's to handle.
        own = [error for error in group.exceptions if not isinstance(error, PeerLostError)]
        if not own:
            return
        error = own[0]
        control.put(Op.FAILED, error=_said(error))
        if not isinstance(error, OSError | CprsimError):  # a defect: where it is helps
            raise error from None


def _said(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:  # a full disk, and which
        return f"{error.filename}: {error.strerror}"
    return str(error) if isinstance(error, CprsimError) else repr(error)
