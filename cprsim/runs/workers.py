"""Worker processes that start clean and end when the process that started them does."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from typing import ParamSpec, TypeVar

from cprsim.basics.interrupts import held_back

P = ParamSpec("P")
T = TypeVar("T")


class Workers(ProcessPoolExecutor):
    """So many processes, which start as tasks are submitted, and leave Ctrl-C to this one."""

    def __init__(self, workers: int) -> None:
        # spawn: workers start clean whatever threads or handles this process has.
        super().__init__(workers, mp_context=get_context("spawn"), initializer=end_with_parent)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have it called in a worker."""
        with held_back(), interrupts_for_this_process_alone():  # it can start a process
            return super().submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers; with `cancel_futures` tasks that have begun are given up as well."""
        # No public attribute has what is pending, and in which process.
        if cancel_futures and self._pending_work_items:
            # A result that is cut short is waited for as long as anybody could write the rest.
            self._result_queue._writer.close()  # type: ignore[attr-defined]
            for worker in list((self._processes or {}).values()):
                worker.kill()
        super().shutdown(wait, cancel_futures=cancel_futures)


def end_with_parent() -> None:
    """In a worker: end when the process that started it does, however that was ended."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def imports_main() -> bool:
    """Return whether workers import what this process began with: a script, but no notebook."""
    return hasattr(sys.modules["__main__"], "__file__")


@contextmanager
def interrupts_for_this_process_alone() -> Iterator[None]:
    """Processes that are started in here inherit that SIGINT and SIGHUP are blocked.

    A terminal sends them to all; this process reports them, and ends the others.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:  # Windows
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        # First, for its start leaves SIGINT unblocked behind it, which would hit what follows.
        resource_tracker.ensure_running()
        mask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        mask(signal.SIG_SETMASK, before)
