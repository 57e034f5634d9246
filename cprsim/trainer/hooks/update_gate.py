"""Rows that threads update, copied between their updates."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cprsim.errors import UsageError


class UpdateGate:
    """Lets threads update rows at the same time, and none while rows are copied or loaded.

    `used`: whether threads have entered it.
    """

    def __init__(self) -> None:
        self.used = False
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}  # blocks that each thread is in
        self._closed = False

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Keep copies and loads waiting until the block ends."""
        self.used, me = True, threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: me in self._inside or not self._closed)
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Wait for updates that have begun; others wait until the block ends."""
        if threading.get_ident() in self._inside:
            raise UsageError("a save inside updating(): end that block before after_step()")
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
