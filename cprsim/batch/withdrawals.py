"""`cprsim.sim.withdrawals`, and of `cprsim.sim.recovery` who goes and comes back."""

from cprsim.batch import node_lists, starts
from cprsim.batch.answers import answer_to, load
from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.fabric import open_flow
from cprsim.batch.flows import join_down, settle, two_lists
from cprsim.batch.node_lists import DOWN, NEW, SEVERITY, WITHDRAWN
from cprsim.batch.rows import LOAD, NEARING, NO, NONE, RESCHEDULE, RETURNING, Running, code
from cprsim.batch.work import do
from cprsim.contract import rules
from cprsim.failures.hit import SEVERITIES

_MOVED = code(0)  # room for the rows that are moved
_NODE = SEVERITIES.index("node")
_goes_on = compiled(rules.r39_goes_on)
_left_s = compiled(rules.r39_left_s)
_DUE, _UNTIL, _SERVERS = map(code, range(3))


@compiled
def await_next(it: Running) -> None:
    """See to the next window when it comes, if there is one."""
    run = it.run
    if run.window >= it.plan.windows:
        return
    due_s = _of_window(it, _DUE)
    run.leaving = due_s <= run.now
    if not run.leaving:
        open_flow(it, NEARING, it.transfers[0], due_s - run.now)


@compiled
def take(it: Running) -> None:
    """The rest goes on without the servers, or the job stops; a failure may come first."""
    run, until_s = it.run, _of_window(it, _UNTIL)
    if _left_s(until_s, run.now):
        answer = _who_may_leave(it, int(_of_window(it, _SERVERS)))
        if answer == NONE:
            starts.stop(it, until_s)
        elif not _withdraw(it, answer, until_s):
            return
    run.window += 1
    run.leaving = NO
    if not run.stops:  # else when it goes on
        await_next(it)


@inlined
def _of_window(it: Running, part: int) -> float:
    """A part of the next one."""
    return it.real[it.plan.windows_at + 3 * it.run.window + part]


@inlined
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
    answer = answer_to(it, DOWN)
    return answer if _goes_on(it.answers[answer].regrows, up, servers) else NONE


@inlined
def _withdraw(it: Running, answer: int, until_s: float) -> bool:
    """They (`NEW`) leave their rows to the others and go; whether no failure comes first."""
    run, lists = it.run, it.lists
    fills, pause_s = it.answers[answer].fills, it.answers[answer].pause_s
    servers = node_lists.server_count(lists, NEW, it.plan.servers)
    rows = load(it, it.answers[fills], servers, _MOVED)
    volume, rate = rows.volume, rows.limit
    if do(it, LOAD, rows, volume, rate) < volume:
        return False
    if do(it, RESCHEDULE, it.transfers[0], pause_s, 1.0) < pause_s:
        return False
    down, place = two_lists(it)
    node_lists.copy(lists, down, NEW)
    node_lists.clear(lists, place)
    node_lists.copy(lists, WITHDRAWN, NEW)
    left_s = _left_s(until_s, run.now)
    flow = it.flows[open_flow(it, RETURNING, it.transfers[0], left_s)]
    flow.answer, flow.down, flow.place = fills, down, place
    run.knows_degraded = False
    settle(it, NO, 0.0)
    return True
