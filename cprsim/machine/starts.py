"""Starts and shutdowns: their duration, and whether the compile cache is warm.

Rule 36 of docs/semantics.md.
"""

from cprsim.machine import rules
from cprsim.machine.codes import MORE_STARTS
from cprsim.machine.node_lists import SEVERITY, STRUCK
from cprsim.machine.phases import STARTING
from cprsim.machine.rows import Running, drawn
from cprsim.machine.work import wait

_SCHEDULE, _COLD, _WARM, _SHUTDOWN = range(4)


def forget_cache(job: Running) -> None:
    """Empty the compile cache if the failure in `STRUCK` took it."""
    if job.run.warm:
        job.run.warm = rules.keeps_cache(job.plan.cache_on_node, job.lists[STRUCK][SEVERITY])


def scheduled_s(job: Running) -> float:
    """Return how long the next start waits for nodes, s."""
    return _cost(job, job.run.starts, _SCHEDULE)


def start(job: Running, phase: int) -> None:
    """Begin a start: the first of an allocation, or one after a failure."""
    run = job.run
    number = run.starts
    run.starts += 1
    seconds = rules.launch_s(
        _cost(job, number, _SCHEDULE),
        _cost(job, number, _COLD),
        _cost(job, number, _WARM),
        phase == STARTING,
        run.warm,
    )
    wait(job, phase, seconds)


def warmed(job: Running) -> None:
    """Mark the compile cache as warm, since all processes are up."""
    job.run.warm = True


def give_back(job: Running, phase: int) -> None:
    """End an allocation: its nodes go, and with them a cache on their own disks."""
    run = job.run
    run.warm = run.warm and not job.plan.cache_on_node
    seconds = 0.0
    if job.plan.starts:
        seconds = _cost(job, run.ends, _SHUTDOWN)
        run.ends += 1
    wait(job, phase, seconds)


def _cost(job: Running, number: int, part: int) -> float:
    """Return the duration of part `part` of a start or shutdown, s.

    `number`: how many starts, or shutdowns, came before it in the run.
    """
    draws = job.draws
    if not draws.start_count:
        return job.plan.start_costs[part]
    place = draws.starts + 4 * number + part
    return drawn(job, place, number, draws.start_count, MORE_STARTS)
