"""Starts and ends: what they take, and whether the compile cache is warm (semantics 36)."""

from cprsim.contract import rules
from cprsim.machine.codes import MORE_STARTS
from cprsim.machine.node_lists import SEVERITY, STRUCK
from cprsim.machine.phases import STARTING
from cprsim.machine.rows import Running
from cprsim.machine.work import wait

_SCHEDULE, _COLD, _WARM, _SHUTDOWN = range(4)


def failed(it: Running) -> None:
    """A failure has struck, and may have taken the compile cache with it."""
    if it.run.warm:
        it.run.warm = rules.r36_keeps_cache(it.plan.cache_on_node, it.lists[STRUCK][SEVERITY])


def stop(it: Running, until_s: float) -> None:
    """Have the job stop; it gets no nodes before `until_s`."""
    it.run.stops, it.run.until_s = True, until_s


def scheduled_s(it: Running) -> float:
    """How long the next start waits until the job has its nodes, s."""
    return _cost(it, it.run.starts, _SCHEDULE)


def start(it: Running, phase: int) -> None:
    """Begin a start: the first in an allocation, or one after a failure."""
    run = it.run
    number = run.starts
    run.starts += 1
    seconds = rules.r36_start_s(
        _cost(it, number, _SCHEDULE),
        _cost(it, number, _COLD),
        _cost(it, number, _WARM),
        phase == STARTING,
        run.warm,
    )
    wait(it, phase, seconds)


def warmed(it: Running) -> None:
    """All processes are up, and what they have compiled is in the cache."""
    it.run.warm = True


def give_back(it: Running, phase: int) -> None:
    """End an allocation: others get its nodes, and what lies on their disks is gone."""
    run = it.run
    run.warm = run.warm and not it.plan.cache_on_node
    seconds = 0.0
    if it.plan.starts:
        seconds = _cost(it, run.ends, _SHUTDOWN)
        run.ends += 1
    wait(it, phase, seconds)


def _cost(it: Running, number: int, part: int) -> float:
    """A part of the start, or of the end, of that number, s."""
    draws = it.draws
    if not draws.start_count:
        return it.plan.start_costs[part]
    if number >= draws.start_count:
        it.run.status = MORE_STARTS
        return 0.0
    return it.numbers[draws.starts + 4 * number + part]
