"""One step of a job: advance to the next event, and begin what follows from it.

A job is always in one phase. The phase either takes its time and ends, or a failure interrupts it.
A phase that takes no time ends at once.
"""

from cprsim.machine import allocations, ledger, notices, phases, recovery, save, turn, work
from cprsim.machine.rows import Running


def start(job: Running) -> None:
    """Begin a run."""
    ledger.start(job)
    allocations.first(job)
    _settle_instants(job)


def happen(job: Running) -> None:
    """Advance to the next event, and begin what follows from it."""
    if work.advance(job):
        _end_or_interrupt(job)
    _settle_instants(job)


def is_under_way(job: Running) -> bool:
    """Return whether the run continues; a run that lacks numbers or room does not."""
    return job.run.phase != phases.OVER and not job.run.status


def _settle_instants(job: Running) -> None:
    """Begin one phase after the other until one takes time."""
    run = job.run
    while not run.status:
        if run.phase == phases.TURN:
            turn.take_turn(job)
        elif run.phase == phases.HELD:
            save.resume_interrupted(job)
        elif run.phase == phases.OVER or run.volume:
            return
        else:
            _ended(job)


def _end_or_interrupt(job: Running) -> None:
    run = job.run
    # A detection or a wait finds out by itself whether it has ended (`waiting.waited`).
    if run.phase in (phases.DETECTING, phases.ARRIVING) or run.done == run.volume:
        _ended(job)
    else:
        _interrupted(job)


def _interrupted(job: Running) -> None:
    """Handle a phase that a failure interrupts, or training that the end of a flow does."""
    run, phase = job.run, job.run.phase
    if phase in (phases.BLOCKING_SAVE, phases.SNAPSHOT, phases.VERIFYING):
        save.interrupt(job)
    elif phase in (phases.LOADING, phases.RESTARTING):
        recovery.recover_again(job)
    else:  # TRAINING, or a phase whose rest is dropped: `turn.take_turn` begins the recovery
        run.phase = phases.TURN


def _ended(job: Running) -> None:
    """Begin what follows a phase that has ended."""
    run, phase = job.run, job.run.phase
    if phase == phases.TRAINING:  # first, since most are
        run.phase = phases.TURN
    elif phase in (phases.BLOCKING_SAVE, phases.SNAPSHOT):
        save.end_hold(job)
    elif phase == phases.DETECTING:
        recovery.detected(job)
    elif phase == phases.ARRIVING:
        recovery.arrived(job)
    elif phase == phases.LOADING:
        recovery.loaded(job)
    elif phase == phases.TAKING_OVER:
        recovery.taken_over(job)
    elif phase == phases.VERIFYING:
        save.verified(job)
    elif phase == phases.RESTARTING:
        recovery.started_again(job)
    elif phase == phases.STARTING:
        allocations.started(job)
    elif phase == phases.GETTING_NODES:
        allocations.allocated(job)
    elif phase in (phases.GIVING_BACK, phases.ENDING):
        allocations.given_back(job)
    elif phase == phases.LOADING_ANEW:
        allocations.handed_over(job)
    elif phase == phases.DRAINING:
        notices.drained(job)
    else:
        run.phase = phases.TURN
