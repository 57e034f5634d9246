"""Starts and ends of a job and of its allocations, and whether the compile cache is warm."""

from cprsim.contract import rules
from cprsim.machine import attempts, cursors, node_lists, recovery, schedules, withdrawals
from cprsim.machine.fabric import open_flow
from cprsim.machine.flows import abandon_saves, join_down, rebuilding
from cprsim.machine.node_lists import DOWN, HIT, NEW, SEVERITY, STRUCK
from cprsim.machine.rows import (
    ENDING,
    GETTING_NODES,
    GIVING_BACK,
    HELD_SHORTLY,
    LOADING_ANEW,
    MORE_STARTS,
    NO,
    OVER,
    STARTING,
    STOPPING,
    TURN,
    YES,
    Running,
)
from cprsim.machine.work import wait

_SCHEDULE, _COLD, _WARM, _SHUTDOWN = range(4)


def failed(it: Running) -> None:
    """A failure has struck, and may have taken the compile cache with it."""
    if it.run.warm:
        it.run.warm = rules.r36_keeps_cache(it.plan.cache_on_node, it.lists[STRUCK][SEVERITY])


def first(it: Running) -> None:
    """Begin the job; nobody of it can fail while it starts."""
    if it.plan.starts:
        cursors.pause(it)
    _get_nodes(it)


def stop(it: Running, until_s: float) -> None:
    """Have the job stop; it gets no nodes before `until_s`."""
    it.run.stops, it.run.until_s = YES, until_s


def _get_nodes(it: Running) -> None:
    """Wait until the job has nodes."""
    wait(it, GETTING_NODES, rules.r39_left_s(it.run.until_s, it.run.now))


def allocated(it: Running) -> None:
    """The job has nodes, and starts on them."""
    run = it.run
    run.stops = NO
    run.nodes_s = run.now
    if it.plan.starts:
        run.nodes_s += _cost(it, run.starts, _SCHEDULE)
        start(it, STARTING)
    else:
        _go_on(it)


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


def started(it: Running) -> None:
    """All processes are up."""
    it.run.warm = YES
    if it.run.phase == STARTING:
        _go_on(it)
    else:
        recovery.started_again(it)


def _go_on(it: Running) -> None:
    """Set the end of the allocation; train, or load first what the last one has saved."""
    run, plan = it.run, it.plan
    if plan.allocated:
        stop_s = rules.r37_stop_s(run.nodes_s, plan.allocation_s, plan.stop_s)
        run.stops = stop_s <= run.now
        if not run.stops:
            open_flow(it, STOPPING, it.transfers[0], stop_s - run.now)
    if run.handing_over:
        recovery.set_back(it, plan.hands_over)
        run.deepest = plan.hands_over
        recovery.load(it, LOADING_ANEW, 0)
        return
    if plan.starts:
        cursors.go_on(it)
    withdrawals.await_next(it)
    run.phase = TURN


def hand_over(it: Running) -> None:
    """Give the nodes back; what was trained on them is saved, and the next ones go on with it."""
    run, lists = it.run, it.lists
    if run.progress_s <= run.allocation_began_s:
        attempts.vain(it, HELD_SHORTLY)
    for row in (HIT, DOWN, NEW):
        node_lists.clear(lists, row)
    abandon_saves(it)
    if rebuilding(it):
        join_down(it, DOWN)
        recovery.take_over_rebuilding(it)
        node_lists.clear(lists, DOWN)
    cursors.pause(it)
    run.handing_over = YES
    _give_back(it, GIVING_BACK)


def given_back(it: Running) -> None:
    """The job has no nodes."""
    if it.run.phase == ENDING:
        it.run.phase = OVER
    else:
        _get_nodes(it)


def handed_over(it: Running) -> None:
    """What was saved is loaded, unless that was in vain: the job goes on."""
    run = it.run
    if recovery.loads_again(it):
        return
    cursors.replace(it, HIT)
    cursors.go_on(it)
    schedules.handed_over(it, it.answers[it.plan.hands_over].source)
    run.handing_over = NO
    run.allocation_began_s = run.progress_s
    withdrawals.await_next(it)
    run.phase = TURN


def end(it: Running) -> None:
    """The job ends, and no failure takes anything from it any more."""
    cursors.pause(it)
    _give_back(it, ENDING)


def _give_back(it: Running, phase: int) -> None:
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
