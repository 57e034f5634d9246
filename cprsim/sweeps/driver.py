"""Tasks handed to an executor, through the deaths of workers and of the executor itself.

Written against `concurrent.futures.Executor` alone. Every task gives the same whoever does it and
however often, so whatever is lost is done again.
"""

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from cprsim.basics.futures import Ended
from cprsim.errors import CprsimError, RunError
from cprsim.runs.workers import Workers
from cprsim.sweeps.task_queue import TaskQueue
from cprsim.sweeps.tasks import Block, Fault, Task, perform

P = ParamSpec("P")
T = TypeVar("T")
Outcome = Block | Fault
#: Called with what happened, for people.
Tell = Callable[[str], None]

_TICK_S = 0.5
# A task that was running alone when its worker died, twice, is to blame.
_DEATHS = 2
# So many deaths with no task done in between are no task's fault.
_BREAKS = 10


@dataclass(frozen=True)
class Pool:
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

    When a worker of a process pool dies, the pool breaks, and nobody knows which of the tasks in
    flight killed it. So they are done again one at a time. One that kills its worker even then, and
    once more, becomes a fault; the others go on.
    """

    def __init__(self, pool: Pool, tasks: TaskQueue, tell: Tell) -> None:
        self._pool, self._tasks, self._tell = pool, tasks, tell
        self._executor: Executor | None = None
        self._flying: dict[Future[Outcome], Task] = {}
        self._landed: Ended[Outcome] = Ended()
        self._again: deque[Task] = deque()  # lost with their executor, by no fault of theirs
        self._suspects: deque[Task] = deque()
        self._on_trial = False
        self._deaths: dict[Task, int] = {}
        self._breaks = 0

    def outcomes(self) -> Generator[tuple[Task, Outcome] | None, None, None]:
        """Yield tasks and their results, as they end; None when nothing has ended for a moment.

        Raises
        ------
        RunError
            If workers die whatever they do, or no executor is to be had any more.
        """
        try:
            while True:
                self._fill()
                if not self._flying:
                    return
                future = self._landed.next_within(_TICK_S)
                if future is None:
                    yield None
                    continue
                task = self._flying.pop(future, None)
                if task is not None:  # else it was lost with the executor meanwhile
                    yield from self._ended(future, task)
        finally:
            self._close()

    def _fill(self) -> None:
        while not self._on_trial and len(self._flying) < self._pool.window:
            if self._suspects and self._flying:
                return  # each is tried alone
            waiting = self._suspects or self._again
            task = waiting.popleft() if waiting else self._tasks.next()
            if task is None:
                return
            self._on_trial = waiting is self._suspects
            self._submit(task)

    def _submit(self, task: Task) -> None:
        if self._executor is None:
            self._executor = self._pool.open()
        try:
            future = self._executor.submit(perform, task)
        except Exception as error:  # it broke while nobody looked
            self._again.appendleft(task)
            self._lose_executor(error)
        else:
            self._flying[self._landed.watch(future)] = task

    def _ended(
        self, future: "Future[Outcome]", task: Task
    ) -> Generator[tuple[Task, Outcome], None, None]:
        try:
            outcome = future.result()
        except BrokenExecutor as error:
            if self._flying:
                self._suspects.append(task)
            else:
                yield from self._blame(task, "its worker process died, out of memory perhaps")
            self._lose_executor(error)
        except CancelledError as error:
            self._again.append(task)
            self._lose_executor(error)
        except CprsimError:
            raise
        except Exception as error:  # the executor's own way to say that it gave up on the task
            yield from self._blame(task, f"{type(error).__name__}: {error}")
        else:
            self._breaks, self._on_trial = 0, False
            yield task, outcome

    def _blame(self, task: Task, why: str) -> Generator[tuple[Task, Outcome], None, None]:
        self._on_trial = False
        self._deaths[task] = self._deaths.get(task, 0) + 1
        if self._deaths[task] < _DEATHS:
            self._suspects.appendleft(task)
        else:
            yield task, Fault(why)

    def _lose_executor(self, error: BaseException) -> None:
        lost = self._suspects if isinstance(error, BrokenExecutor) else self._again
        lost += self._flying.values()
        self._flying.clear()
        self._on_trial = False
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
