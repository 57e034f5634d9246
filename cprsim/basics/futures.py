"""Futures that an interrupt does no harm to.

Who asks a future anything takes a lock of it for a moment, and so does who submits anything. Python
may raise an interrupt between the taking of such a lock and the block that would let go of it
(CPython's issue 74174), and then nobody does: the thread that would end the future waits for ever,
and whoever waits for that thread waits with it. So interrupts are held back while something is
submitted, and a future is asked nothing before it has ended.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Generic, ParamSpec, TypeVar

from cprsim.basics.interrupts import held_back

P = ParamSpec("P")
T = TypeVar("T")


class Threads(ThreadPoolExecutor):
    """So many threads."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have it called in one of them."""
        with held_back():
            return super().submit(fn, *args, **kwargs)


class Ended(Generic[T]):
    """Those that are watched, as they end; either one after another, or each by itself."""

    def __init__(self) -> None:
        # Its lock is taken and let go of in C, where no interrupt is raised.
        self._queue: SimpleQueue[Future[T]] = SimpleQueue()
        self._early: set[Future[T]] = set()  # ended before they were asked for

    def watch(self, future: "Future[T]") -> "Future[T]":
        """Watch this one as well."""
        with held_back():
            future.add_done_callback(self._queue.put)
        return future

    def next(self) -> "Future[T]":
        """The next one, in the order in which they end."""
        return self._queue.get()

    def next_within(self, limit_s: float) -> "Future[T] | None":
        """The next one; None if none has ended by then."""
        try:
            return self._queue.get(timeout=limit_s)
        except Empty:
            return None

    def result(self, future: "Future[T]") -> T:
        """What came of one that is watched, once it has ended."""
        while future not in self._early:
            self._early.add(self.next())
        self._early.remove(future)
        return future.result()
