"""Futures that an interrupt does no harm to.

A call of a future's methods holds its lock for a moment, and so does `submit`. Python may raise an
interrupt between the taking of such a lock and the block that would release it (CPython's issue
74174). Then the lock is never released: the thread that would end the future waits for ever, and so
does each thread that waits for it. So interrupts are held back while something is submitted to
threads or processes, and methods of a future are called only after it has ended.
"""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
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
    """Watched futures as they end; either one after another, or each by itself.

    A wait that is interrupted may be repeated: the thread that ends a future notes it.
    """

    def __init__(self) -> None:
        # In C as well, so that threads may add to it at any moment.
        self._ended: OrderedDict[Future[T], None] = OrderedDict()
        # Its lock is taken and let go of in C, where no interrupt is raised.
        self._bell: SimpleQueue[None] = SimpleQueue()

    def watch(self, future: "Future[T]") -> "Future[T]":
        """Watch this one as well."""
        with held_back():
            future.add_done_callback(self._note)
        return future

    def _note(self, future: "Future[T]") -> None:
        self._ended[future] = None
        self._bell.put(None)

    def __contains__(self, future: object) -> bool:
        """Return whether it has ended."""
        return future in self._ended

    def wait(self, future: "Future[T]") -> None:
        """Wait until that one has ended."""
        while future not in self._ended:
            self._bell.get()

    def result(self, future: "Future[T]") -> T:
        """Return its outcome once it has ended; it is watched no more."""
        self.wait(future)
        del self._ended[future]
        return future.result()

    def next(self) -> "Future[T]":
        """The next one, in the order in which they end; it is watched no more."""
        while not self._ended:
            self._bell.get()
        return self._ended.popitem(last=False)[0]

    def next_within(self, limit_s: float) -> "Future[T] | None":
        """The next one; None if none has ended by then."""
        with suppress(Empty):
            while not self._ended:
                self._bell.get(timeout=limit_s)
        return self._ended.popitem(last=False)[0] if self._ended else None
