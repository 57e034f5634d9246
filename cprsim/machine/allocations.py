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


def first(job: Running) -> None:
    """Begin the job; nobody of it can fail while it starts."""
    if job.plan.starts:
        cursors.pause(job)
    _get_nodes(job)


def _get_nodes(job: Running) -> None:
    """Wait until the job has nodes."""
    wait(job, GETTING_NODES, rules.r39_left_s(job.run.until_s, job.run.now))


def allocated(job: Running) -> None:
    """The job has nodes, and starts on them."""
    run = job.run
    run.stops = False
    run.nodes_s = run.now
    if job.plan.starts:
        run.nodes_s += starts.scheduled_s(job)
        starts.start(job, STARTING)
    else:
        _go_on(job)


def started(job: Running) -> None:
    """All processes are up."""
    starts.warmed(job)
    _go_on(job)


def _go_on(job: Running) -> None:
    """Set the end of the allocation; train, or load first what the last one has saved."""
    run, plan = job.run, job.plan
    if plan.allocated:
        stop_s = rules.r37_stop_s(run.nodes_s, plan.allocation_s, plan.stop_s)
        run.stops = stop_s <= run.now
        if not run.stops:
            open_flow(job, STOPPING, job.transfers[0], stop_s - run.now)
    if run.handing_over:
        recovery.set_back(job, plan.hands_over)
        run.deepest = plan.hands_over
        recovery.load(job, LOADING_ANEW, 0)
        return
    if plan.starts:
        cursors.go_on(job)
    withdrawals.await_next(job)
    run.phase = TURN


def hand_over(job: Running) -> None:
    """Give the nodes back; what was trained on them is saved, and the next ones go on with it."""
    run, lists = job.run, job.lists
    if run.progress_s <= run.allocation_began_s:
        attempts.vain(job, HELD_SHORTLY)
    for row in (HIT, DOWN, NEW):
        node_lists.clear(lists, row)
    abandon_saves(job)
    if rebuilding(job):
        join_down(job, DOWN)
        recovery.take_over_rebuilding(job)
        node_lists.clear(lists, DOWN)
    cursors.pause(job)
    run.handing_over = True
    starts.give_back(job, GIVING_BACK)


def given_back(job: Running) -> None:
    """The job has no nodes."""
    if job.run.phase == ENDING:
        job.run.phase = OVER
    else:
        _get_nodes(job)


def handed_over(job: Running) -> None:
    """What was saved is loaded, unless that was in vain: the job goes on."""
    run = job.run
    if recovery.loads_again(job):
        return
    cursors.replace(job, HIT)
    cursors.go_on(job)
    schedules.handed_over(job, job.answers[job.plan.hands_over].source)
    run.handing_over = False
    run.allocation_began_s = run.progress_s
    withdrawals.await_next(job)
    run.phase = TURN


def end(job: Running) -> None:
    """The job ends, and no failure takes anything from it any more."""
    cursors.pause(job)
    starts.give_back(job, ENDING)
