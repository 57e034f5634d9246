"""Tasks handed to an executor, through the deaths of workers and of the executor itself.

Written against `concurrent.futures.Executor` alone. Every task gives the same whoever does it and
however often, so a lost task is done again.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import NamedTuple, ParamSpec, TypeVar

from cprsim.basics.interrupts import Ended
from cprsim.errors import CprsimError, RunError
from cprsim.runs.workers import Workers
from cprsim.sweeps.tasks import PointResult, Task, perform

P = ParamSpec("P")
T = TypeVar("T")
#: Called with what happened, for people.
Tell = Callable[[str], None]

_TICK_S = 0.5
# A task whose worker died twice while it was the only one is to blame.
_DEATHS = 2
# So many deaths with no task done in between are no task's fault.
_BREAKS = 10


class Pool(NamedTuple):
    """Where tasks are done.

    `window`: how many to have submitted at a time, so that no worker waits while results are
    stored. `open`: returns an executor, as often as the last one breaks; raises `RunError` if there
    is none.
    """

    window: int
    open: Callable[[], Executor]


class InThisProcess(Executor):
    """Does each task at once, as it is submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Do it, and return a future that is done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def pool_of(workers: int, scheduler: str | None) -> Pool:
    """Return the pool that the options ask for."""
    if scheduler is not None:
        from cprsim.sweeps.cluster import DaskCluster  # noqa: PLC0415  (needs an extra)

        cluster = DaskCluster(scheduler)
        return Pool(cluster.window, cluster.open)
    return Pool(1, InThisProcess) if workers == 1 else Pool(4 * workers, partial(Workers, workers))


class Driver:
    """Keeps an executor busy.

    When a worker of a process pool dies, the pool breaks, and any of the tasks in flight may have
    killed it. So they are done again one at a time. One that kills its worker twice then has
    failed; the others continue.
    """

    def __init__(self, pool: Pool, tasks: Iterator[Task], tell: Tell) -> None:
        self._pool, self._tasks, self._tell = pool, tasks, tell
        self._executor: Executor | None = None
        self._flying: dict[Future[PointResult], Task] = {}
        self._landed: Ended[PointResult] = Ended()
        self._again: deque[Task] = deque()
        self._one_at_a_time = False
        self._deaths: Counter[Task] = Counter()
        self._breaks = 0

    def outcomes(self) -> Generator[tuple[Task, PointResult] | None, None, None]:
        """Yield tasks and their results, as they end; None when nothing has ended for a moment.

        Raises
        ------
        RunError
            If workers die whatever they do, or no executor can be opened any more.
        """
        try:
            while self._fill():
                future = self._landed.next_within(_TICK_S)
                # None as well for one that was lost with the executor meanwhile.
                task = None if future is None else self._flying.pop(future, None)
                result = self._result(future, task) if future and task else None
                yield (task, result) if task and result else None
        finally:
            self._close()

    def _fill(self) -> bool:
        """Submit as many as may be; return whether something is in flight."""
        while True:
            self._one_at_a_time = self._one_at_a_time and bool(self._again or self._flying)
            if len(self._flying) >= (1 if self._one_at_a_time else self._pool.window):
                return True
            task = self._again.popleft() if self._again else next(self._tasks, None)
            if task is None:
                return bool(self._flying)
            if self._executor is None:
                self._executor = self._pool.open()
            try:
                future = self._executor.submit(perform, task)
            except Exception as error:  # it broke since the last result
                self._again.appendleft(task)
                self._lose_executor(error)
            else:
                self._flying[self._landed.watch(future)] = task

    def _result(self, future: "Future[PointResult]", task: Task) -> PointResult | None:
        """Return the result of a task, or None if it is to be done again."""
        try:
            result = future.result()
        except BrokenExecutor as error:
            was_alone = not self._flying
            self._lose_executor(error)
            if was_alone:
                return self._blamed(task, "its worker process died, out of memory perhaps")
            self._again.appendleft(task)
            return None
        except CancelledError as error:
            self._again.append(task)
            self._lose_executor(error)
            return None
        except CprsimError:
            raise
        except Exception as error:  # the executor's own way to say that it gave up on the task
            return self._blamed(task, f"{type(error).__name__}: {error}")
        self._breaks = 0
        return result

    def _blamed(self, task: Task, why: str) -> PointResult | None:
        self._deaths[task] += 1
        if self._deaths[task] == _DEATHS:
            return PointResult(error=why)
        self._again.appendleft(task)
        self._one_at_a_time = True
        return None

    def _lose_executor(self, error: BaseException) -> None:
        self._again.extend(self._flying.values())
        self._flying.clear()
        self._one_at_a_time |= isinstance(error, BrokenExecutor)
        self._breaks += 1
        text = " ".join(str(error).split())
        reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
        if self._breaks >= _BREAKS:
            raise RunError(
                f"workers died {self._breaks} times with nothing done in between, the last of "
                f"{reason}; what was stored is safe"
            )
        self._tell(f"workers were lost ({reason}); starting new ones")
        self._close()

    def _close(self) -> None:
        """Let go of the executor, broken or not, without waiting for tasks that have not begun."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)
