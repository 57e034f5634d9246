"""Run a scenario: replications in blocks, in this process or in several."""

import math
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import RunError, UsageError
from cprsim.results import Result
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from cprsim.workers import interrupts_for_this_process_alone, spawned

#: Called with the number of replications done and the number in all.
Progress = Callable[[int, int], None]
Values = NDArray[np.float64]
#: Plays a block of replications, given their numbers: an array whose first axis is theirs.
Play = Callable[[range], Values]

ENGINES = ("auto", "sim")
# A task of so many replications takes long beside what it costs to hand it out.
_BLOCK = 50


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
        `"sim"`, the SimPy cluster; `"auto"` chooses it.
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
    check_arguments(replications, seed, engine, workers)
    play = partial(simulate, scenario, names, seed=seed)
    values = played(play, replications, workers, progress)
    return Result.build(scenario, names, values, COLUMNS, seed=seed, engine="sim")


def played(play: Play, replications: int, workers: int, progress: Progress | None) -> Values:
    """What `play` makes of replications 0, 1, ... in order, done in blocks by so many processes."""
    found: list[Values] = [np.empty(0)] * math.ceil(replications / _BLOCK)
    done = 0
    with closing(_blocks(play, replications, workers)) as blocks:
        for start, block in blocks:
            found[start // _BLOCK] = block
            done += len(block)
            if progress is not None:
                progress(done, replications)
    return np.concatenate(found)


def _blocks(
    play: Play, replications: int, workers: int
) -> Generator[tuple[int, Values], None, None]:
    """Results of blocks of replications, with the number of each block's first, as they come."""
    blocks = [range(i, min(i + _BLOCK, replications)) for i in range(0, replications, _BLOCK)]
    if workers == 1 or len(blocks) == 1:
        for block in blocks:
            yield block.start, play(block)
        return
    pool = spawned(min(workers, len(blocks)))
    try:
        with interrupts_for_this_process_alone():
            futures = {pool.submit(play, block): block for block in blocks}
        for future in as_completed(futures):
            yield futures[future].start, future.result()
    except BrokenProcessPool:
        raise RunError(
            "a worker process died, out of memory perhaps; try fewer --workers"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def check_arguments(replications: int, seed: int, engine: str, workers: int) -> None:
    """Raise `UsageError` where those of a run make no sense."""
    check_whole("replications", replications, 1)
    check_whole("seed", seed, 0)
    check_whole("workers", workers, 1)
    if engine not in ENGINES:
        raise UsageError(f"engine {engine!r} is not one of {', '.join(ENGINES)}")


def check_whole(name: str, value: object, least: int) -> None:
    """Raise `UsageError` where `value` is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} {value!r} is not a whole number >= {least}")
