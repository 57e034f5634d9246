"""Marks of what was trained and saved: corrupt, verified, torn.

Rules 34 and 35 of docs/semantics.md.
"""

from typing import Any

from cprsim.machine import rules
from cprsim.machine.codes import MORE_SILENT, NONE
from cprsim.machine.rows import Running, put

_CORRUPT, _VERIFIED, _TORN = rules.CORRUPT, rules.VERIFIED, rules.TORN
_AFTER_TORN = rules.AFTER_TORN


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
    return _CORRUPT * is_corrupt(job) + _VERIFIED * is_verified(job)


def stored(job: Running, tier: int, save: Any, taken: int, is_difference: bool) -> int:
    """Return the marks of a taken checkpoint once it is stored in a tier.

    One that needs another is torn where that is: the last baseline, or the checkpoint before.
    """
    row = job.tiers[tier]
    if _schedule(job, tier).live:
        taken &= ~_VERIFIED
    torn = job.run.torn and tier == save.tier
    if save.alone and not is_difference:
        row.torn_base = torn
    elif save.from_base:
        torn = torn or row.torn_base
    elif _last(job, tier).marks & _TORN:
        return taken | _TORN | _AFTER_TORN * (not row.torn_base)
    return taken | _TORN if torn else taken


def _schedule(job: Running, tier: int) -> Any:
    return job.schedules[job.plan.first_schedule + tier]


def _last(job: Running, tier: int) -> Any:
    return job.kept[job.tiers[tier].last]


# --- Older checkpoints ---------------------------------------------------------------------------


def put_away(job: Running, tier: int, stored_marks: int, progress_s: float) -> None:
    """Keep the last checkpoint of a tier among its older ones, which are a ring.

    A link of a chain that needs a torn one takes its place: while it is kept, so is all of the
    chain before. `stored_marks`, `progress_s`: of the checkpoint that is stored now.
    """
    tier_row, older = job.tiers[tier], job.plan.older
    if stored_marks & _AFTER_TORN:
        return
    if older and _schedule(job, tier).keeps_older:
        before = tier_row.last
        tier_row.last = in_ring(job, tier, 1)
        tier_row.kept_count = min(tier_row.kept_count + 1, older)
        put(job.kept, tier_row.last, job.kept[before])
    _last(job, tier).first_s = progress_s


def in_ring(job: Running, tier: int, ahead: int) -> int:
    """Return the place so many places ahead of a tier's last checkpoint, in its ring."""
    count = job.plan.older + 1
    first = tier * count
    return first + (job.tiers[tier].last - first + ahead) % count


def _pop(job: Running, tier: int) -> None:
    """Drop the last checkpoint of a tier; the one before it becomes the last."""
    tier_row = job.tiers[tier]
    if tier_row.kept_count:
        tier_row.kept_count -= 1
        tier_row.last = in_ring(job, tier, -1)
    else:
        begin(job, tier)


def begin(job: Running, tier: int) -> None:
    """Let a tier hold the initial state alone."""
    tier_row = job.tiers[tier]
    tier_row.last, tier_row.kept_count, tier_row.torn_base = tier * (job.plan.older + 1), 0, False
    put(job.kept, tier_row.last, job.kept[len(job.kept) - 1])  # which is always new


def drop_unusable(job: Running, tier: int, verified: bool) -> int:
    """Drop checkpoints of a tier until the last one serves; return how many were loaded for it.

    `verified`: only a verified checkpoint serves. A torn one is found out by loading it.
    """
    tried = 0
    if tier == NONE:
        return tried
    while True:
        torn = _last(job, tier).marks & _TORN != 0
        serves = not verified or _last(job, tier).marks & _VERIFIED != 0
        if serves and not torn:
            return tried
        tried += serves
        _pop(job, tier)


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
    for back in range(job.tiers[tier].kept_count + 1):
        row = job.kept[in_ring(job, tier, -back)]
        if row.marks & _VERIFIED:
            return row.progress_s
    return 0.0


def returned(job: Running, to_s: float, of_checkpoint: int, mirrored: bool, source: int) -> int:
    """Give the job the marks of the checkpoint it returns to; drop checkpoints ahead of it.

    Returns these marks. A mirror has a silent fault if the training that it copies has one.
    """
    run, to_marks = job.run, of_checkpoint & (_CORRUPT | _VERIFIED)
    corrupt = is_corrupt(job)
    if mirrored:
        to_marks = _CORRUPT * corrupt
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
            _drop_ahead(job, tier, to_s)
    return to_marks


def _drop_ahead(job: Running, tier: int, to_s: float) -> None:
    """Drop a tier's checkpoints ahead of the job, but the part until then of a torn chain."""
    while job.tiers[tier].kept_count and _last(job, tier).progress_s > to_s:
        row = _last(job, tier)
        if row.marks & _TORN and row.first_s <= to_s:
            row.progress_s = to_s
        else:
            _pop(job, tier)
