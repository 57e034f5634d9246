"""Replacement machines on their way, and failures of other nodes meanwhile (rule 11)."""

from cprsim.machine import cursors, node_lists, restarts
from cprsim.machine.codes import MORE_ROOM, NONE
from cprsim.machine.node_lists import AWAY, COUNT, NEW, STRUCK
from cprsim.machine.phases import DETECTING
from cprsim.machine.rows import Running, close_up
from cprsim.machine.work import wait


def take_failure(job: Running) -> None:
    """List the nodes that the failure at this instant hits, and decide who restarts in place."""
    cursors.strike(job)
    restarts.decide(job)


def set_out(job: Running, hit: int, lost: int, left_s: float) -> None:
    """Send machines on their way for the nodes that one failure hit, to arrive in `left_s`."""
    run = job.run
    mine, theirs = node_lists.take(job.lists), node_lists.take(job.lists)
    if theirs == NONE or run.comings == len(job.comings):
        run.status = MORE_ROOM
        return
    node_lists.copy(job.lists, mine, hit)
    node_lists.copy(job.lists, theirs, lost)
    coming = job.comings[run.comings]
    coming.hit, coming.lost, coming.left_s = mine, theirs, left_s
    run.comings += 1


def list_away(job: Running) -> None:
    """List the nodes whose machines are on their way in `AWAY`."""
    node_lists.clear(job.lists, AWAY)
    for place in range(job.run.comings):
        node_lists.join(job.lists, AWAY, job.comings[place].lost)


def longest_s(job: Running) -> float:
    """Return how long it takes until all machines have come, s."""
    longest = job.comings[0].left_s
    for place in range(1, job.run.comings):
        longest = max(longest, job.comings[place].left_s)
    return longest


def wait_for(job: Running, phase: int, seconds: float) -> None:
    """Wait `seconds`, or until a node that is up fails, one stretch at a time."""
    job.run.wait_s = seconds
    _next_stretch(job, phase)


def _next_stretch(job: Running, phase: int) -> None:
    """Wait until the next machine comes, or for the rest of the time.

    Machines for a failure still being detected, the last in `comings`, have not set out yet.
    """
    step_s = job.run.wait_s
    for place in range(job.run.comings - (phase == DETECTING)):
        step_s = min(step_s, job.comings[place].left_s)
    wait(job, phase, step_s)


def waited(job: Running) -> bool:
    """Place nodes whose machines have come; return whether the wait is over.

    `run.wait_cut`: a failure has ended it.
    """
    run, phase = job.run, job.run.phase
    cut, done_s = run.done != run.volume, run.done
    run.wait_s -= done_s
    place = 0
    while place < run.comings - (phase == DETECTING):
        coming = job.comings[place]
        coming.left_s -= done_s
        if coming.left_s:
            place += 1
        else:
            cursors.replace(job, coming.hit)
            drop(job, place)
    run.wait_cut = cut and _strike_during_wait(job)
    if run.wait_cut or not (cut or run.wait_s):
        return True
    _next_stretch(job, phase)
    return False


def _strike_during_wait(job: Running) -> bool:
    """Take the failure that cut the wait; return whether it hits a node that is up.

    Otherwise it is masked: it is counted, and failures go on (rule 11).
    """
    take_failure(job)
    list_away(job)
    node_lists.without(job.lists, NEW, STRUCK, AWAY)
    if job.lists[NEW][COUNT]:
        return True
    job.run.masked += 1
    cursors.resume(job)
    return False


def drop(job: Running, place: int) -> None:
    """Remove an entry of `comings`, and give its lists back."""
    run, coming = job.run, job.comings[place]
    node_lists.give_back(job.lists, coming.hit)
    node_lists.give_back(job.lists, coming.lost)
    run.comings -= 1
    close_up(job.comings, place, run.comings + 1)
