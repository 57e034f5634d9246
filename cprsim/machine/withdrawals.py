"""Servers that the owner of the job withdraws for a while, one window after the other."""

from cprsim.contract import rules
from cprsim.failures.hit import SEVERITIES
from cprsim.machine import node_lists, starts
from cprsim.machine.answers import by_rule, load
from cprsim.machine.codes import NEARING, NONE, RETURNING
from cprsim.machine.fabric import open_flow
from cprsim.machine.flows import join_down, settle, two_lists
from cprsim.machine.node_lists import DOWN, NEW, SEVERITY, WITHDRAWN
from cprsim.machine.phases import LEAVING, MOVING_ROWS, TURN
from cprsim.machine.rows import Running
from cprsim.machine.work import begin, wait

_MOVED = 0  # room for the rows that are moved
_NODE = SEVERITIES.index("node")
_DUE, _UNTIL, _SERVERS = range(3)


def await_next(it: Running) -> None:
    """See to the next window when it comes, if there is one."""
    run = it.run
    if run.window >= it.plan.windows:
        return
    due_s = _of_window(it, _DUE)
    run.leaving = due_s <= run.now
    if not run.leaving:
        open_flow(it, NEARING, it.transfers[0], due_s - run.now)


def take(it: Running) -> None:
    """The rest goes on without the servers, or the job stops."""
    run, until_s = it.run, _of_window(it, _UNTIL)
    if not rules.r39_left_s(until_s, run.now):
        _taken(it)
        return
    run.leave = _who_may_leave(it, int(_of_window(it, _SERVERS)))
    if run.leave == NONE:
        starts.stop(it, until_s)
        _taken(it)
        return
    servers = node_lists.server_count(it.lists, NEW, it.plan.servers)
    rows = load(it, it.answers[it.answers[run.leave].fills], servers, _MOVED)
    begin(it, MOVING_ROWS, rows, rows.volume, rows.limit)


def moved(it: Running) -> None:
    """They (`NEW`) have left their rows to the others, which take over."""
    wait(it, LEAVING, it.answers[it.run.leave].pause_s)


def left(it: Running) -> None:
    """They go, and come back when the window ends."""
    run, lists = it.run, it.lists
    down, place = two_lists(it)
    node_lists.copy(lists, down, NEW)
    node_lists.clear(lists, place)
    node_lists.copy(lists, WITHDRAWN, NEW)
    left_s = rules.r39_left_s(_of_window(it, _UNTIL), run.now)
    flow = it.flows[open_flow(it, RETURNING, it.transfers[0], left_s)]
    flow.answer, flow.down, flow.place = it.answers[run.leave].fills, down, place
    run.knows_degraded = False
    settle(it, False, 0.0)
    _taken(it)


def _taken(it: Running) -> None:
    """See to the next window, unless the job stops: else when it goes on."""
    run = it.run
    run.phase = TURN
    run.window += 1
    run.leaving = False
    if not run.stops:
        await_next(it)


def _of_window(it: Running, part: int) -> float:
    """A part of the next one."""
    return it.real[it.plan.windows_at + 3 * it.run.window + part]


def _who_may_leave(it: Running, servers: int) -> int:
    """The last so many that are up (`NEW`): how the rest goes on without; `NONE` if it stops."""
    lists, plan = it.lists, it.plan
    for row in (DOWN, NEW):
        node_lists.clear(lists, row)
    join_down(it, DOWN)
    up = plan.servers - node_lists.server_count(lists, DOWN, plan.servers)
    left = min(servers, up)
    for back in range(plan.servers):
        server = plan.servers - 1 - back
        if left and not node_lists.holds(lists, DOWN, server):
            node_lists.insert(lists, NEW, server)
            left -= 1
    lists[NEW][SEVERITY] = _NODE
    node_lists.join(lists, DOWN, NEW)
    answer = by_rule(it, DOWN)
    return answer if rules.r39_goes_on(it.answers[answer].regrows, up, servers) else NONE
