"""From one allocation of nodes to the next: the job starts, hands over, and ends (semantics 37)."""

from cprsim.contract import rules
from cprsim.machine import attempts, cursors, node_lists, recovery, schedules, starts, withdrawals
from cprsim.machine.codes import HELD_SHORTLY, STOPPING
from cprsim.machine.fabric import open_flow
from cprsim.machine.flows import abandon_saves, join_down, rebuilding
from cprsim.machine.node_lists import DOWN, HIT, NEW
from cprsim.machine.phases import (
    ENDING,
    GETTING_NODES,
    GIVING_BACK,
    LOADING_ANEW,
    OVER,
    STARTING,
    TURN,
)
from cprsim.machine.rows import Running
from cprsim.machine.work import wait


def first(it: Running) -> None:
    """Begin the job; nobody of it can fail while it starts."""
    if it.plan.starts:
        cursors.pause(it)
    _get_nodes(it)


def _get_nodes(it: Running) -> None:
    """Wait until the job has nodes."""
    wait(it, GETTING_NODES, rules.r39_left_s(it.run.until_s, it.run.now))


def allocated(it: Running) -> None:
    """The job has nodes, and starts on them."""
    run = it.run
    run.stops = False
    run.nodes_s = run.now
    if it.plan.starts:
        run.nodes_s += starts.scheduled_s(it)
        starts.start(it, STARTING)
    else:
        _go_on(it)


def started(it: Running) -> None:
    """All processes are up."""
    starts.warmed(it)
    _go_on(it)


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
    run.handing_over = True
    starts.give_back(it, GIVING_BACK)


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
    run.handing_over = False
    run.allocation_began_s = run.progress_s
    withdrawals.await_next(it)
    run.phase = TURN


def end(it: Running) -> None:
    """The job ends, and no failure takes anything from it any more."""
    cursors.pause(it)
    starts.give_back(it, ENDING)
