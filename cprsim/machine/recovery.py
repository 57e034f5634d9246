"""Recoveries: who is set back, who is waited for, what is loaded, who is replaced meanwhile."""

from cprsim.contract import rules
from cprsim.machine import (
    attempts,
    cursors,
    marks,
    node_lists,
    schedules,
    starts,
    state,
    waiting,
)
from cprsim.machine.answers import answer_to
from cprsim.machine.answers import load as transfer_of
from cprsim.machine.codes import FILLING, MORE_ROOM, NONE, REPLACING
from cprsim.machine.flows import (
    abandon_rebuilding,
    abandon_saves,
    join_down,
    rebuild,
    rebuilding,
)
from cprsim.machine.node_lists import (
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
from cprsim.machine.phases import ARRIVING, DETECTING, HELD, LOADING, RESTARTING, TAKING_OVER, TURN
from cprsim.machine.rows import Running
from cprsim.machine.work import begin, wait

_RELOADED = 0  # room for what is loaded
_NONE, _LOST, _ALL = (rules.NONE, rules.LOST, rules.ALL)


def strike(it: Running) -> None:
    """Begin a recovery from the failure at this instant, if it takes anybody of the job."""
    it.run.depth = _NONE
    if waiting.strike(it):
        node_lists.clear(it.lists, WAITING)  # nodes that are waited for, or that load
        it.run.deepest = NONE
        _fail(it)
    else:
        _trains(it)


def return_to_verified(it: Running) -> None:
    """A silent fault was found: the job returns to the last checkpoint that was verified."""
    run, tier = it.run, marks.last_verified(it)
    number = it.plan.last_return if tier == NONE else it.whole[it.plan.returns + tier]
    _fall_back(it, it.answers[number].source, True)
    for row in (NEW, DOWN, WAITING):
        node_lists.clear(it.lists, row)
    _return(it, number)
    run.deepest, run.depth = number, _ALL
    run.resumes = False  # nothing has failed
    load(it, LOADING, 0)


def _fail(it: Running) -> None:
    """Set back who has to return, and notice the failure; machines set out then."""
    run, plan, lists = it.run, it.plan, it.lists
    attempts.failure(it)
    it.outside.failure()
    starts.failed(it)
    _take_stock(it)
    number = answer_to(it, DOWN)
    answer = it.answers[number]
    _note(it, number)
    set_back(it, number)
    delay_s = attempts.replacement_s(it, lists[LOST][COUNT]) + answer.takeover_s
    if answer.depth == _ALL and rebuilding(it):
        delay_s = max(delay_s, take_over_rebuilding(it) - plan.detect_s)
    if rules.r12_goes_as_deep(answer.depth, run.depth):
        run.deepest, run.depth = number, answer.depth
    run.trains_on = rules.r13_trains_on(answer.keep, run.depth)
    run.goes_on = not run.trains_on and rules.r11_can_fail(
        plan.while_waiting, run.depth, plan.holds_nodes
    )
    run.resumes = not plan.during_recovery
    if run.goes_on:
        cursors.resume(it)
    waiting.set_out(it, HIT, LOST, delay_s)
    if not run.status:
        waiting.wait_for(it, DETECTING, plan.detect_s)


def noticed(it: Running) -> None:
    """A part of the noticing is over."""
    run = it.run
    if not waiting.waited(it):
        return
    it.comings[run.comings - 1].left_s += run.wait_s
    if run.struck_again:
        _fail(it)
    elif run.trains_on:
        _train_on(it)
    else:
        waiting.wait_for(it, ARRIVING, waiting.longest_s(it))


def arrived(it: Running) -> None:
    """A part of the waiting is over."""
    if not waiting.waited(it):
        return
    if it.run.struck_again:
        _fail(it)
    else:
        _reload(it)


def taken_over(it: Running) -> None:
    """The others serve for the lost nodes: the job trains on, once it has loaded what it has to."""
    if it.answers[it.run.deepest].regrows:
        _reload(it)
    else:
        cursors.resume(it)
        _resume(it)


def _reload(it: Running) -> None:
    """Start again where processes have to be, and load what was lost."""
    run, plan = it.run, it.plan
    if plan.during_recovery and not run.goes_on:
        cursors.resume(it)
    again = rules.r36_starts_again(
        it.answers[run.deepest].starts_again, it.lists[WAITING][SEVERITY]
    )
    if again and plan.starts:
        starts.start(it, RESTARTING)
    else:
        _load_lost(it)


def started_again(it: Running) -> None:
    """All processes are up again."""
    starts.warmed(it)
    _load_lost(it)


def _load_lost(it: Running) -> None:
    load(it, LOADING, node_lists.server_count(it.lists, WAITING, it.plan.servers))


def struck_again(it: Running) -> None:
    """A failure strikes before training goes on, or takes nobody that the job has."""
    run = it.run
    left, phase = run.volume - run.done, run.phase
    if waiting.strike(it):
        _fail(it)
    elif phase == RESTARTING:
        wait(it, phase, left)
    else:
        begin(it, phase, it.rated[_RELOADED], left, it.rated[_RELOADED].limit)


def load(it: Running, phase: int, servers: int) -> None:
    """Begin to load what the deepest of the rollbacks needs."""
    run, answer = it.run, it.answers[it.run.deepest]
    found = transfer_of(it, answer, servers, _RELOADED)
    run.load_s, run.load_volume = run.now, found.volume
    if not found.volume or not answer.can_fail:
        run.torn_loads = 0
    begin(it, phase, found, found.volume, found.limit)


def loads_again(it: Running) -> bool:
    """Whether a load that has come to its end was in vain, and has begun again."""
    run, found = it.run, it.rated[_RELOADED]
    if not run.volume or not attempts.load_has_failed(it, it.answers[run.deepest], run.load_s):
        return False
    run.load_s = run.now
    begin(it, run.phase, found, run.load_volume, found.limit)
    return True


def loaded(it: Running) -> None:
    """What was lost is there, unless the load was in vain."""
    if loads_again(it):
        return
    if it.run.resumes:
        cursors.resume(it)
    _resume(it)


def _resume(it: Running) -> None:
    """Training goes on, or what was held."""
    schedules.resume(it, it.run.depth == _ALL)
    _trains(it)


def _trains(it: Running) -> None:
    if it.run.held == NONE:
        it.run.phase = TURN
    else:
        it.run.phase = HELD


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
    waiting.list_away(it)
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


def _note(it: Running, answer: int) -> None:
    """What sequences of saves have to know of an answer."""
    run, lists = it.run, it.lists
    run.source = it.answers[answer].source
    run.answered = answer
    run.answered_down = node_lists.server_count(lists, DOWN, it.plan.servers)


def set_back(it: Running, number: int) -> None:
    """Return who has to return to a checkpoint; `NEW` have just lost their state."""
    answer = it.answers[number]
    servers = node_lists.server_count(it.lists, NEW, it.plan.servers)
    if it.plan.torn and rules.r35_is_read(answer.depth, answer.has_healthy, servers):
        _fall_back(it, answer.source, False)
    _return(it, number)


def _fall_back(it: Running, tier: int, corrupt: bool) -> None:
    """Leave out what can't be returned to; it is loaded before that is known of torn ones."""
    torn = marks.fall_back(it, tier, corrupt)
    it.run.torn_loads += torn
    if torn or corrupt:
        schedules.unusable(it, tier, corrupt)


def _return(it: Running, number: int) -> None:
    """Set back whom the answer does, and give saves up that lack a part then."""
    answer = it.answers[number]
    if answer.depth == _ALL:
        state.roll_back(
            it, answer.source, answer.mirrored, answer.has_healthy, answer.healthy, DOWN
        )
    elif answer.depth == _LOST:
        state.lose(it, NEW, answer.source)
    servers = node_lists.server_count(it.lists, NEW, it.plan.servers)
    if rules.r9_is_void(answer.depth, servers, True):
        abandon_saves(it)
    it.outside.answered(number)


def _train_on(it: Running) -> None:
    """Have the lost nodes rebuilt while the others go on, once they have taken over."""
    run, lists, answer = it.run, it.lists, it.answers[it.run.deepest]
    last = run.comings - 1
    for place in range(last):
        coming = it.comings[place]
        rebuild(it, coming.hit, EMPTY, answer.fills, coming.left_s)
    coming = it.comings[last]
    rebuild(it, coming.lost, PLACED, answer.fills, coming.left_s)
    anyone = lists[coming.lost][COUNT]
    while run.comings:
        waiting.drop(it, run.comings - 1)
    wait(it, TAKING_OVER, answer.pause_s if anyone else 0.0)


def take_over_rebuilding(it: Running) -> float:
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
