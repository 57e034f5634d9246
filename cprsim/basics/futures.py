"""Futures that an interrupt does no harm to.

Who asks a future anything takes a lock of it for a moment, and so does who submits anything. Python
may raise an interrupt between the taking of such a lock and the block that would let go of it
(CPython's issue 74174), and then nobody does: the thread that would end the future waits for ever,
and whoever waits for that thread waits with it. So interrupts are held back while something is
submitted to threads or processes, and a future is asked nothing before it has ended.
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
    """Those that are watched, as they end; either one after another, or each by itself.

    Who is interrupted while it waits may wait again: that one has ended is noted by who ends it.
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
