"""Marks of what was trained and saved: corrupt, verified, torn.

Rules 34 and 35 of docs/semantics.md.
"""

from typing import Any

from cprsim.machine import rules
from cprsim.machine.codes import MORE_SILENT, NONE
from cprsim.machine.rows import Running

_START = rules.VERIFIED
_CORRUPT, _VERIFIED = rules.CORRUPT, rules.VERIFIED


def is_corrupt(job: Running) -> bool:
    """Return whether a silent fault is in the trained state, faults until now included."""
    run, draws = job.run, job.draws
    if not draws.silent_count:
        return False
    trained_s = run.redone_s + run.progress_s
    while run.faults < draws.silent_count and job.numbers[draws.silent + run.faults] <= trained_s:
        run.corrupt = True
        run.faults += 1
    if run.faults >= draws.silent_count:
        run.status = run.status or MORE_SILENT
    return run.corrupt


def is_verified(job: Running) -> bool:
    """Return whether nothing was trained since the last verification that found no fault."""
    return job.run.verified_s == job.run.progress_s


def verify(job: Running) -> bool:
    """Verify the trained state; return whether it has no silent fault."""
    if is_corrupt(job):
        return False
    job.run.verified_s = job.run.progress_s
    return True


def of_taken(job: Running) -> int:
    """Return the marks of a checkpoint that is taken now."""
    if not job.plan.marked:
        return 0
    return rules.marks_taken(is_corrupt(job), is_verified(job))


def stored(job: Running, tier: int, save: Any, taken: int, reads: float) -> int:
    """Return the marks of a taken checkpoint once it is stored in a tier."""
    torn, live = job.run.torn and tier == save.tier, _schedule(job, tier).live
    return rules.marks_stored(
        taken, torn, save.alone and reads <= 1.0, job.tiers[tier].last_marks, live
    )


def _schedule(job: Running, tier: int) -> Any:
    return job.schedules[job.plan.first_schedule + tier]


# --- Older checkpoints ---------------------------------------------------------------------------


def put_away(job: Running, tier: int) -> None:
    """Keep the last checkpoint of a tier among its older ones, which are a ring."""
    most, own = job.plan.older, job.tiers[tier]
    if not (most and _schedule(job, tier).keeps_older):
        return
    if own.kept_count == most:
        own.kept_first = (own.kept_first + 1) % most
        own.kept_count -= 1
    to = job.kept[tier * most + (own.kept_first + own.kept_count) % most]
    own.kept_count += 1
    to.last_s, to.last_slowdown_s = own.last_s, own.last_slowdown_s
    to.last_updates_lost, to.last_reads = own.last_updates_lost, own.last_reads
    to.last_marks, to.whole_s, to.portions = own.last_marks, own.whole_s, own.portions
    to.unsaved, to.unsaved_count = own.unsaved, own.unsaved_count


def _pop(job: Running, tier: int) -> None:
    """Drop the last checkpoint of a tier; the one before it becomes the last."""
    most, own = job.plan.older, job.tiers[tier]
    if not own.kept_count:
        own.last_s = own.last_slowdown_s = own.last_updates_lost = 0.0
        own.last_reads, own.last_marks = 1.0, _START
        own.whole_s, own.portions = 0.0, 0.0
        own.unsaved, own.unsaved_count = 0, 1
        return
    own.kept_count -= 1
    of = job.kept[tier * most + (own.kept_first + own.kept_count) % most]
    own.last_s, own.last_slowdown_s = of.last_s, of.last_slowdown_s
    own.last_updates_lost, own.last_reads = of.last_updates_lost, of.last_reads
    own.last_marks, own.whole_s, own.portions = of.last_marks, of.whole_s, of.portions
    own.unsaved, own.unsaved_count = of.unsaved, of.unsaved_count


def fall_back(job: Running, tier: int, verified: bool) -> int:
    """Drop checkpoints of a tier until the last one serves; return how many were loaded for it.

    `verified`: only a verified checkpoint serves. A torn one is found out by loading it.
    """
    tried = 0
    if tier == NONE:
        return tried
    while not rules.is_usable(job.tiers[tier].last_marks, verified):
        tried += rules.is_loaded_first(job.tiers[tier].last_marks, verified)
        _pop(job, tier)
    return tried


def last_verified(job: Running) -> int:
    """Return the tier with the latest verified checkpoint; `NONE` where that is the initial state.

    Of equals the nearest.
    """
    latest_s, found = 0.0, NONE
    for tier in range(job.plan.schedules):
        verified_s = _last_verified_s(job, tier)
        if verified_s > latest_s:
            latest_s, found = verified_s, tier
    return found


def _last_verified_s(job: Running, tier: int) -> float:
    """Return progress of the latest verified checkpoint of a tier, in useful seconds."""
    most, own = job.plan.older, job.tiers[tier]
    if own.last_marks & _VERIFIED:
        return own.last_s
    for back in range(own.kept_count):
        of = job.kept[tier * most + (own.kept_first + own.kept_count - 1 - back) % most]
        if of.last_marks & _VERIFIED:
            return of.last_s
    return 0.0


def returned(job: Running, to_s: float, to_marks: int, source: int) -> None:
    """Give the job the marks of the checkpoint it returns to; drop checkpoints ahead of it."""
    run = job.run
    run.corrupt = to_marks & _CORRUPT != 0
    run.redone_s += run.progress_s - to_s
    run.verified_s = to_s if to_marks & _VERIFIED else -1.0
    nearer = source != NONE
    for tier in range(job.plan.schedules):
        own = job.tiers[tier]
        if tier == source:
            nearer = False
        elif nearer:
            own.kept_count = 0
        else:
            while own.kept_count and own.last_s > to_s:
                _pop(job, tier)
