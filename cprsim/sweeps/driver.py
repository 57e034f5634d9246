"""Tasks handed to an executor, through the deaths of workers and of the executor itself.

Written against `concurrent.futures.Executor` alone. Every task gives the same whoever does it and
however often, so a lost task is done again.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import NamedTuple

from cprsim.basics.interrupts import Ended
from cprsim.errors import CprsimError, RunError
from cprsim.runs.workers import Workers
from cprsim.sweeps.tasks import PointResult, Task, perform

#: Called with what happened, for people.
Tell = Callable[[str], None]

_TICK_S = 0.5
# A task whose worker died twice while it was the only one is to blame.
_DEATHS = 2
# So many deaths with no task done in between are no task's fault.
_BREAKS = 10


class Pool(NamedTuple):
    """Processes that do tasks.

    `window`: how many to have submitted at a time, so that no worker waits while results are
    stored. `open`: returns an executor, as often as the last one breaks; raises `RunError` if there
    is none.
    """

    window: int
    open: Callable[[], Executor]


def pool_of(workers: int, scheduler: str | None) -> Pool | None:
    """Return the pool that the options ask for; None for this process."""
    if scheduler is not None:
        from cprsim.sweeps.cluster import WINDOW, DaskCluster  # noqa: PLC0415  (needs an extra)

        return Pool(WINDOW, DaskCluster(scheduler).open)
    return None if workers == 1 else Pool(4 * workers, partial(Workers, workers))


class Driver:
    """Keeps an executor busy; without a pool it does one task after the other itself.

    When a worker of a process pool dies, the pool breaks, and any of the tasks in flight may have
    killed it. So they are done again one at a time. One that kills its worker twice then has
    failed; the others continue.
    """

    def __init__(self, pool: Pool | None, tasks: Iterator[Task], tell: Tell) -> None:
        self._pool, self._tasks, self._tell = pool, tasks, tell
        self._executor: Executor | None = None
        self._flying: dict[Future[PointResult], Task] = {}
        self._landed: Ended[PointResult] = Ended()
        self._again: deque[Task] = deque()
        self._one_at_a_time = False
        self._deaths: Counter[int] = Counter()
        self._breaks = 0

    def outcomes(self) -> Generator[tuple[Task, PointResult] | None, None, None]:
        """Yield tasks and their results, as they end; None when nothing has ended for a moment.

        Raises
        ------
        RunError
            If workers die whatever they do, or no executor can be opened any more.
        """
        if self._pool is None:
            yield from ((task, perform(task)) for task in self._tasks)
            return
        try:
            while self._fill(self._pool):
                future = self._landed.next_within(_TICK_S)
                # None as well for one that was lost with the executor meanwhile.
                task = None if future is None else self._flying.pop(future, None)
                result = self._result(future, task) if future and task else None
                yield (task, result) if task and result else None
        finally:
            self._close()

    def _fill(self, pool: Pool) -> bool:
        """Submit as many as may be; return whether something is in flight."""
        while True:
            self._one_at_a_time = self._one_at_a_time and bool(self._again or self._flying)
            if len(self._flying) >= (1 if self._one_at_a_time else pool.window):
                return True
            task = self._again.popleft() if self._again else next(self._tasks, None)
            if task is None:
                return bool(self._flying)
            if self._executor is None:
                self._executor = pool.open()
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
        except CprsimError:
            raise
        except CancelledError as error:
            self._again.append(task)
            self._lose_executor(error)
            return None
        except Exception as error:
            why, was_alone = f"{type(error).__name__}: {error}", True
            if isinstance(error, BrokenExecutor):
                why, was_alone = "its worker process died, out of memory perhaps", not self._flying
                self._lose_executor(error)
            self._deaths[task.point] += was_alone
            if self._deaths[task.point] == _DEATHS:
                return PointResult(error=why)
            self._again.appendleft(task)
            self._one_at_a_time = True
            return None
        self._breaks = 0
        return result

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
