"""`cprsim.sim.notices` and `cprsim.contract.notice`: what is announced, and what answers it."""

import math

from cprsim.batch import attempts, cursors, node_lists
from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.fabric import close_flow, open_flow
from cprsim.batch.node_lists import COUNT, SEVERITY, STRUCK, WITHDRAWN
from cprsim.batch.rows import (
    MORE_ALARMS,
    MORE_NOTICES,
    NONE,
    NOTICING,
    RESCHEDULE,
    ZERO,
    Running,
    code,
)
from cprsim.batch.work import do
from cprsim.contract import rules
from cprsim.failures.hit import SEVERITIES

#: In place of a save: nodes were drained.
DRAINED = code(-3)
_ONE, _NODE, _CLUSTER = code(1), code(SEVERITIES.index("node")), code(rules.CLUSTER)
_is_announced = compiled(rules.r38_is_announced)
_in_time = compiled(rules.r38_in_time)
_can_drain = compiled(rules.r38_can_drain)


@compiled
def answer(it: Running) -> int:
    """Tell what has been announced; the save that answers it, `DRAINED`, or `NONE`."""
    run, plan = it.run, it.plan
    _announce(it)
    if run.drain_by_s < math.inf:
        _drain(it)
        return DRAINED
    unsaved = plan.emergency != NONE and run.progress_s > run.stored_s
    if unsaved and _in_time(run.now, plan.emergency_s, run.deadline_s):
        return plan.emergency
    return NONE


@inlined
def _announce(it: Running) -> None:
    """Tell what has been announced while training goes on, and wait for what is to be next."""
    run, plan, coming_s = it.run, it.plan, math.inf
    run.deadline_s, run.drain_by_s = -math.inf, math.inf
    ahead = run.next_s < math.inf and run.next_s != run.told_s
    if ahead and _is_announced(_drawn(it), plan.recall):
        coming_s = run.next_s - plan.lead_s
    if coming_s <= run.now:
        run.told_s, coming_s = run.next_s, math.inf
        away = it.lists[WITHDRAWN][COUNT]
        if plan.drains or away:
            cursors.look_ahead(it)
        if away:  # whose failures are their owner's
            node_lists.without(it.lists, STRUCK, STRUCK, WITHDRAWN)
        nodes = it.lists[STRUCK][COUNT]
        if nodes or not away:
            _tell(it, run.next_s, nodes, it.lists[STRUCK][SEVERITY])
    alarm_s = _alarm_s(it)
    while alarm_s <= run.now:
        run.alarms += 1
        if alarm_s + plan.lead_s > run.now:
            _tell(it, alarm_s + plan.lead_s, _ONE, _NODE)
        alarm_s = _alarm_s(it)
    _wait_until(it, min(coming_s, alarm_s))


@inlined
def _drawn(it: Running) -> float:
    """What the next failure has drawn."""
    run, draws = it.run, it.draws
    number = run.failures + run.absorbed + run.passed
    if number >= draws.notice_count:
        run.status = MORE_NOTICES
        return 1.0
    return it.numbers[draws.notices + number]


@compiled
def _alarm_s(it: Running) -> float:
    """When the next false alarm comes."""
    run, draws = it.run, it.draws
    if not draws.alarm_count:
        return math.inf
    if run.alarms >= draws.alarm_count:
        run.status = MORE_ALARMS
        return math.inf
    return it.numbers[draws.alarms + run.alarms]


@compiled
def _tell(it: Running, deadline_s: float, nodes: int, severity: int) -> None:
    """Take note of a deadline."""
    run, plan = it.run, it.plan
    run.deadline_s = max(run.deadline_s, deadline_s)
    if not plan.drains or deadline_s >= run.drain_by_s:
        return
    able = _can_drain(nodes, attempts.ready(it), severity)
    if able and _in_time(run.now, plan.drain_s, deadline_s):
        run.drain_by_s, run.drained_nodes = deadline_s, nodes


@inlined
def _wait_until(it: Running, next_s: float) -> None:
    run, place = it.run, ZERO
    while place < run.flows and it.flows[place].kind != NOTICING:
        place += 1
    waits = place < run.flows
    if waits and next_s == run.notice_s:
        return
    if waits:
        close_flow(it, place)
    run.notice_s = next_s
    if next_s < math.inf:
        open_flow(it, NOTICING, it.transfers[0], next_s - run.now)


@inlined
def _drain(it: Running) -> None:
    """Nodes that are to fail move to spares; what fails then is past as soon as they have."""
    run, plan, deadline_s = it.run, it.plan, it.run.drain_by_s
    attempts.vain(it)
    done_s = do(it, RESCHEDULE, it.transfers[0], plan.drain_s, 1.0)
    if done_s < plan.drain_s:
        return
    attempts.take_spares(it, run.drained_nodes, plan.reschedule_s)
    if run.next_s != deadline_s:  # a false alarm
        return
    cursors.look_ahead(it)
    node_lists.without(it.lists, STRUCK, STRUCK, WITHDRAWN)
    others = it.lists[STRUCK][COUNT] > run.drained_nodes
    if not others and it.lists[STRUCK][SEVERITY] != _CLUSTER:
        run.passed += 1
        now_s = run.now
        cursors.strike(it)
        run.now = deadline_s
        cursors.replace(it, STRUCK)
        cursors.resume(it)
        run.now = now_s
