"""Tasks through executors that break: nothing is lost, and who is to blame is found out."""

import threading
from collections import deque
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from cprsim.errors import RunError
from cprsim.sweeps.driver import Driver
from cprsim.sweeps.tasks import PointResult, Task


def task(number: int) -> Task:
    return Task(number, "", ("full",), 1, None, 0)


def result(of: Task) -> PointResult:
    return PointResult(replications=of.point)


class Breakable(Executor):
    """One worker that does tasks in order, and breaks or fails as its pool says.

    Like a pool of processes, it takes down all that is in flight when it breaks.
    """

    def __init__(self, pool: "Pool") -> None:
        self._pool, self._lock = pool, threading.Lock()
        self._flying: deque[tuple[Task, Future]] = deque()
        self._broken: BaseException | None = None
        self._filled, self._closed = threading.Semaphore(0), False
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()

    def submit(self, fn, /, *args, **kwargs):
        with self._lock:
            if self._broken is not None:
                raise self._broken
            future: Future = Future()
            self._flying.append((args[0], future))
            self._pool.most = max(self._pool.most, len(self._flying))
        self._filled.release()
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._closed = True
        self._filled.release()
        self._worker.join()

    def _work(self) -> None:
        while self._filled.acquire() and not self._closed:
            given, future = self._flying[0]
            self._pool.begun.append(given.point)
            error = self._pool.error_of(given.point)
            with self._lock:
                if isinstance(error, BrokenProcessPool | CancelledError):
                    self._broken = error
                    for _, each in self._flying:
                        each.set_exception(error)
                    return
                self._flying.popleft()
            if error is None:
                future.set_result(result(given))
            else:
                future.set_exception(error)


class Pool:
    """Opens executors that break as `errors` says: number of the task to errors, one a try."""

    def __init__(self, errors: dict[int, list[BaseException]], window: int = 4) -> None:
        self.errors = {number: deque(each) for number, each in errors.items()}
        self.window, self.opened, self.most = window, 0, 0
        self.begun: list[int] = []
        self.told: list[str] = []

    def open(self) -> Executor:
        self.opened += 1
        return Breakable(self)

    def error_of(self, number: int) -> BaseException | None:
        waiting = self.errors.get(number)
        return waiting.popleft() if waiting else None


def outcomes(pool, count: int) -> dict[int, PointResult]:
    found: dict[int, PointResult] = {}
    for each in Driver(pool, map(task, range(count)), pool.told.append).outcomes():
        if each is not None:
            done, outcome = each
            assert done.point not in found  # no task ends twice
            found[done.point] = outcome
    return found


DEATH = BrokenProcessPool("a child terminated abruptly")


def test_every_task_ends_once_and_no_more_are_in_flight_than_the_window():
    pool = Pool({}, window=4)

    assert outcomes(pool, 10) == {i: result(task(i)) for i in range(10)}
    assert pool.begun == list(range(10))
    assert pool.opened == 1
    assert pool.most <= 4


def test_a_worker_that_is_killed_once_costs_nothing_but_time():
    pool = Pool({2: [DEATH]})

    assert outcomes(pool, 6) == {i: result(task(i)) for i in range(6)}
    assert pool.opened == 2
    assert pool.told == [
        "workers were lost (BrokenProcessPool: a child terminated abruptly); starting new ones"
    ]


def test_a_task_that_kills_its_worker_whenever_it_runs_becomes_a_fault_and_the_others_go_on():
    pool = Pool({2: [DEATH] * 9})
    found = outcomes(pool, 8)

    assert found.pop(2) == PointResult(error="its worker process died, out of memory perhaps")
    assert found == {i: result(task(i)) for i in range(8) if i != 2}
    assert pool.begun.count(2) == 3  # with others, and alone twice


def test_workers_that_always_die_end_the_sweep():
    with pytest.raises(RunError) as error:
        outcomes(Pool({number: [DEATH] * 99 for number in range(20)}), 20)

    assert str(error.value) == (
        "workers died 10 times with nothing done in between, the last of BrokenProcessPool: "
        "a child terminated abruptly; what was stored is safe"
    )


def test_a_lost_executor_is_no_tasks_fault_however_often_it_goes():
    # dask cancels everything when its scheduler goes.
    pool = Pool({3: [CancelledError()] * 5})

    assert outcomes(pool, 6) == {i: result(task(i)) for i in range(6)}
    assert pool.opened == 6


def test_what_the_executor_gives_up_on_is_tried_alone_before_it_counts():
    class GaveUpError(Exception):
        pass

    assert outcomes(Pool({1: [GaveUpError("w1")]}), 3)[1] == result(task(1))
    assert outcomes(Pool({1: [GaveUpError("w1")] * 2}), 3)[1] == PointResult(
        error="GaveUpError: w1"
    )


def test_a_worker_of_another_model_ends_the_sweep():
    with pytest.raises(RunError, match=r"^a worker has model version 7$"):
        outcomes(Pool({1: [RunError("a worker has model version 7")]}), 3)
