"""Background work while the job trains: saves, replacement machines, loads of lost shards."""

from typing import Any

from cprsim.machine import attempts, cursors, node_lists, rules, schedules, state
from cprsim.machine.answers import load
from cprsim.machine.codes import (
    FILLING,
    FOREGROUND,
    MORE_ROOM,
    NONE,
    NOTICING,
    REPLACING,
    SAVING,
    STOPPING,
    WASTED,
)
from cprsim.machine.fabric import advance, close_flow, open_flow
from cprsim.machine.node_lists import COUNT, FIRST, SPARE
from cprsim.machine.rows import Running
from cprsim.machine.state import Held

_LOST = rules.LOST
_FILLED = 1  # row of `job.rated` for a load


def settle(job: Running, training: bool, from_s: float) -> None:
    """Move all flows to now, and handle those that end by then.

    Where the foreground is `training` from progress `from_s` on, progress moves first, since what a
    flow starts at its end depends on it.
    """
    run = job.run
    count = advance(job)
    if count and training:
        done = job.flows[run.foreground].done if run.foreground != NONE else _ended_done(job, count)
        run.progress_s = from_s + done
    while count and not run.status:  # a flow that one of them starts may end at once as well
        for place in range(count):
            flow = job.ended[place]
            if flow.kind != FOREGROUND:
                run.news = True
                job.outside.ended(flow, True)
                _end(job, flow)
        count = advance(job)


def _ended_done(job: Running, count: int) -> float:
    for place in range(count):
        if job.ended[place].kind == FOREGROUND:
            return job.ended[place].done
    return 0.0


def _end(job: Running, flow: Any) -> None:
    if flow.kind == SAVING:
        _land(job, flow)
    elif flow.kind == STOPPING:
        job.run.stops = True
    elif flow.kind == NOTICING:
        return
    elif flow.kind == REPLACING:
        _replaced(job, flow)
    else:
        _filled(job, flow)


# --- Saves ---------------------------------------------------------------------------------------


def start_save(job: Running, save: int, taken: Held, writes: float) -> None:
    """Begin to store a checkpoint in the background.

    `writes`: bytes written, as a share of the transfer's volume.
    """
    transfer = job.transfers[job.saves[save].transfer]
    place = open_flow(job, SAVING, transfer, transfer.volume * writes + job.saves[save].besides)
    flow = job.flows[place]
    flow.save, flow.writes, flow.began_s = save, writes, job.run.now
    flow.taken_s, flow.taken_slowdown_s = taken.progress_s, taken.slowdown_s
    flow.taken_updates_lost, flow.taken_reads = taken.updates_lost, taken.reads
    flow.taken_marks = taken.marks


def saves_under_way(job: Running, tier: int) -> int:
    """Return the number of background saves to a tier."""
    count = 0
    for place in range(job.run.flows):
        flow = job.flows[place]
        count += flow.kind == SAVING and job.saves[flow.save].tier == tier
    return count


def hold_all(job: Running, progress_s: float) -> bool:
    """Return whether a save under way holds all rows at a progress of at least `progress_s`."""
    for place in range(job.run.flows):
        flow = job.flows[place]
        if flow.kind == SAVING and flow.taken_s >= progress_s and job.saves[flow.save].portion == 1:
            return True
    return False


def abandon_saves(job: Running) -> None:
    """Abandon all background saves: lost nodes take their parts of each with them."""
    _abandon(job, SAVING, SAVING)


def abandon_timers(job: Running) -> None:
    """Abandon all timers; what needs them sets them again."""
    _abandon(job, STOPPING, NOTICING)


def abandon_all(job: Running) -> None:
    """Abandon all flows."""
    _abandon(job, FOREGROUND, FILLING)


def abandon_rebuilding(job: Running) -> None:
    """Abandon all rebuilding of lost nodes, and give its lists back."""
    _abandon(job, REPLACING, FILLING)


def _abandon(job: Running, least: int, most: int) -> None:
    """Abandon the flows of kinds `least` to `most`."""
    place = 0
    while place < job.run.flows:
        flow = job.flows[place]
        if least <= flow.kind <= most:
            job.outside.ended(flow, False)
            forget(job, flow)
            close_flow(job, place)
        else:
            place += 1


def _land(job: Running, flow: Any) -> None:
    """Make a save usable whose last byte is stored, or repeat or skip a failed one (rule 31)."""
    save = job.saves[flow.save]
    taken = state.under_way(flow)
    if not attempts.save_has_failed(job, save, flow.began_s):
        state.usable(job, taken, save, flow.writes)
        schedules.landed(job, save.tier, flow.save)
        return
    state.ended(job, save, flow.writes)
    attempts.count_wasted(job, WASTED)
    if save.tries_again:
        start_save(job, flow.save, taken, flow.writes)
    else:
        schedules.skip(job, flow.save)


# --- Lost nodes ----------------------------------------------------------------------------------


def rebuilding(job: Running) -> bool:
    """Return whether nodes are being replaced or filled while the job trains."""
    for place in range(job.run.flows):
        if job.flows[place].kind >= REPLACING:
            return True
    return False


def join_down(job: Running, to: int) -> None:
    """Add all nodes that are being rebuilt to a list."""
    for place in range(job.run.flows):
        flow = job.flows[place]
        if flow.kind >= REPLACING:
            node_lists.join(job.lists, to, flow.down)


def rebuild(job: Running, hit: int, placed: int, answer: int, delay_s: float) -> None:
    """Replace and fill lost nodes while the job trains on (rule 13 of docs/semantics.md).

    Nodes of list `hit` wait `delay_s` for machines; servers of list `placed` have theirs, and load.
    """
    run, lists, servers = job.run, job.lists, job.plan.servers
    if lists[hit][COUNT]:
        down, place = two_lists(job)
        node_lists.clear(lists, down)
        node_lists.join(lists, down, hit)
        node_lists.copy(lists, place, hit)
        flow = job.flows[open_flow(job, REPLACING, job.transfers[0], delay_s)]
        flow.answer, flow.down, flow.place = answer, down, place
    node_lists.copy(lists, SPARE, placed)
    _leave_out(job, SPARE, hit)
    if node_lists.server_count(lists, SPARE, servers):
        down, place = two_lists(job)
        node_lists.copy(lists, down, SPARE)
        node_lists.clear(lists, place)
        fill(job, answer, down, place)
    run.knows_degraded = False
    if rebuilding(job):
        settle(job, False, 0.0)


def _leave_out(job: Running, of: int, hit: int) -> None:
    """Remove from list `of` the servers that are in list `hit`."""
    lists, kept = job.lists, 0
    for i in range(lists[of][COUNT]):
        node = lists[of][FIRST + i]
        if node >= job.plan.servers or not node_lists.holds(lists, hit, node):
            lists[of][FIRST + kept] = node
            kept += 1
    lists[of][COUNT] = kept


def fill(job: Running, answer: int, down: int, place: int) -> None:
    """Begin to fill the shards of the servers in list `down`.

    `place`: list of the nodes to place once they are filled.
    """
    servers = node_lists.server_count(job.lists, down, job.plan.servers)
    found = load(job, job.answers[answer], servers, _FILLED)
    flow = job.flows[open_flow(job, FILLING, found, found.volume)]
    flow.answer, flow.down, flow.place, flow.began_s = answer, down, place, job.run.now


def _replaced(job: Running, flow: Any) -> None:
    """Let trainers serve again whose machines have come, and begin to fill servers."""
    lists, servers = job.lists, job.plan.servers
    job.run.knows_degraded = False
    down = node_lists.server_count(lists, flow.down, servers)
    node_lists.keep_trainers(lists, SPARE, flow.place, servers)
    if lists[SPARE][COUNT]:
        cursors.replace(job, SPARE)
    if not down:
        forget(job, flow)
        return
    lists[flow.down][COUNT] = down
    lists[flow.place][COUNT] = node_lists.server_count(lists, flow.place, servers)
    fill(job, flow.answer, flow.down, flow.place)


def _filled(job: Running, flow: Any) -> None:
    """Let servers serve again whose shards are loaded, unless the load has failed."""
    answer = job.answers[flow.answer]
    if flow.volume and attempts.load_has_failed(job, answer, flow.began_s):
        fill(job, flow.answer, flow.down, flow.place)
        return
    job.run.knows_degraded = False
    if answer.depth == _LOST:
        state.refill(job, flow.down)
    # A node ages from when it serves: until then it is down for every purpose.
    cursors.replace(job, flow.place)
    forget(job, flow)


def two_lists(job: Running) -> tuple[int, int]:
    """Take two unused lists."""
    one, other = node_lists.take(job.lists), node_lists.take(job.lists)
    if other == NONE:
        job.run.status = MORE_ROOM
        return SPARE, SPARE
    return one, other


def forget(job: Running, flow: Any) -> None:
    """Give the lists of a flow back, if it has any."""
    if flow.down != NONE:
        node_lists.give_back(job.lists, flow.down)
        node_lists.give_back(job.lists, flow.place)
