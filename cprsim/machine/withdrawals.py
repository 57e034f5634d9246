"""Servers that the owner of the job withdraws, one window of time after the other.

Rule 39 of docs/semantics.md.
"""

from cprsim.job.severity import SEVERITIES
from cprsim.machine import node_lists, rules, starts
from cprsim.machine.answers import by_rule, load
from cprsim.machine.codes import NEARING, NONE, RETURNING
from cprsim.machine.fabric import open_flow
from cprsim.machine.flows import join_down, settle, two_lists
from cprsim.machine.node_lists import DOWN, NEW, SEVERITY, WITHDRAWN
from cprsim.machine.phases import LEAVING, MOVING_ROWS, TURN
from cprsim.machine.rows import Running
from cprsim.machine.work import begin, wait

_MOVED = 0  # row of `job.rated` for the load of moved rows
_NODE = SEVERITIES.index("node")
_DUE, _UNTIL, _SERVERS = range(3)


def await_next(job: Running) -> None:
    """Set a timer for the next window, if there is one."""
    run = job.run
    if run.window >= job.plan.windows:
        return
    due_s = _of_window(job, _DUE)
    run.leaving = due_s <= run.now
    if not run.leaving:
        open_flow(job, NEARING, job.transfers[0], due_s - run.now)


def take(job: Running) -> None:
    """Begin to move the rows of servers that leave, or stop the job where it needs them."""
    run, until_s = job.run, _of_window(job, _UNTIL)
    if not rules.r39_left_s(until_s, run.now):
        _taken(job)
        return
    run.leave = _who_may_leave(job, int(_of_window(job, _SERVERS)))
    if run.leave == NONE:
        starts.stop(job, until_s)
        _taken(job)
        return
    servers = node_lists.server_count(job.lists, NEW, job.plan.servers)
    rows = load(job, job.answers[job.answers[run.leave].fills], servers, _MOVED)
    begin(job, MOVING_ROWS, rows, rows.volume, rows.limit)


def moved(job: Running) -> None:
    """Let the remaining servers take over the rows that servers in `NEW` have left."""
    wait(job, LEAVING, job.answers[job.run.leave].pause_s)


def left(job: Running) -> None:
    """Withdraw the servers in `NEW` until the window ends."""
    run, lists = job.run, job.lists
    down, place = two_lists(job)
    node_lists.copy(lists, down, NEW)
    node_lists.clear(lists, place)
    node_lists.copy(lists, WITHDRAWN, NEW)
    left_s = rules.r39_left_s(_of_window(job, _UNTIL), run.now)
    flow = job.flows[open_flow(job, RETURNING, job.transfers[0], left_s)]
    flow.answer, flow.down, flow.place = job.answers[run.leave].fills, down, place
    run.knows_degraded = False
    settle(job, False, 0.0)
    _taken(job)


def _taken(job: Running) -> None:
    """Wait for the next window, unless the job stops: then it does so when it runs again."""
    run = job.run
    run.phase = TURN
    run.window += 1
    run.leaving = False
    if not run.stops:
        await_next(job)


def _of_window(job: Running, part: int) -> float:
    """Return a part of the next window: seconds, or a number of servers."""
    return job.real[job.plan.windows_at + 3 * job.run.window + part]


def _who_may_leave(job: Running, servers: int) -> int:
    """List the last `servers` servers that are up in `NEW`.

    Returns the answer by which the job trains on without them, or `NONE` where it stops.
    """
    lists, plan = job.lists, job.plan
    for row in (DOWN, NEW):
        node_lists.clear(lists, row)
    join_down(job, DOWN)
    up = plan.servers - node_lists.server_count(lists, DOWN, plan.servers)
    left = min(servers, up)
    for back in range(plan.servers):
        server = plan.servers - 1 - back
        if left and not node_lists.holds(lists, DOWN, server):
            node_lists.insert(lists, NEW, server)
            left -= 1
    lists[NEW][SEVERITY] = _NODE
    node_lists.join(lists, DOWN, NEW)
    answer = by_rule(job, DOWN)
    return answer if rules.r39_goes_on(job.answers[answer].regrows, up, servers) else NONE
