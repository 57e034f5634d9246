"""Machines on their way for nodes that are down, and failures of others meanwhile."""

from cprsim.machine import cursors, node_lists
from cprsim.machine.codes import MORE_ROOM, NONE
from cprsim.machine.node_lists import AWAY, COUNT, NEW, SPARE, STRUCK, WITHDRAWN
from cprsim.machine.phases import DETECTING
from cprsim.machine.rows import Running, close_up
from cprsim.machine.work import wait


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


def set_out(it: Running, hit: int, lost: int, left_s: float) -> None:
    """Have machines set out for those that one failure took."""
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


def list_away(it: Running) -> None:
    """List whom they are for."""
    node_lists.clear(it.lists, AWAY)
    for place in range(it.run.comings):
        node_lists.join(it.lists, AWAY, it.comings[place].lost)


def longest_s(it: Running) -> float:
    """How long it is until all are there."""
    longest = it.comings[0].left_s
    for place in range(1, it.run.comings):
        longest = max(longest, it.comings[place].left_s)
    return longest


def wait_for(it: Running, phase: int, seconds: float) -> None:
    """Wait so long, or until a node fails that is up, a stretch at a time."""
    it.run.wait_s = seconds
    _next_stretch(it, phase)


def _next_stretch(it: Running, phase: int) -> None:
    """Wait until the next machine is there, or for all that is left.

    Machines for a failure that is being noticed, the last, have not set out yet.
    """
    step_s = it.run.wait_s
    for place in range(it.run.comings - (phase == DETECTING)):
        step_s = min(step_s, it.comings[place].left_s)
    wait(it, phase, step_s)


def waited(it: Running) -> bool:
    """Place those that have come; whether the waiting is over, by its end or by a failure.

    `run.struck_again` says which.
    """
    run, phase = it.run, it.run.phase
    cut, done_s = run.done != run.volume, run.done
    run.wait_s -= done_s
    place = 0
    while place < run.comings - (phase == DETECTING):
        coming = it.comings[place]
        coming.left_s -= done_s
        if coming.left_s:
            place += 1
        else:
            cursors.replace(it, coming.hit)
            drop(it, place)
    run.struck_again = cut and _hits_anybody(it)
    if run.struck_again or not (cut or run.wait_s):
        return True
    _next_stretch(it, phase)
    return False


def _hits_anybody(it: Running) -> bool:
    """Whether a failure takes a node that is up; else it is absorbed."""
    if not strike(it):
        return False
    list_away(it)
    node_lists.without(it.lists, NEW, STRUCK, AWAY)
    if it.lists[NEW][COUNT]:
        return True
    it.run.passed += 1
    cursors.resume(it)
    return False


def drop(it: Running, place: int) -> None:
    """No machines are on their way for those any more."""
    run, coming = it.run, it.comings[place]
    node_lists.give_back(it.lists, coming.hit)
    node_lists.give_back(it.lists, coming.lost)
    run.comings -= 1
    close_up(it.comings, place, run.comings + 1)
