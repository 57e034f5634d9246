"""Allocations of nodes: start on one, hand over to the next, end the job.

Rule 37 of docs/semantics.md.
"""

import math

from cprsim.machine import attempts, cursors, node_lists, phases, recovery, schedules, starts
from cprsim.machine.codes import HELD_SHORTLY, STOPPING
from cprsim.machine.fabric import open_flow
from cprsim.machine.flows import abandon_saves, abandon_timers, join_down, rebuilding
from cprsim.machine.node_lists import DOWN, HIT, NEW
from cprsim.machine.rows import Running
from cprsim.machine.work import wait


def first(job: Running) -> None:
    """Begin the job; no failure strikes it while it starts (rule 36)."""
    if job.plan.starts:
        cursors.pause(job)
    _get_nodes(job)


def _get_nodes(job: Running) -> None:
    """Wait until the job gets nodes."""
    wait(job, phases.GETTING_NODES, max(job.run.until_s - job.run.now, 0.0))


def allocated(job: Running) -> None:
    """Start the processes on the nodes that the job has got."""
    run = job.run
    run.stops = False
    run.nodes_s = run.now
    if job.plan.starts:
        run.nodes_s += starts.scheduled_s(job)
        starts.start(job, phases.STARTING)
    else:
        _continue(job)


def started(job: Running) -> None:
    """Continue once all processes are up."""
    starts.warmed(job)
    _continue(job)


def _continue(job: Running) -> None:
    """Set the end of the allocation; load the previous allocation's last save, or train."""
    run, plan = job.run, job.plan
    if plan.allocated:
        stop_s = run.nodes_s + plan.allocation_s - plan.stop_s
        run.stops = run.stops or stop_s <= run.now
        if not run.stops:
            open_flow(job, STOPPING, job.transfers[0], stop_s - run.now)
    if run.handing_over:
        recovery.roll_back(job, plan.hands_over)
        run.deepest_answer = plan.hands_over
        recovery.load(job, phases.LOADING_ANEW, 0)
        return
    if plan.starts:
        cursors.unpause(job)
    run.phase = phases.TURN


def hand_over(job: Running) -> None:
    """End an allocation whose training is saved; the next one continues from that save."""
    run, lists = job.run, job.lists
    if run.progress_s <= run.allocation_began_s:
        attempts.count_wasted(job, HELD_SHORTLY)
    for row in (HIT, DOWN, NEW):
        node_lists.clear(lists, row)
    abandon_saves(job)
    if rebuilding(job):
        join_down(job, DOWN)
        recovery.join_rebuilding(job)
        node_lists.clear(lists, DOWN)
    cursors.pause(job)
    run.handing_over = True
    starts.give_back(job, phases.GIVING_BACK)


def given_back(job: Running) -> None:
    """Wait for the next nodes once these are given back, or end the run."""
    if job.run.phase == phases.ENDING:
        job.run.phase = phases.OVER
    else:
        _get_nodes(job)


def handed_over(job: Running) -> None:
    """Train on from the last save, unless its load has failed and begins again."""
    run = job.run
    if recovery.loads_again(job):
        return
    cursors.replace(job, HIT)
    cursors.unpause(job)
    schedules.handed_over(job, job.answers[job.plan.hands_over].source)
    run.handing_over = False
    run.allocation_began_s = run.progress_s
    run.phase = phases.TURN


def take_back(job: Running, at_s: float) -> None:
    """Take the nodes of a job for another one: it trains until `at_s`, saves, and waits."""
    job.run.until_s = math.inf
    if job.run.phase == phases.GETTING_NODES:  # it has stopped and saved already
        job.run.ends_s = math.inf
    open_flow(job, STOPPING, job.transfers[0], at_s - job.run.now)


def waits_for_nodes(job: Running) -> bool:
    """Return whether a job has given its nodes back, and waits for others without a date."""
    return job.run.phase == phases.GETTING_NODES and math.isinf(job.run.until_s)


def grant(job: Running, now: float) -> None:
    """Give nodes at `now` to a job that waits for them."""
    abandon_timers(job)  # those of the allocation that it gave back
    job.run.until_s = job.run.ends_s = now


def end(job: Running) -> None:
    """End the job; no failure undoes its training from now on."""
    cursors.pause(job)
    starts.give_back(job, phases.ENDING)
