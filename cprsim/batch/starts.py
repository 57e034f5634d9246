"""`cprsim.sim.starts`: starts and ends, and whether the compile cache is warm."""

from cprsim.batch import cursors, machines
from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.fabric import open_flow
from cprsim.batch.node_lists import SEVERITY, STRUCK
from cprsim.batch.rows import (
    MORE_STARTS,
    NO,
    RESCHEDULE,
    SHUTDOWN,
    START,
    STOPPING,
    YES,
    Running,
    code,
)
from cprsim.batch.work import do
from cprsim.contract import rules

_start_s = compiled(rules.r36_start_s)
_stop_s = compiled(rules.r37_stop_s)
_left_s = compiled(rules.r39_left_s)
_keeps_cache = compiled(rules.r36_keeps_cache)
_SCHEDULE, _COLD, _WARM, _SHUTDOWN = map(code, range(4))


@inlined
def failed(it: Running) -> None:
    """A failure has struck, and may have taken the compile cache with it."""
    if it.run.warm:
        it.run.warm = _keeps_cache(it.plan.cache_on_node, it.lists[STRUCK][SEVERITY])


@inlined
def first(it: Running) -> None:
    """The start of the job, in which nobody of it can fail."""
    if it.plan.starts:
        cursors.pause(it)
    allocated(it)
    if it.plan.starts:
        cursors.go_on(it)


@inlined
def stop(it: Running, until_s: float) -> None:
    """The job has to stop, and gets no nodes before `until_s`."""
    it.run.stops, it.run.until_s = YES, until_s


@compiled
def allocated(it: Running) -> None:
    """The start of an allocation, whose end is set."""
    run, plan = it.run, it.plan
    do(it, RESCHEDULE, it.transfers[0], _left_s(run.until_s, run.now), 1.0)
    run.stops = NO
    nodes_s = run.now
    if plan.starts:
        nodes_s += _cost(it, run.starts, _SCHEDULE)
        start(it, YES)
    if not plan.allocated:
        return
    stop_s = _stop_s(nodes_s, plan.allocation_s, plan.stop_s)
    run.stops = stop_s <= run.now
    if not run.stops:
        open_flow(it, STOPPING, it.transfers[0], stop_s - run.now)


@inlined
def again(it: Running) -> bool:
    """A start in a recovery; whether no failure came first, which has struck."""
    return not it.plan.starts or start(it, NO)


@inlined
def end(it: Running) -> None:
    """The end of the job, which no failure takes anything from any more."""
    if it.plan.starts:
        cursors.pause(it)
    returned(it)


@compiled
def returned(it: Running) -> None:
    """The end of an allocation: others get its nodes, and what lies on their disks is gone."""
    run = it.run
    run.warm = run.warm and not it.plan.cache_on_node
    if it.plan.starts:
        seconds = _cost(it, run.ends, _SHUTDOWN)
        run.ends += 1
        do(it, SHUTDOWN, it.transfers[0], seconds, 1.0)


@compiled
def start(it: Running, in_allocation: bool) -> bool:
    """One start; whether no failure came first, which has struck."""
    run = it.run
    number = run.starts
    run.starts += 1
    left_s = _start_s(
        _cost(it, number, _SCHEDULE),
        _cost(it, number, _COLD),
        _cost(it, number, _WARM),
        in_allocation,
        run.warm,
    )
    while left_s and not run.status:
        left_s -= do(it, START, it.transfers[0], left_s, 1.0)
        if left_s and machines.strike(it):
            return False
    run.warm = True
    return True


@compiled
def _cost(it: Running, number: int, part: int) -> float:
    """A part of the start, or of the end, of that number, s."""
    draws = it.draws
    if not draws.start_count:
        return it.plan.start_costs[part]
    if number >= draws.start_count:
        it.run.status = MORE_STARTS
        return 0.0
    return it.numbers[draws.starts + 4 * number + part]
