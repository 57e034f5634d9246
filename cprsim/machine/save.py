"""Saves: the verification before one, the time training waits, and what follows at its end.

Rules 31 to 35 of docs/semantics.md. A blocking save, a snapshot or a verification that a failure
interrupts is held, and resumes after the recovery unless the whole job was rolled back. A save in
the background is a flow, which `recovery._apply_rollback` keeps or abandons.
"""

import math

from cprsim.machine import attempts, flows, marks, recovery, rules, schedules, state
from cprsim.machine.codes import CORRUPT, DIFFERENCES, NO_TIER, NONE, WASTED
from cprsim.machine.differences import ASKED
from cprsim.machine.phases import AWAITING, BLOCKING_SAVE, SNAPSHOT, TURN, VERIFYING
from cprsim.machine.rows import Running
from cprsim.machine.work import begin, wait


def save(job: Running, number: int) -> None:
    """Begin a save, or the verification before it."""
    run, plan, row = job.run, job.plan, job.saves[number]
    attempts.count_save(job)
    whole = number == plan.last_save or (plan.notices and number == plan.emergency)
    run.writes, run.reads = 1.0, row.reads
    if plan.sequence == DIFFERENCES and not whole and not plan.own:
        run.writes, run.reads = job.links[ASKED].writes, job.links[ASKED].reads
    if verifies(job):
        verify(job, number)
        return
    run.begun += 1
    _begin_hold(job, number)


def verifies(job: Running) -> bool:
    """Return whether the trained state is verified before the next save or the end (rule 34)."""
    run, plan = job.run, job.plan
    if not plan.verifies or marks.is_verified(job):
        return False
    return run.begun + 1 >= plan.verify_every or _at_end(job)


def verify(job: Running, number: int) -> None:
    """Begin a verification, which save `number` follows, or no save where `number` is `NONE`."""
    job.run.saving = number
    wait(job, VERIFYING, job.plan.verify_s)


def verified(job: Running) -> None:
    """End a verification: begin the save, or return to the last verified checkpoint."""
    run = job.run
    run.begun = 0
    if not marks.verify(job):
        attempts.count_wasted(job, CORRUPT)
        if not run.status:
            recovery.roll_back_to_verified(job)
    elif run.saving != NONE:
        _begin_hold(job, run.saving)
    else:
        run.phase = TURN


def _begin_hold(job: Running, number: int) -> None:
    """Hold training for a save: a blocking one's whole time, or a snapshot."""
    run, row = job.run, job.saves[number]
    run.saving, run.hold_s = number, run.now
    if row.blocking:
        hold = job.transfers[row.transfer]
        begin(job, BLOCKING_SAVE, hold, hold.volume, hold.limit)
    else:
        wait(job, SNAPSHOT, row.snapshot_s)


def interrupt(job: Running) -> None:
    """Hold the rest of a save or verification that a failure interrupts, and recover."""
    run = job.run
    run.held, run.held_left = run.phase, run.volume - run.done
    recovery.begin_recovery(job)


def resume_interrupted(job: Running) -> None:
    """Resume what was held, unless a rollback has made it worthless (rule 9)."""
    run = job.run
    phase, left = run.held, run.held_left
    run.held = NONE
    if rules.held_save_is_lost(run.depth):
        run.phase = TURN
    elif phase == BLOCKING_SAVE:
        hold = job.transfers[job.saves[run.saving].transfer]
        begin(job, phase, hold, left, hold.limit)
    else:
        wait(job, phase, left)


def end_hold(job: Running) -> None:
    """Resume training after a save or a snapshot, unless a failed save is tried again."""
    run, number = job.run, job.run.saving
    row = job.saves[number]
    run.phase = TURN
    if not (row.blocking and attempts.save_has_failed(job, row, run.hold_s)):
        taken = state.taken(job, run.reads)
        if row.blocking:
            state.usable(job, taken, row, run.writes)
        else:
            flows.start_save(job, number, taken, run.writes)
        schedules.saved(job, number, row.blocking)
    else:
        state.ended(job, row, run.writes)
        attempts.count_wasted(job, WASTED)
        if _at_end(job) or row.tries_again:  # the job can't end without its last save
            _begin_hold(job, number)
            return
        schedules.skip(job, number)
    if run.flows:
        flows.settle(job, False, 0.0)


def save_the_end(job: Running) -> None:
    """Save, or wait for a save, so that all training is saved before the job ends (rule 4)."""
    run, plan = job.run, job.plan
    tier = job.saves[plan.last_save].tier
    if flows.hold_all(job, run.progress_s) or flows.saves_under_way(job, tier) >= plan.most_last:
        wait(job, AWAITING, math.inf)
    elif tier == NONE:
        attempts.give_up(job, NO_TIER)
    else:
        save(job, plan.last_save)


def _at_end(job: Running) -> bool:
    """Return whether the job trains no more, or not before it gets other nodes."""
    return job.run.progress_s >= job.plan.useful_s or job.run.stops
