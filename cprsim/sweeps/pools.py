"""Where tasks are done: in this process, in others, or on whatever speaks `Executor`."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from cprsim.runs.workers import Workers

P = ParamSpec("P")
T = TypeVar("T")


class Pool(Protocol):
    """Something that opens executors, as often as they break."""

    @property
    def window(self) -> int:
        """How many tasks to have submitted at a time."""

    def open(self) -> Executor:
        """An executor that works; `RunError` if there is none to be had."""


class InThisProcess(Executor):
    """Does each task at once, as it is submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Do it, and give a future that is done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Here:
    """In this process."""

    window: int = 1

    def open(self) -> Executor:
        """An executor that needs nothing."""
        return InThisProcess()


@dataclass(frozen=True)
class Processes:
    """So many processes on this machine; each starts clean (spawn)."""

    workers: int

    @property
    def window(self) -> int:
        """Enough that none waits while results are stored."""
        return 4 * self.workers

    def open(self) -> Executor:
        """A new pool."""
        return Workers(self.workers)


def close(executor: Executor) -> None:
    """Let go of an executor, broken or not, without waiting for tasks that have not begun."""
    executor.shutdown(wait=True, cancel_futures=True)


def pool_of(workers: int, scheduler: str | None) -> Pool:
    """The pool that the options ask for."""
    if scheduler is not None:
        from cprsim.sweeps.cluster import DaskCluster  # noqa: PLC0415  (needs an extra)

        return DaskCluster(scheduler)
    return Here() if workers == 1 else Processes(workers)
