"""Turns: of each tab the newest question only, and one computation at a time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

#: Tabs that are remembered: one that is forgotten only has its old question answered to the end.
_TABS = 64
#: Before the advisor begins, s; and between two looks at whether a question still counts.
_MOMENT_S, _AGAIN_S = 0.4, 0.05


class ReplacedError(Exception):
    """A question that is not needed any more: its tab has sent another."""


class RequestToken:
    """A question's right to be worked at, until its tab asks another."""

    def __init__(self, tabs: "Sessions", tab: str, number: int) -> None:
        self._tabs, self._tab, self._number = tabs, tab, number

    def check(self, *_: object) -> None:
        """Raise `ReplacedError` once the tab has sent another; may be called with progress."""
        if self._tabs.newest.get(self._tab) != self._number:
            raise ReplacedError

    @contextmanager
    def computing(self) -> Iterator[None]:
        """With the cores to itself, as soon as the one before is done with them."""
        with self._tabs.computing:
            self.check()
            yield

    @contextmanager
    def advising(self) -> Iterator[None]:
        """Hold the advisor, which takes seconds, while short computations continue.

        Not before a moment has gone, in which a slider that is being moved moves on.
        """
        until_s = time.monotonic() + _MOMENT_S
        while time.monotonic() < until_s or not self._tabs.advising.acquire(timeout=_AGAIN_S):
            self.check()
            time.sleep(_AGAIN_S)
        try:
            self.check()
            yield
        finally:
            self._tabs.advising.release()


class Sessions:
    """The number of the newest question of each tab.

    A tab numbers its questions: two of them may begin in another order than they were sent.
    """

    def __init__(self) -> None:
        self.computing, self.advising = threading.Lock(), threading.Lock()
        self.newest: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, tab: str, number: int | None = None) -> RequestToken:
        """For a question of a tab, which replaces those of lesser numbers; all, without one."""
        with self._lock:
            known = self.newest.get(tab, 0)
            number = known + 1 if number is None else number
            self.newest[tab] = max(number, known)
            self.newest.move_to_end(tab)
            if len(self.newest) > _TABS:
                self.newest.popitem(last=False)
            return RequestToken(self, tab, number)

    def close(self, within_s: float) -> bool:
        """Stop all questions; return whether all that computed has ended by then."""
        with self._lock:
            self.newest.clear()
        until_s = time.monotonic() + within_s
        return all(
            lock.acquire(timeout=max(until_s - time.monotonic(), 0))
            for lock in (self.computing, self.advising)
        )
