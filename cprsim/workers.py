"""Worker processes that start clean and end when the process that started them does."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait


def spawned(workers: int) -> ProcessPoolExecutor:
    """A pool of so many processes; they start as tasks are submitted."""
    # spawn: workers start clean whatever threads or handles this process has.
    return ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=end_with_parent
    )


def shut_down(pool: ProcessPoolExecutor) -> None:
    """Wait for the tasks that are under way, no others; an interrupt ends the workers at once."""
    workers = list((pool._processes or {}).values())  # nothing public names them
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    except KeyboardInterrupt:
        for worker in workers:
            worker.kill()
        raise


def end_with_parent() -> None:
    """In a worker: end when the process that started it does, however that was ended."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interrupts_for_this_process_alone() -> Iterator[None]:
    """Processes that are started in here inherit that SIGINT is blocked.

    A terminal sends Ctrl-C to them all; it is for this process to tell, and to end them.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:  # Windows
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)
