"""What ends a command from outside, and how to hold it back for a moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Ctrl-C, a batch system or service manager, a terminal that is closed.
INTERRUPTS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def held_back() -> Iterator[None]:
    """Interrupts come when this ends; for moments only."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers are called in the main thread alone
        return
    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)

    handlers: dict[int, Any] = {each: signal.getsignal(each) for each in INTERRUPTS}
    # One that is None was not set by Python, which couldn't set it again.
    before = {each: it for each, it in handlers.items() if it is not None}
    try:  # before any is replaced: another may come meanwhile, and be raised
        for each in before:
            signal.signal(each, note)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for each in came[:1]:
            signal.raise_signal(each)
