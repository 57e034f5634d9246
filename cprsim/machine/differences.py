"""Differential saves: a baseline, and saves of the rows modified since."""

import math

from cprsim.machine.codes import CONSECUTIVE, INTERMITTENT
from cprsim.machine.rows import Running

#: Links: the checkpoint that is stored, the one under way, and the one chosen last.
STORED, UNDER_WAY, ASKED = range(3)
#: Parts of an interval that training is counted in: smaller ones are the rounding of progress.
_PARTS = 1e6


def ask_link(job: Running) -> None:
    """Set link `ASKED` to the next checkpoint, built on the one that is stored."""
    run, plan = job.run, job.plan
    if not job.links[STORED].has_link or _baseline_due(job):
        _baseline(job)
        return
    chained = plan.variant == CONSECUTIVE
    before_s = job.links[STORED].taken_s if chained else job.links[STORED].base_s
    share = _modified(job, run.progress_s - before_s)
    if share == 1.0:
        _baseline(job)
        return
    # The dense part and untracked tables are read from the last save alone.
    before = job.links[STORED].reads if chained and not _merged(job) else plan.whole
    writes = plan.whole - plan.rows * (1 - share)
    size = writes / job.links[STORED].whole
    _ask(job, job.links[STORED].base_s, writes, before + plan.rows * share)
    job.links[ASKED].whole, job.links[ASKED].diffs = (
        job.links[STORED].whole,
        job.links[STORED].diffs + 1,
    )
    job.links[ASKED].total, job.links[ASKED].last = job.links[STORED].total + size, size


def last_link(job: Running, number: int) -> None:
    """Set link `ASKED` for a save outside the sequence: it holds everything, like a baseline."""
    _baseline(job)
    job.links[ASKED].writes, job.links[ASKED].reads = 1.0, job.saves[number].reads


def count_written(job: Running, writes: float, reads: float) -> None:
    """Correct link `STORED`, whose size was expected, by what was written."""
    link = job.links[STORED]
    if writes == link.writes:
        return
    if link.diffs:
        size = writes / link.whole
        link.total, link.last = link.total - link.last + size, size
    else:
        link.whole = writes
    link.writes, link.reads = writes, reads


def _ask(job: Running, base_s: float, writes: float, reads: float) -> None:
    run = job.run
    job.links[ASKED].has_link, job.links[ASKED].diffs = True, 0
    job.links[ASKED].base_s, job.links[ASKED].taken_s = base_s, run.progress_s
    job.links[ASKED].total = job.links[ASKED].last = 0.0
    job.links[ASKED].writes, job.links[ASKED].reads = writes, reads
    job.links[ASKED].whole = job.plan.whole


def _baseline(job: Running) -> None:
    _ask(job, job.run.progress_s, job.plan.whole, job.plan.whole)


def _baseline_due(job: Running) -> bool:
    if job.plan.variant != INTERMITTENT or not job.links[STORED].diffs:
        return False
    return rebaseline_pays(job.links[STORED].diffs, job.links[STORED].total, job.links[STORED].last)


def rebaseline_pays(count: int, total: float, last: float) -> bool:
    """Return whether Check-N-Run's predictor takes a new baseline in place of the next difference.

    Eisenman et al., "Check-N-Run" (NSDI'22, arXiv 2010.08679), with intermittent baselines.

    Parameters
    ----------
    count : int
        Differences saved since the baseline, >= 1.
    total, last : float
        Sizes of all of them and of the last, over the baseline's, >= 0.

    Notes
    -----
    `1 + total <= (count + 1) last`: what the baseline and its differences wrote, against as many
    saves of the size that they have grown to. In this form, the last difference included on the
    left, it was read in a re-implementation by IncrCP's authors (PVLDB 18(4), 2025), with the
    baseline as the first entry of its history. Differences that don't grow never make it pay,
    unless they are as large as a baseline.
    """
    return 1 + total <= (count + 1) * last


def _merged(job: Running) -> bool:
    """Return whether the stored differences have been merged into a new baseline.

    Another machine does so each time that training has come `merge_s` further.
    """
    plan, taken_s = job.plan, job.links[STORED].taken_s
    return _periods(job.run.progress_s, plan.merge_s) > _periods(taken_s, plan.merge_s)


def _periods(progress_s: float, period_s: float) -> int:
    """Return the number of whole periods, where a missing part within the rounding counts."""
    return math.floor(progress_s / period_s + 0.5 / _PARTS)


def _modified(job: Running, since_s: float) -> float:
    """Return the share of the tracked rows modified in `since_s` useful seconds.

    The plan has it for some numbers of intervals. Others are interpolated; the last share holds for
    all that are larger.
    """
    plan, at, shares = job.plan, job.plan.at, job.plan.at + job.plan.points
    intervals = math.floor(since_s / plan.interval_s * _PARTS + 0.5) / _PARTS
    low, high = 0, plan.points
    while low < high:
        middle = (low + high) // 2
        if job.real[at + middle] <= intervals:
            low = middle + 1
        else:
            high = middle
    if low == plan.points:
        return job.real[shares + low - 1]
    before_s, before = job.real[at + low - 1], job.real[shares + low - 1]
    step = (intervals - before_s) / (job.real[at + low] - before_s)
    return before + step * (job.real[shares + low] - before)
