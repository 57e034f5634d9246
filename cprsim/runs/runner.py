"""Run a scenario: replications in blocks, in this process or in several."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial, reduce
from numbers import Integral
from operator import add
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.interrupts import Ended, Threads
from cprsim.basics.machine import cores
from cprsim.basics.streams import COHORT
from cprsim.basics.units import format_duration
from cprsim.errors import RunError, UsageError
from cprsim.runs.digest import MOST_ROWS, Digest, Replications, ReplicationTable
from cprsim.runs.engines import Engine, chosen, is_ready, prepare, simulate
from cprsim.runs.hopeless import without_hope
from cprsim.runs.measures import Basis
from cprsim.runs.result import Result
from cprsim.runs.summaries import tidy
from cprsim.runs.workers import Workers, imports_main
from cprsim.scenario import Scenario, scenario_of
from cprsim.sim.engine import COLUMNS

#: Called with the number of replications done and the number in all.
Progress = Callable[[int, int], None]
Values = NDArray[np.float64]
_Any = TypeVar("_Any")
_Found = TypeVar("_Found")

# Tasks of so many replications take long compared with handing them out.
_BLOCK: dict[Engine, int] = {"sim": 64, "batch": 16384}
#: The same while the simulator plays, and the compiled engine is going to.
_BLOCK_MEANWHILE = 2 * COHORT
# 1.96 / sqrt(n) of the spread is half the interval of a mean: more of them narrow it by what no
# model of a cluster is right to. At the fastest (docs/performance.md) they take an hour.
_MOST = 1_000_000_000
_FASTEST_S = 5e-7
#: Worker processes for each core of this machine, at most: more only take memory.
_MOST_A_CORE = 16
#: Tasks under way for each worker, so that none waits for the slowest.
_AHEAD = 4


def run(
    scenario: Scenario | str | Path,
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
        From `load_scenario`, or built from a mapping; or a file, or the name of a shipped scenario.
    policies
        Names of the scenario's policies; all of them by default.
    replications
        How many failure timelines to draw; replication i is the same whatever their number. Where
        they and the policies make more than a million rows, the result has no rows, only what the
        summary is made of (`cprsim.runs.digest`).
    seed
        Of all random streams.
    engine
        `"sim"`, the SimPy cluster; `"batch"`, the same compiled, for many replications; `"auto"`
        takes that where it ends sooner. They give the same numbers to the last digit.
    workers
        Processes, or threads of the compiled engine; the result is the same to the last digit
        whatever their number. With more than one, a script needs its
        `if __name__ == "__main__":`.
    progress
        Called in this process as blocks of replications finish.

    Returns
    -------
    Result
        Means with their intervals by policy, and a row a policy and replication.

    Raises
    ------
    ScenarioError
        For a policy that the scenario doesn't have.
    UsageError
        For arguments that make no sense.
    RunError
        If a job makes no progress, or a worker process dies.

    Examples
    --------
    >>> result = cprsim.run("quickstart", ["full", "cpr"], replications=20, engine="sim")
    >>> result.summary["overhead"].round(3).to_dict()
    {'full': 0.102, 'cpr': 0.014}
    """
    scenario = scenario_of(scenario)
    names = scenario.select(policies)
    check_arguments(replications, seed, workers)
    engines = chosen(scenario, names, engine, replications)
    bases = [Basis.of(scenario, name) for name in names]
    for hopeless in without_hope(scenario, engines, seed):
        raise hopeless
    prepare(engines.values(), engine)
    # What is compiled holds no lock while it plays.
    pool = Threads if set(engines.values()) == {"batch"} and is_ready() else Workers
    play = partial(_play, scenario, seed)
    update = partial(updating, progress, replications, count=_Task.runs, each=len(names))
    if replications * len(names) <= MOST_ROWS:
        tasks = _tasks(engines, replications, workers)
        with closing(map_tasks(play, tasks, workers, pool)) as found:
            kept: Replications = _rows(names, replications, bases, update(found))
    else:
        tasks = _in_blocks(engines, replications, _BLOCK["batch"])
        digest = partial(_digest, play, names, bases)
        with closing(map_tasks(digest, tasks, workers, pool)) as digests:
            kept = reduce(add, (each for _, each in update(digests)))
    return Result.build(scenario, kept, seed=seed, engines=engines)


class _Task(NamedTuple):
    """Replications `start` to `stop` under some policies, each by its engine."""

    engines: dict[str, Engine]
    start: int
    stop: int

    def runs(self) -> int:
        """Return the number of runs, of all policies together."""
        return (self.stop - self.start) * len(self.engines)


def _tasks(engines: dict[str, Engine], replications: int, workers: int) -> list[_Task]:
    tasks = []
    share = -(-replications // (_AHEAD * workers * COHORT)) * COHORT  # some for every worker
    for engine, most in _BLOCK.items():
        most_now = most if is_ready() else min(most, _BLOCK_MEANWHILE)
        size = most_now if workers == 1 else min(most_now, share)
        own = {name: each for name, each in engines.items() if each == engine}
        if own:
            tasks += _in_blocks(own, replications, size)
    return tasks


def _in_blocks(engines: dict[str, Engine], replications: int, size: int) -> list[_Task]:
    starts = range(0, replications, size)
    return [_Task(engines, start, min(start + size, replications)) for start in starts]


def _play(scenario: Scenario, seed: int, task: _Task) -> Values:
    return simulate(scenario, task.engines, range(task.start, task.stop), seed)


def updating(
    progress: Progress | None,
    replications: int,
    found: Iterable[tuple[_Any, _Found]],
    count: Callable[[_Any], int] = lambda _: 1,
    each: int = 1,
) -> Generator[tuple[_Any, _Found], None, None]:
    """Yield tasks and their results; `progress` is called once each of them has been used.

    `count`: the runs of a task, of which a replication has `each`.
    """
    done = 0
    for task, result in found:
        yield task, result
        done += count(task)
        if progress is not None:
            progress(done // each, replications)


def _rows(
    names: Sequence[str],
    replications: int,
    bases: Sequence[Basis],
    found: Iterable[tuple[_Task, Values]],
) -> ReplicationTable:
    values = np.empty((replications, len(names), len(COLUMNS)))
    for task, each in found:
        values[task.start : task.stop, [names.index(name) for name in task.engines]] = each
    return ReplicationTable(tidy(names, values, COLUMNS, bases))


def _digest(
    play: Callable[[_Task], Values], names: Sequence[str], bases: Sequence[Basis], task: _Task
) -> Digest:
    keep = task.start * len(names) < MOST_ROWS
    return Digest.from_values(names, play(task), COLUMNS, bases, keep=keep)


def map_tasks(
    play: Callable[[_Any], _Found],
    tasks: Sequence[_Any],
    workers: int,
    make: Callable[[int], Executor] = Workers,
) -> Generator[tuple[_Any, _Found], None, None]:
    """Yield tasks and their results in order, done in this process or in as many as `make` makes.

    Only a few are under way at a time, so that results need little memory.

    Raises
    ------
    RunError
        If a worker process dies.
    """
    if workers == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, play(task)
        return
    pool, ended = make(min(workers, len(tasks))), Ended[_Found]()
    try:
        under_way: deque[tuple[_Any, Future[_Found]]] = deque()
        for task in tasks:
            under_way.append((task, ended.watch(pool.submit(play, task))))
            if len(under_way) == _AHEAD * workers:
                yield _next(under_way, ended)
        while under_way:
            yield _next(under_way, ended)
    except BrokenProcessPool:
        why, way_out = "out of memory perhaps", ""
        if not imports_main():
            why += ", or for want of a class that this session defines"
            way_out = ", or write such a class into a module"
        raise RunError(f"a worker process died, {why}; try fewer --workers{way_out}") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _next(
    under_way: deque[tuple[_Any, Future[_Found]]], ended: Ended[_Found]
) -> tuple[_Any, _Found]:
    task, future = under_way.popleft()
    return task, ended.result(future)


def check_arguments(replications: int, seed: int, workers: int) -> None:
    """Raise `UsageError` where those of a run make no sense, or it would have no end."""
    check_replications(replications)
    check_whole("seed", seed, 0)
    check_workers(workers)


def check_workers(workers: int) -> None:
    """Raise `UsageError` where there are none, or far more than cores to run them."""
    check_whole("workers", workers, 1)
    most = _MOST_A_CORE * cores()
    if workers > most:
        raise UsageError(
            f"workers {workers:,}: each is a process; the most are {most:,} here, {_MOST_A_CORE} "
            "for each core; give as many as there are cores"
        )


def check_replications(replications: int) -> None:
    """Raise `UsageError` where they are none, or would have no end."""
    check_whole("replications", replications, 1)
    if replications > _MOST:
        least_s = replications * _FASTEST_S
        raise UsageError(
            f"replications {replications:,}: would take {format_duration(least_s)} a policy where "
            f"it is fastest; the most are {_MOST:,}, which give a mean to a 16,000th of the spread"
        )


def check_whole(name: str, value: object, least: int) -> None:
    """Raise `UsageError` where `value` is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} {value!r} is not a whole number >= {least}")
