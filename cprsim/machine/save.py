"""Saves: what they hold training up for, after a verification where one is due (semantics 31-35).

A save or a verification that a failure cuts into is held: it goes on after the recovery, unless the
whole job was rolled back.
"""

import math

from cprsim.contract import rules
from cprsim.machine import attempts, flows, marks, recovery, schedules, state
from cprsim.machine.codes import CORRUPT, DIFFERENCES, IN_VAIN, NO_TIER, NONE
from cprsim.machine.differences import ASKED
from cprsim.machine.phases import AWAITING, BLOCKING_SAVE, SNAPSHOT, TURN, VERIFYING
from cprsim.machine.rows import Running
from cprsim.machine.work import begin, wait

_NOBODY = 0


def save(it: Running, number: int) -> None:
    """Begin a save, or the verification before it."""
    run, plan, row = it.run, it.plan, it.saves[number]
    attempts.save(it)
    whole = number == plan.last_save or (plan.notices and number == plan.emergency)
    run.writes, run.reads = 1.0, row.reads
    if plan.sequence == DIFFERENCES and not whole:
        run.writes, run.reads = it.links[ASKED].writes, it.links[ASKED].reads
    if verifies(it):
        verify(it, number)
        return
    run.begun += 1
    _hold_up(it, number)


def verifies(it: Running) -> bool:
    """Whether what is trained now is verified before it is saved, or the job is over."""
    run, plan = it.run, it.plan
    if not plan.verifies or marks.is_verified(it):
        return False
    return rules.r34_verifies(run.begun, plan.verify_every, _at_end(it))


def verify(it: Running, number: int) -> None:
    """Verify what was trained, and save it then, or nothing where `number` is none."""
    it.run.saving = number
    wait(it, VERIFYING, it.plan.verify_s)


def verified(it: Running) -> None:
    """A verification has come to its end: the save follows, or the job returns to a sound one."""
    run = it.run
    run.begun = 0
    if not marks.verify(it):
        attempts.vain(it, CORRUPT)
        if not run.status:
            recovery.return_to_verified(it)
    elif run.saving != NONE:
        _hold_up(it, run.saving)
    else:
        run.phase = TURN


def _hold_up(it: Running, number: int) -> None:
    """Hold training up for a save."""
    run, row = it.run, it.saves[number]
    run.saving, run.hold_s = number, run.now
    if row.blocking:
        hold = it.transfers[row.transfer]
        begin(it, BLOCKING_SAVE, hold, hold.volume, hold.limit)
    else:
        wait(it, SNAPSHOT, row.snapshot_s)


def cut(it: Running) -> None:
    """A failure has cut into a save or a verification; the rest of it is held."""
    run = it.run
    run.held, run.held_left = run.phase, run.volume - run.done
    recovery.strike(it)


def go_on(it: Running) -> None:
    """Go on with what was held, after a recovery or where nobody of the job was hit."""
    run = it.run
    phase, left = run.held, run.held_left
    run.held = NONE
    if rules.r9_is_void(run.depth, _NOBODY, False):
        run.phase = TURN
    elif phase == BLOCKING_SAVE:
        hold = it.transfers[it.saves[run.saving].transfer]
        begin(it, phase, hold, left, hold.limit)
    else:
        wait(it, phase, left)


def held_up(it: Running) -> None:
    """Training may go on, unless the save is void and tried again."""
    run, number = it.run, it.run.saving
    row = it.saves[number]
    run.phase = TURN
    if not (row.blocking and attempts.save_is_void(it, row, run.hold_s)):
        taken = state.taken(it, run.reads)
        if row.blocking:
            state.usable(it, taken, row, run.writes)
        else:
            flows.start_save(it, number, taken, run.writes)
        schedules.saved(it, number, row.blocking)
    else:
        state.ended(it, row, run.writes)
        attempts.vain(it, IN_VAIN)
        if _at_end(it) or row.tries_again:  # without the last one the job isn't over
            _hold_up(it, number)
            return
        schedules.skip(it, number)
    if run.flows:
        flows.settle(it, False, 0.0)


def save_the_end(it: Running) -> None:
    """`final_save`: the job isn't over until a checkpoint of all of it is usable."""
    run, plan = it.run, it.plan
    tier = it.saves[plan.last_save].tier
    if flows.hold_all(it, run.progress_s) or flows.saves_under_way(it, tier) >= plan.most_last:
        wait(it, AWAITING, math.inf)
    elif tier == NONE:
        attempts.give_up(it, NO_TIER)
    else:
        save(it, plan.last_save)


def _at_end(it: Running) -> bool:
    """Whether nothing more is trained, or not before the job has other nodes."""
    return it.run.progress_s >= it.plan.useful_s or it.run.stops
