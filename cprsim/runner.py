"""Run a scenario: replications in blocks, in this process or in several."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from numbers import Integral
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cprsim.engines import Engine, chosen, simulate
from cprsim.errors import RunError, UsageError
from cprsim.results import Result
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS
from cprsim.workers import interrupts_for_this_process_alone, spawned

#: Called with the number of replications done and the number in all.
Progress = Callable[[int, int], None]
Values = NDArray[np.float64]
_Any = TypeVar("_Any")

# Tasks of so many replications take long beside what it costs to hand them out.
_BLOCK: dict[Engine, int] = {"sim": 64, "batch": 16384}


def run(
    scenario: Scenario,
    policies: Sequence[str] | None = None,
    replications: int = 1000,
    seed: int = 0,
    engine: str = "auto",
    workers: int = 1,
    progress: Progress | None = None,
) -> Result:
    """Play a scenario under its policies, all on the same failure timelines.

    Parameters
    ----------
    scenario
        From `load_scenario`, or built from a mapping.
    policies
        Names of the scenario's policies; all of them by default.
    replications
        How many failure timelines to draw; replication i is the same whatever their number.
    seed
        Of all random streams.
    engine
        `"sim"`, the SimPy cluster; `"batch"`, the same in NumPy for many replications at once;
        `"auto"` takes that for every policy that it can play.
    workers
        Processes; the result is the same to the last digit whatever their number. With more than
        one, a script needs its `if __name__ == "__main__":`.
    progress
        Called in this process as blocks of replications finish.

    Raises
    ------
    ScenarioError
        For a policy that the scenario doesn't have.
    UsageError
        For arguments that make no sense.
    RunError
        If a job gets nowhere, or a worker process dies.
    """
    names = scenario.select(policies)
    check_arguments(replications, seed, workers)
    engines = chosen(scenario, names, engine)
    values = np.empty((replications, len(names), len(COLUMNS)))
    tasks = _tasks(engines, replications)
    done = 0
    with closing(performed(partial(_play, scenario, seed), tasks, workers)) as results:
        for task, found in results:
            places = [names.index(name) for name in task.engines]
            values[task.start : task.stop, places] = found
            done += found.shape[0] * found.shape[1]
            if progress is not None:
                progress(done // len(names), replications)
    return Result.build(scenario, names, values, COLUMNS, seed=seed, engines=engines)


class _Task(NamedTuple):
    """Replications `start` to `stop` under some policies, each by its engine."""

    engines: dict[str, Engine]
    start: int
    stop: int


def _tasks(engines: dict[str, Engine], replications: int) -> list[_Task]:
    tasks = []
    for engine, size in _BLOCK.items():
        own = {name: each for name, each in engines.items() if each == engine}
        starts = range(0, replications, size) if own else ()
        tasks += [_Task(own, start, min(start + size, replications)) for start in starts]
    return tasks


def _play(scenario: Scenario, seed: int, task: _Task) -> Values:
    return simulate(scenario, task.engines, range(task.start, task.stop), seed)


def performed(
    play: Callable[[_Any], Values], tasks: Sequence[_Any], workers: int
) -> Generator[tuple[_Any, Values], None, None]:
    """What comes of tasks, as it comes, done in this process or in so many.

    Raises
    ------
    RunError
        If a worker process dies.
    """
    if workers == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, play(task)
        return
    pool = spawned(min(workers, len(tasks)))
    try:
        with interrupts_for_this_process_alone():
            futures = {pool.submit(play, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise RunError(
            "a worker process died, out of memory perhaps; try fewer --workers"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def check_arguments(replications: int, seed: int, workers: int) -> None:
    """Raise `UsageError` where those of a run make no sense."""
    check_whole("replications", replications, 1)
    check_whole("seed", seed, 0)
    check_whole("workers", workers, 1)


def check_whole(name: str, value: object, least: int) -> None:
    """Raise `UsageError` where `value` is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} {value!r} is not a whole number >= {least}")
