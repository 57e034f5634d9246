"""`cprsim.sim.machines`: machines on their way for nodes that are down."""

from cprsim.batch import cursors, node_lists
from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.node_lists import AWAY, COUNT, NEW, SPARE, STRUCK, WITHDRAWN
from cprsim.batch.rows import DETECT, MORE_ROOM, NO, NONE, RESCHEDULE, YES, ZERO, Running
from cprsim.batch.work import do


@compiled
def strike(it: Running) -> bool:
    """Take the failure at this instant; whether it takes anybody that the job has."""
    cursors.strike(it)
    lists = it.lists
    if not lists[WITHDRAWN][COUNT]:
        return True
    node_lists.without(lists, SPARE, STRUCK, WITHDRAWN)
    node_lists.without(lists, STRUCK, STRUCK, SPARE)
    cursors.replace(it, STRUCK)  # which is the owner's business
    node_lists.copy(lists, STRUCK, SPARE)
    if lists[STRUCK][COUNT]:
        return True
    it.run.passed += 1
    cursors.resume(it)
    return False


@inlined
def set_out(it: Running, hit: int, lost: int, left_s: float) -> None:
    """Machines for those that one failure took."""
    run = it.run
    mine, theirs = node_lists.take(it.lists), node_lists.take(it.lists)
    if theirs == NONE or run.comings == len(it.comings):
        run.status = MORE_ROOM
        return
    node_lists.copy(it.lists, mine, hit)
    node_lists.copy(it.lists, theirs, lost)
    coming = it.comings[run.comings]
    coming.hit, coming.lost, coming.left_s = mine, theirs, left_s
    run.comings += 1


@compiled
def list_away(it: Running) -> None:
    """Whom they are for, as a list."""
    node_lists.clear(it.lists, AWAY)
    for place in range(it.run.comings):
        node_lists.join(it.lists, AWAY, it.comings[place].lost)


@inlined
def notice(it: Running) -> bool:
    """Notice the last failure, for which machines set out then; whether another strikes."""
    struck, left_s = _wait(it, DETECT, it.plan.detect_s, YES)
    it.comings[it.run.comings - 1].left_s += left_s
    return struck


@inlined
def arrive(it: Running) -> bool:
    """Wait until all are there; whether a failure comes first."""
    longest_s = it.comings[0].left_s
    for place in range(1, it.run.comings):
        longest_s = max(longest_s, it.comings[place].left_s)
    struck, _ = _wait(it, RESCHEDULE, longest_s, NO)
    return struck


@compiled
def _wait(it: Running, cause: int, left_s: float, late: bool) -> tuple[bool, float]:
    """Wait so long, or until a node fails that is up; whether it does, and what is left.

    Those who come meanwhile are placed; of the last, where it is `late`, none has set out yet.
    """
    run, wait = it.run, it.transfers[0]
    while not run.status:
        step_s = left_s
        for place in range(run.comings - late):
            step_s = min(step_s, it.comings[place].left_s)
        done_s = do(it, cause, wait, step_s, 1.0)
        left_s -= done_s
        place = ZERO
        while place < run.comings - late:
            coming = it.comings[place]
            coming.left_s -= done_s
            if coming.left_s:
                place += 1
            else:
                cursors.replace(it, coming.hit)
                drop(it, place)
        if done_s == step_s:
            if not left_s:
                return False, 0.0
            continue
        if not strike(it):
            continue
        list_away(it)
        node_lists.without(it.lists, NEW, STRUCK, AWAY)
        if it.lists[NEW][COUNT]:
            return True, left_s
        run.passed += 1
        cursors.resume(it)
    return False, left_s


@compiled
def drop(it: Running, place: int) -> None:
    """No machines are on their way for those any more."""
    run, coming = it.run, it.comings[place]
    node_lists.give_back(it.lists, coming.hit)
    node_lists.give_back(it.lists, coming.lost)
    run.comings -= 1
    for later in range(place, run.comings):
        it.comings[later] = it.comings[later + 1]
