"""Interrupts from outside, and how to delay one for a moment."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: Ctrl-C, a batch system or service manager, a terminal that is closed.
INTERRUPTS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

#: And an alarm: some that come at a bad moment are put off by it.
_HELD = (*INTERRUPTS, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else []))


@contextmanager
def held_back() -> Iterator[None]:
    """Interrupts come when this ends; for moments only."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers are called in the main thread alone
        return
    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)

    # All others raise nothing in Python.
    handlers = [(each, signal.getsignal(each)) for each in _HELD]
    before = [(each, handler) for each, handler in handlers if callable(handler)]
    try:  # before any is replaced: another may come meanwhile, and be raised
        for each, _ in before:
            signal.signal(each, note)
        yield
    finally:
        try:
            _do_all(signal.signal, before)
        finally:
            _do_all(signal.raise_signal, [(each,) for each in came])


def _do_all(act: Callable[..., object], given: Sequence[tuple[Any, ...]]) -> None:
    """For each of these, though an interrupt is raised at any of them."""
    if given:
        try:
            act(*given[0])
        finally:
            _do_all(act, given[1:])
