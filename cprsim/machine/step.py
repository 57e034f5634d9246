"""One step of a job: what comes first happens, and what follows from it begins.

A job is always in a phase: something takes time, and then it has `ended`, or a failure has `struck`
before that. What takes no time is over at once.
"""

from cprsim.machine import (
    allocations,
    ledger,
    notices,
    recovery,
    save,
    turn,
    withdrawals,
    work,
)
from cprsim.machine.phases import (
    ARRIVING,
    BLOCKING_SAVE,
    DETECTING,
    DRAINING,
    ENDING,
    GETTING_NODES,
    GIVING_BACK,
    HELD,
    LEAVING,
    LOADING,
    LOADING_ANEW,
    MOVING_ROWS,
    OVER,
    RESTARTING,
    SNAPSHOT,
    STARTING,
    TAKING_OVER,
    TURN,
    VERIFYING,
)
from cprsim.machine.rows import Running


def start(it: Running) -> None:
    """Begin a run."""
    ledger.start(it)
    allocations.first(it)
    _settle_instants(it)


def happen(it: Running) -> None:
    """Go on to what comes first, and begin what follows from it."""
    if work.go_on(it):
        _follow(it)
    _settle_instants(it)


def is_under_way(it: Running) -> bool:
    """Whether the run goes on; it doesn't either where it lacks numbers or room."""
    return it.run.phase != OVER and not it.run.status


def _settle_instants(it: Running) -> None:
    """Begin one thing after the other until one takes time."""
    run = it.run
    while not run.status:
        if run.phase == TURN:
            turn.take_turn(it)
        elif run.phase == HELD:
            save.go_on(it)
        elif run.phase == OVER or run.volume:
            return
        else:
            _ended(it)


def _follow(it: Running) -> None:
    run = it.run
    if run.phase in (DETECTING, ARRIVING) or run.done == run.volume:
        _ended(it)
    else:
        _struck(it)


def _struck(it: Running) -> None:
    """A failure has cut into what was under way, or, of training, news of a flow."""
    run, phase = it.run, it.run.phase
    if phase in (BLOCKING_SAVE, SNAPSHOT, VERIFYING):
        save.cut(it)
    elif phase in (LOADING, RESTARTING):
        recovery.struck_again(it)
    else:  # whoever has the next turn sees to it
        run.phase = TURN


def _ended(it: Running) -> None:
    """What was under way has come to its end."""
    run, phase = it.run, it.run.phase
    if phase in (BLOCKING_SAVE, SNAPSHOT):
        save.held_up(it)
    elif phase == DETECTING:
        recovery.noticed(it)
    elif phase == ARRIVING:
        recovery.arrived(it)
    elif phase == LOADING:
        recovery.loaded(it)
    elif phase == TAKING_OVER:
        recovery.taken_over(it)
    elif phase == VERIFYING:
        save.verified(it)
    elif phase == RESTARTING:
        recovery.started_again(it)
    elif phase == STARTING:
        allocations.started(it)
    elif phase == GETTING_NODES:
        allocations.allocated(it)
    elif phase in (GIVING_BACK, ENDING):
        allocations.given_back(it)
    elif phase == LOADING_ANEW:
        allocations.handed_over(it)
    elif phase == MOVING_ROWS:
        withdrawals.moved(it)
    elif phase == LEAVING:
        withdrawals.left(it)
    elif phase == DRAINING:
        notices.drained(it)
    else:
        run.phase = TURN
