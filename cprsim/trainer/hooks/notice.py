"""Signals that give notice: the process will be stopped soon, and has time to save."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from cprsim.errors import UsageError


class StopSignals:
    """Whether a signal has come that gives notice. A handler does nothing but note it."""

    def __init__(self) -> None:
        self.came = False

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True

    @contextmanager
    def heard(self, signals: Sequence[signal.Signals]) -> Iterator[None]:
        """Listen for these signals until the block ends; then handlers are as they were."""
        if threading.current_thread() is not threading.main_thread():
            raise UsageError("saving_on(): signals reach the main thread alone; call it there")
        before = {each: signal.signal(each, self._note) for each in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
