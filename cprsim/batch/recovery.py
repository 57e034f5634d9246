"""`cprsim.sim.recovery`: who is set back, who is waited for, who is replaced meanwhile."""

from typing import Any

from cprsim.batch import attempts, cursors, machines, marks, node_lists, schedules, starts, state
from cprsim.batch.answers import answer_to, load
from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.flows import (
    abandon_rebuilding,
    abandon_saves,
    join_down,
    rebuild,
    rebuilding,
)
from cprsim.batch.node_lists import (
    AWAY,
    COUNT,
    DOWN,
    EMPTY,
    FIRST,
    HIT,
    LOST,
    NEW,
    PLACED,
    SEVERITY,
    STRUCK,
    WAITING,
    WITHDRAWN,
)
from cprsim.batch.rows import (
    FILLING,
    LOAD,
    MORE_ROOM,
    NO,
    NONE,
    REPLACING,
    RESCHEDULE,
    YES,
    Running,
    code,
)
from cprsim.batch.work import do
from cprsim.contract import rules

_RELOADED = code(0)  # room for what is loaded
_ZERO = code(0)
_is_read = compiled(rules.r35_is_read)
_NONE, _LOST, _ALL = map(code, (rules.NONE, rules.LOST, rules.ALL))
_is_void = compiled(rules.r9_is_void)
_starts_again = compiled(rules.r36_starts_again)
_can_fail = compiled(rules.r11_can_fail)
_goes_as_deep = compiled(rules.r12_goes_as_deep)
_trains_on = compiled(rules.r13_trains_on)


@compiled
def recover(it: Running) -> int:
    """From a failure at this instant until training can go on; the deepest of the rollbacks."""
    if not machines.strike(it):
        return _NONE
    return _until_loaded(it, YES, NONE, _NONE)


@compiled
def return_to_verified(it: Running) -> None:
    """A silent fault was found: the job returns to the last checkpoint that was verified."""
    tier = marks.last_verified(it)
    number = it.plan.last_return if tier == NONE else it.whole[it.plan.returns + tier]
    _fall_back(it, it.answers[number].source, YES)
    node_lists.clear(it.lists, NEW)
    node_lists.clear(it.lists, DOWN)
    _return(it, it.answers[number])
    _until_loaded(it, _load_all(it, number, _ZERO), number, _ALL)


@compiled
def hand_over(it: Running) -> None:
    """An allocation is over: in the next one the job starts, and loads what it has saved."""
    lists, number = it.lists, it.plan.hands_over
    for row in (HIT, DOWN, NEW):
        node_lists.clear(lists, row)
    abandon_saves(it)
    if rebuilding(it):
        join_down(it, DOWN)
        _take_over_rebuilding(it)
        node_lists.clear(lists, DOWN)
    cursors.pause(it)
    starts.returned(it)
    starts.allocated(it)
    _set_back(it, it.answers[number])
    _load_all(it, number, _ZERO)
    cursors.replace(it, HIT)
    cursors.go_on(it)
    schedules.handed_over(it, it.answers[number].source)


@compiled
def _until_loaded(it: Running, struck: bool, deepest: int, depth: int) -> int:
    """From a failure, if there is one, until training can go on; `deepest` is to be loaded."""
    run, plan, lists = it.run, it.plan, it.lists
    node_lists.clear(lists, WAITING)  # nodes that are waited for, or that load
    while struck and not run.status:
        attempts.failure(it)
        starts.failed(it)
        _take_stock(it)
        number = answer_to(it, DOWN)
        answer = it.answers[number]
        _note(it, number)
        _set_back(it, answer)
        nodes = lists[LOST][COUNT]
        delay_s = attempts.replacement_s(it, nodes) + answer.takeover_s
        if answer.depth == _ALL and rebuilding(it):
            delay_s = max(delay_s, _take_over_rebuilding(it) - plan.detect_s)
        if _goes_as_deep(answer.depth, depth):
            deepest, depth = number, answer.depth
        trains_on = _trains_on(answer.keep, depth)
        goes_on = not trains_on and _can_fail(plan.while_waiting, depth, plan.holds_nodes)
        if goes_on:
            cursors.resume(it)
        machines.set_out(it, HIT, LOST, delay_s)
        if run.status:
            break
        struck = machines.notice(it)
        if not struck and trains_on:
            _train_on(it, deepest)
            if not it.answers[deepest].regrows:
                cursors.resume(it)
                break
        elif not struck:
            struck = machines.arrive(it)
        if not struck:
            if plan.during_recovery and not goes_on:
                cursors.resume(it)
            struck = _reload(it, deepest)
    schedules.resume(it, depth == _ALL)
    return depth


@inlined
def _take_stock(it: Running) -> None:
    """Lists of who is hit, who is newly down, who is waited for, and who is down in all."""
    run, lists = it.run, it.lists
    others = run.comings + run.flows + lists[WAITING][COUNT] + lists[WAITING][SEVERITY]
    if not others:  # the common case, and quick
        for row in (HIT, LOST, NEW, WAITING, DOWN):
            node_lists.copy(lists, row, STRUCK)
        node_lists.clear(lists, PLACED)
        node_lists.clear(lists, AWAY)
        return
    machines.list_away(it)
    node_lists.without(lists, HIT, STRUCK, AWAY)
    node_lists.clear(lists, DOWN)
    join_down(it, DOWN)
    node_lists.without(lists, LOST, HIT, DOWN)  # what is being rebuilt has no more to lose
    node_lists.without(lists, NEW, LOST, WAITING)
    node_lists.without(lists, PLACED, WAITING, AWAY)
    node_lists.without(lists, PLACED, PLACED, DOWN)
    node_lists.join(lists, WAITING, LOST)
    node_lists.copy(lists, DOWN, WAITING)
    join_down(it, DOWN)


@inlined
def _note(it: Running, answer: int) -> None:
    """What sequences of saves have to know of an answer."""
    run, lists = it.run, it.lists
    run.source = it.answers[answer].source
    run.answered = answer
    run.answered_down = node_lists.server_count(lists, DOWN, it.plan.servers)


@inlined
def _set_back(it: Running, answer: Any) -> None:
    """Return who has to return to a checkpoint; `NEW` have just lost their state."""
    servers = node_lists.server_count(it.lists, NEW, it.plan.servers)
    if it.plan.torn and _is_read(answer.depth, answer.has_healthy, servers):
        _fall_back(it, answer.source, NO)
    _return(it, answer)


@compiled
def _fall_back(it: Running, tier: int, corrupt: bool) -> None:
    """Leave out what can't be returned to; it is loaded before that is known of torn ones."""
    torn = marks.fall_back(it, tier, corrupt)
    it.run.torn_loads += torn
    if torn or corrupt:
        schedules.unusable(it, tier, corrupt)


@compiled
def _return(it: Running, answer: Any) -> None:
    if answer.depth == _ALL:
        state.roll_back(
            it, answer.source, answer.mirrored, answer.has_healthy, answer.healthy, DOWN
        )
    elif answer.depth == _LOST:
        state.lose(it, NEW, answer.source)
    servers = node_lists.server_count(it.lists, NEW, it.plan.servers)
    if _is_void(answer.depth, servers, YES):
        abandon_saves(it)


@inlined
def _reload(it: Running, number: int) -> bool:
    """Start again, load what was lost; whether a failure comes first."""
    again = _starts_again(it.answers[number].starts_again, it.lists[WAITING][SEVERITY])
    if again and not starts.again(it):
        return True
    servers = node_lists.server_count(it.lists, WAITING, it.plan.servers)
    struck = _load_all(it, number, servers)
    if not struck and not it.plan.during_recovery:
        cursors.resume(it)
    return struck


@compiled
def _load_all(it: Running, number: int, servers: int) -> bool:
    """Load until it succeeds; whether a failure comes first."""
    run, answer = it.run, it.answers[number]
    found = load(it, answer, servers, _RELOADED)
    volume, rate = found.volume, found.limit
    left, start_s = volume, run.now
    if not left or not answer.can_fail:
        run.torn_loads = 0
    while left and not run.status:
        left -= do(it, LOAD, found, left, rate)
        if left:
            if machines.strike(it):
                return True
        elif attempts.load_has_failed(it, answer, start_s):
            left, start_s = volume, run.now
    return False


@inlined
def _train_on(it: Running, answer: int) -> None:
    """The others go on, once they have taken over, while the lost nodes are rebuilt."""
    run, lists, fills = it.run, it.lists, it.answers[answer].fills
    last = run.comings - 1
    for place in range(last):
        coming = it.comings[place]
        rebuild(it, coming.hit, EMPTY, fills, coming.left_s)
    coming = it.comings[last]
    rebuild(it, coming.lost, PLACED, fills, coming.left_s)
    anyone = lists[coming.lost][COUNT]
    while run.comings:
        machines.drop(it, run.comings - 1)
    pause_s = it.answers[answer].pause_s
    if pause_s and anyone:
        do(it, RESCHEDULE, it.transfers[0], pause_s, 1.0)


@inlined
def _take_over_rebuilding(it: Running) -> float:
    """A restart of the whole job waits for the nodes that were being rebuilt as well.

    Returns how long those still have to be waited for; `HIT` are all to be replaced.
    """
    run, lists, longest_s = it.run, it.lists, 0.0
    node_lists.copy(lists, WAITING, DOWN)
    for place in range(run.flows):
        flow = it.flows[place]
        if flow.kind < REPLACING:
            continue
        if flow.kind != FILLING:
            longest_s = max(longest_s, flow.ends_at - run.now)
        if lists[HIT][COUNT] + lists[flow.place][COUNT] + FIRST > len(lists[HIT]):
            run.status = MORE_ROOM
            return 0.0
        for i in range(lists[flow.place][COUNT]):
            node_lists.append(lists, HIT, lists[flow.place][FIRST + i])
    abandon_rebuilding(it)
    node_lists.clear(lists, WITHDRAWN)
    run.knows_degraded = False
    return longest_s
