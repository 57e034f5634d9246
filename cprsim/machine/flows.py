"""What goes on while the job trains: saves, machines on their way, shards that are filled."""

from typing import Any

from cprsim.contract import rules
from cprsim.machine import attempts, cursors, node_lists, schedules, state
from cprsim.machine.answers import load
from cprsim.machine.codes import (
    FILLING,
    FOREGROUND,
    IN_VAIN,
    MORE_ROOM,
    NEARING,
    NONE,
    NOTICING,
    REPLACING,
    RETURNING,
    SAVING,
    STOPPING,
)
from cprsim.machine.fabric import advance, close_flow, open_flow
from cprsim.machine.node_lists import COUNT, FIRST, SPARE, WITHDRAWN
from cprsim.machine.rows import Running
from cprsim.machine.state import Held

_LOST = rules.LOST
_FILLED = 1  # room for what is loaded


def settle(it: Running, training: bool, from_s: float) -> None:
    """Move all flows on to now, and see off those that end by then.

    Where the foreground is `training` from a progress on, that is moved on first.
    """
    run = it.run
    count = advance(it)
    if count and training:
        done = it.flows[run.foreground].done if run.foreground != NONE else _ended_done(it, count)
        run.progress_s = from_s + done
    while count and not run.status:  # what one of them starts may take no time either
        for place in range(count):
            flow = it.ended[place]
            if flow.kind != FOREGROUND:
                run.news = True
                it.outside.ended(flow, True)
                _end(it, flow)
        count = advance(it)


def _ended_done(it: Running, count: int) -> float:
    for place in range(count):
        if it.ended[place].kind == FOREGROUND:
            return it.ended[place].done
    return 0.0


def _end(it: Running, flow: Any) -> None:
    if flow.kind == SAVING:
        _land(it, flow)
    elif flow.kind == STOPPING:
        it.run.stops = True
    elif flow.kind == NEARING:
        it.run.leaving = True
    elif flow.kind == NOTICING:
        return
    elif flow.kind == REPLACING or flow.kind == RETURNING:
        if flow.kind == RETURNING:
            node_lists.clear(it.lists, WITHDRAWN)
        _replaced(it, flow)
    else:
        _filled(it, flow)


# --- Saves ---------------------------------------------------------------------------------------


def start_save(it: Running, save: int, taken: Held, writes: float) -> None:
    """Begin to store what was taken."""
    transfer = it.transfers[it.saves[save].transfer]
    place = open_flow(it, SAVING, transfer, transfer.volume * writes + it.saves[save].besides)
    flow = it.flows[place]
    flow.save, flow.writes, flow.began_s = save, writes, it.run.now
    flow.taken_s, flow.taken_slowdown_s = taken.progress_s, taken.slowdown_s
    flow.taken_updates_lost, flow.taken_reads = taken.updates_lost, taken.reads
    flow.taken_marks = taken.marks


def saves_under_way(it: Running, tier: int) -> int:
    """How many saves to a tier there are in the background."""
    count = 0
    for place in range(it.run.flows):
        flow = it.flows[place]
        count += flow.kind == SAVING and it.saves[flow.save].tier == tier
    return count


def hold_all(it: Running, progress_s: float) -> bool:
    """Whether one of the saves under way is a checkpoint of everything that far."""
    for place in range(it.run.flows):
        flow = it.flows[place]
        if flow.kind == SAVING and flow.taken_s >= progress_s and it.saves[flow.save].portion == 1:
            return True
    return False


def abandon_saves(it: Running) -> None:
    """Give all saves up: nodes that are lost take their parts of each with them."""
    _abandon(it, SAVING, SAVING)


def abandon_all(it: Running) -> None:
    """Give all up that is under way."""
    _abandon(it, FOREGROUND, FILLING)


def abandon_rebuilding(it: Running) -> None:
    """Give all rebuilding up; its lists are given back."""
    _abandon(it, REPLACING, FILLING)


def _abandon(it: Running, least: int, most: int) -> None:
    """Flows of these kinds."""
    place = 0
    while place < it.run.flows:
        flow = it.flows[place]
        if least <= flow.kind <= most:
            it.outside.ended(flow, False)
            forget(it, flow)
            close_flow(it, place)
        else:
            place += 1


def _land(it: Running, flow: Any) -> None:
    """The last byte of a save is there."""
    save = it.saves[flow.save]
    taken = state.under_way(flow)
    if not attempts.save_is_void(it, save, flow.began_s):
        state.usable(it, taken, save, flow.writes)
        schedules.landed(it, save.tier, flow.save)
        return
    state.ended(it, save, flow.writes)
    attempts.vain(it, IN_VAIN)
    if save.tries_again:
        start_save(it, flow.save, taken, flow.writes)
    else:
        schedules.skip(it, flow.save)


# --- Lost nodes ----------------------------------------------------------------------------------


def rebuilding(it: Running) -> bool:
    """Whether nodes are replaced and filled while the job trains on."""
    for place in range(it.run.flows):
        if it.flows[place].kind >= REPLACING:
            return True
    return False


def join_down(it: Running, to: int) -> None:
    """Add all that are being rebuilt."""
    for place in range(it.run.flows):
        flow = it.flows[place]
        if flow.kind >= REPLACING:
            node_lists.join(it.lists, to, flow.down)


def rebuild(it: Running, hit: int, placed: int, answer: int, delay_s: float) -> None:
    """Replace and fill the lost nodes while the job trains on; fill those that are placed."""
    run, lists, servers = it.run, it.lists, it.plan.servers
    if lists[hit][COUNT]:
        down, place = two_lists(it)
        node_lists.clear(lists, down)
        node_lists.join(lists, down, hit)
        node_lists.copy(lists, place, hit)
        flow = it.flows[open_flow(it, REPLACING, it.transfers[0], delay_s)]
        flow.answer, flow.down, flow.place = answer, down, place
    node_lists.copy(lists, SPARE, placed)
    _leave_out(it, SPARE, hit)
    if node_lists.server_count(lists, SPARE, servers):
        down, place = two_lists(it)
        node_lists.copy(lists, down, SPARE)
        node_lists.clear(lists, place)
        fill(it, answer, down, place)
    run.knows_degraded = False
    if rebuilding(it):
        settle(it, False, 0.0)


def _leave_out(it: Running, of: int, hit: int) -> None:
    """Leave out the servers that are in the other list."""
    lists, kept = it.lists, 0
    for i in range(lists[of][COUNT]):
        node = lists[of][FIRST + i]
        if node >= it.plan.servers or not node_lists.holds(lists, hit, node):
            lists[of][FIRST + kept] = node
            kept += 1
    lists[of][COUNT] = kept


def fill(it: Running, answer: int, down: int, place: int) -> None:
    """Fill the shards of the servers that are down, of which some have yet to be placed."""
    servers = node_lists.server_count(it.lists, down, it.plan.servers)
    found = load(it, it.answers[answer], servers, _FILLED)
    flow = it.flows[open_flow(it, FILLING, found, found.volume)]
    flow.answer, flow.down, flow.place, flow.began_s = answer, down, place, it.run.now


def _replaced(it: Running, flow: Any) -> None:
    """Machines are there: trainers are back, servers are to be filled."""
    lists, servers = it.lists, it.plan.servers
    it.run.knows_degraded = False
    down = node_lists.server_count(lists, flow.down, servers)
    node_lists.keep_trainers(lists, SPARE, flow.place, servers)
    if lists[SPARE][COUNT]:
        cursors.replace(it, SPARE)
    if not down:
        forget(it, flow)
        return
    lists[flow.down][COUNT] = down
    lists[flow.place][COUNT] = node_lists.server_count(lists, flow.place, servers)
    fill(it, flow.answer, flow.down, flow.place)


def _filled(it: Running, flow: Any) -> None:
    """Shards are there."""
    answer = it.answers[flow.answer]
    if flow.volume and attempts.load_has_failed(it, answer, flow.began_s):
        fill(it, flow.answer, flow.down, flow.place)
        return
    it.run.knows_degraded = False
    if answer.depth == _LOST:
        state.refill(it, flow.down)
    # Its age counts from when it serves: until then it is down for every purpose.
    cursors.replace(it, flow.place)
    forget(it, flow)


def two_lists(it: Running) -> tuple[int, int]:
    """Two lists that nobody uses."""
    one, other = node_lists.take(it.lists), node_lists.take(it.lists)
    if other == NONE:
        it.run.status = MORE_ROOM
        return SPARE, SPARE
    return one, other


def forget(it: Running, flow: Any) -> None:
    """Nobody needs its lists any more, if it has any."""
    if flow.down != NONE:
        node_lists.give_back(it.lists, flow.down)
        node_lists.give_back(it.lists, flow.place)
