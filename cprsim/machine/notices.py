"""Notices of failures, and the save or the drain that answers them.

Rule 38 of docs/semantics.md.
"""

import math

from cprsim.job.severity import SEVERITIES
from cprsim.machine import attempts, cursors, rules, save, schedules
from cprsim.machine.codes import DRAINED_FOR_NOTHING, MORE_ALARMS, MORE_NOTICES, NONE, NOTICING
from cprsim.machine.fabric import close_flow, open_flow
from cprsim.machine.node_lists import COUNT, SEVERITY, STRUCK
from cprsim.machine.phases import DRAINING, TURN
from cprsim.machine.rows import Running, drawn
from cprsim.machine.work import wait

_ONE, _NODE, _CLUSTER = 1, SEVERITIES.index("node"), rules.CLUSTER


def answers(job: Running) -> bool:
    """Announce failures, and begin a save or a drain in answer; return whether one has begun."""
    run, plan = job.run, job.plan
    announce(job)
    if run.drain_by_s < math.inf:
        attempts.count_wasted(job, DRAINED_FOR_NOTHING)
        wait(job, DRAINING, plan.drain_s)
        return True
    if schedules.saves_in_time(job):
        save.save(job, plan.emergency)
        return True
    return False


def announce(job: Running) -> None:
    """Announce failures and false alarms that are due, and set a timer for the next.

    Called between phases, so that a notice waits for the end of a save or a recovery.
    """
    run, plan, coming_s = job.run, job.plan, math.inf
    schedules.forget_notices(job)
    ahead = run.next_s < math.inf and run.next_s != run.told_s
    if ahead and _drawn(job) < plan.recall:
        coming_s = run.next_s - plan.lead_s
    if coming_s <= run.now:
        run.told_s, coming_s = run.next_s, math.inf
        if plan.drains or plan.own:
            cursors.look_ahead(job)
        _record(job, run.next_s, job.lists[STRUCK][COUNT], job.lists[STRUCK][SEVERITY], NONE)
    alarm_s = _alarm_s(job)
    while alarm_s <= run.now:
        run.alarms += 1
        if alarm_s + plan.lead_s > run.now:
            _record(job, alarm_s + plan.lead_s, _ONE, _NODE, run.alarms - 1)
        alarm_s = _alarm_s(job)
    _wait_until(job, min(coming_s, alarm_s))


def _drawn(job: Running) -> float:
    """Return the number, 0 to 1, that decides whether the next failure is announced."""
    run, draws = job.run, job.draws
    number = run.failures + run.absorbed + run.masked
    return drawn(job, draws.notices + number, number, draws.notice_count, MORE_NOTICES)


def _alarm_s(job: Running) -> float:
    """Return when the next false alarm comes, s."""
    run, draws = job.run, job.draws
    if not draws.alarm_count:
        return math.inf
    return drawn(job, draws.alarms + run.alarms, run.alarms, draws.alarm_count, MORE_ALARMS)


def _record(job: Running, deadline_s: float, nodes: int, severity: int, alarm: int) -> None:
    """Pass a notice to the controller, or note what may answer it.

    The notice is about the nodes in `STRUCK`, or about false alarm number `alarm`.
    """
    if job.plan.own:
        job.outside.noticed(deadline_s, alarm)
    else:
        schedules.notice(job, deadline_s, nodes, attempts.spares_ready(job), severity)


def _wait_until(job: Running, next_s: float) -> None:
    run, place = job.run, 0
    while place < run.flows and job.flows[place].kind != NOTICING:
        place += 1
    waits = place < run.flows
    if waits and next_s == run.notice_s:
        return
    if waits:
        close_flow(job, place)
    run.notice_s = next_s
    if next_s < math.inf:
        open_flow(job, NOTICING, job.transfers[0], next_s - run.now)


def drained(job: Running) -> None:
    """End a drain: the failure at its deadline, if one comes, is masked.

    The timeline still places nodes at the deadline, so that later failures come as without a drain.
    """
    run, plan, deadline_s = job.run, job.plan, job.run.drain_by_s
    run.phase = TURN
    attempts.take_spares(job, run.drained_nodes, plan.reschedule_s)
    if run.next_s != deadline_s:  # a false alarm
        return
    cursors.look_ahead(job)
    others = job.lists[STRUCK][COUNT] > run.drained_nodes
    if not others and job.lists[STRUCK][SEVERITY] != _CLUSTER:
        run.masked += 1
        now_s = run.now
        cursors.strike(job)
        run.now = deadline_s
        cursors.replace(job, STRUCK)
        cursors.resume(job)
        run.now = now_s
