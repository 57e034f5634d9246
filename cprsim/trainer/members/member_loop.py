"""The process of a member: it takes the member's steps, whenever what they wait for has come."""

import contextlib
import math
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from cprsim.errors import CprsimError
from cprsim.runs.workers import end_with_parent
from cprsim.trainer.members.waiting import Steps, Wait
from cprsim.trainer.members.wire import (
    Channel,
    Op,
    PeerLostError,
    SocketChannel,
    connected,
)

T = TypeVar("T")
#: More wakes than there are ever, B.
_PIECE = 4096


class MemberLoop:
    """Sockets, a clock and a thread around a member; `control` is its end of the controller's link.

    One thread does all that touches the member's state. The other one writes files.
    """

    def __init__(self, control: socket.socket) -> None:
        self._selector = selectors.DefaultSelector()
        self._tasks: list[tuple[Steps[None], Wait]] = []
        # One thread: checkpoints are written in the order in which they were taken.
        self._writer = ThreadPoolExecutor(1, "writer")
        self._woken, self._wakes = socket.socketpair()
        self._woken.setblocking(False)
        self._selector.register(
            self._woken, selectors.EVENT_READ, lambda _: self._woken.recv(_PIECE)
        )
        self.control: Channel = self._link(control)

    def now_s(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def connect(self, address: str) -> Channel:
        """Connect to a server's socket; who hangs has it accepted by the system."""
        return self._link(connected(address, 0.0))

    def beside(self, work: Callable[[], T]) -> "Future[T]":
        """Do this in the thread that writes."""
        found = self._writer.submit(work)
        found.add_done_callback(lambda _: self._wakes.send(b"\0"))
        return found

    def begin(self, steps: Steps[None]) -> None:
        """Take these steps as well."""
        self._advance(steps)

    def listen(self, door: socket.socket, serve: Callable[[Channel], Steps[None]]) -> None:
        """Serve whoever comes to this door."""
        door.setblocking(False)

        def accept(_: int) -> None:
            with contextlib.suppress(BlockingIOError):
                self.begin(serve(self._link(door.accept()[0])))

        self._selector.register(door, selectors.EVENT_READ, accept)

    def run(self) -> None:
        """Take all steps, for ever; raises what one of them raises."""
        while True:
            # Links are looked at between two rounds, also where nobody waits for one.
            self._listen(at_once=self._take_steps())

    def _advance(self, steps: Steps[None]) -> None:
        with contextlib.suppress(StopIteration):
            self._tasks.append((steps, next(steps)))

    def _take_steps(self) -> bool:
        """Resume all that have what they wait for; whether there were any."""
        tasks, self._tasks, moved = self._tasks, [], False
        now_s = self.now_s()
        for steps, wait in tasks:
            if wait.ready() or wait.due_s <= now_s:
                self._advance(steps)
                moved = True
            else:
                self._tasks.append((steps, wait))
        return moved

    def _listen(self, at_once: bool = False) -> None:
        due_s = min((wait.due_s for _, wait in self._tasks), default=math.inf)
        left_s = 0.0 if at_once else max(due_s - self.now_s(), 0.0)
        for key, mask in self._selector.select(None if left_s == math.inf else left_s):
            key.data(mask)

    def _link(self, end: socket.socket) -> SocketChannel:
        return SocketChannel(end, self._watch)

    def _watch(self, link: SocketChannel, events: int) -> None:
        def act(mask: int) -> None:
            if mask & selectors.EVENT_WRITE:
                link.flush()
            if mask & selectors.EVENT_READ:
                link.fill()

        if link in self._selector.get_map():
            self._selector.unregister(link)
        if events:
            self._selector.register(link, events, act)

    def drain(self) -> None:
        """Wait until the controller has been told all that it is told."""
        while not (self.control.sent or self.control.gone):
            self._listen()

    def close(self) -> None:
        """Close all sockets."""
        for key in list(self._selector.get_map().values()):
            if not isinstance(key.fileobj, int):
                key.fileobj.close()  # type: ignore[attr-defined]
        self.control.close()
        self._wakes.close()
        self._selector.close()
        self._writer.shutdown(wait=False)


def run_member(make: Callable[[MemberLoop], Steps[None]], control: socket.socket) -> None:
    """Be a member of the cluster until the controller has gone.

    `make` makes the member, and returns what it does. An error of its own, wherever it comes from,
    ends the job: to start the member again would bring the same.
    """
    end_with_parent()
    torch.set_num_threads(1)  # more would spin for cores that other members use
    loop = MemberLoop(control)
    with contextlib.suppress(PeerLostError):  # the controller's end: all others are its to handle
        try:
            with errors_reported(loop.control):
                loop.begin(make(loop))
                loop.run()
        finally:
            loop.drain()
            loop.close()


@contextlib.contextmanager
def errors_reported(control: Channel) -> Iterator[None]:
    """Tell the controller of errors in this block that are the member's own; then it ends."""
    try:
        yield
    except PeerLostError:
        raise
    except Exception as error:
        control.tell(Op.FAILED, 0, {"error": _said(error)})
        if not isinstance(error, OSError | CprsimError):  # a defect: where it is helps
            raise


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:  # a full disk, and which
        return f"{error.filename}: {error.strerror}"
    return str(error) if isinstance(error, CprsimError) else repr(error)
