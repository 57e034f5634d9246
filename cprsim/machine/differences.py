"""Differential saves: a baseline, and saves of the rows modified since."""

from cprsim.closed_form.incremental import rebaseline_pays
from cprsim.contract import differences
from cprsim.machine.rows import Running, part

#: Links: the checkpoint that is stored, the one under way, and the one chosen last.
STORED, UNDER_WAY, ASKED = range(3)
_INTERMITTENT, _CONSECUTIVE = map(differences.VARIANTS.index, ("intermittent", "consecutive"))


def copy_link(job: Running, to: int, of: int) -> None:
    """Copy link `of` to link `to`."""
    job.links[to].has_link, job.links[to].diffs = job.links[of].has_link, job.links[of].diffs
    job.links[to].base_s, job.links[to].taken_s = job.links[of].base_s, job.links[of].taken_s
    job.links[to].total, job.links[to].last = job.links[of].total, job.links[of].last
    job.links[to].reads, job.links[to].writes = job.links[of].reads, job.links[of].writes


def ask_link(job: Running) -> None:
    """Set link `ASKED` to the next checkpoint, built on the one that is stored."""
    run, plan = job.run, job.plan
    if not job.links[STORED].has_link or _baseline_due(job):
        _baseline(job)
        return
    chained = plan.variant == _CONSECUTIVE
    before_s = job.links[STORED].taken_s if chained else job.links[STORED].base_s
    share = _modified(job, run.progress_s - before_s)
    if share == 1.0:
        _baseline(job)
        return
    before = job.links[STORED].reads if chained else plan.whole
    writes = differences.written_of(plan.whole, plan.rows, share)
    size = writes / plan.whole
    _ask(job, job.links[STORED].base_s, writes, differences.read_of(before, plan.rows, share))
    job.links[ASKED].diffs = job.links[STORED].diffs + 1
    job.links[ASKED].total, job.links[ASKED].last = job.links[STORED].total + size, size


def last_link(job: Running) -> None:
    """Set link `ASKED` for a save outside the sequence: it holds everything, like a baseline."""
    _baseline(job)
    save = job.saves[job.plan.last_save]
    job.links[ASKED].writes, job.links[ASKED].reads = 1.0, save.reads


def _ask(job: Running, base_s: float, writes: float, reads: float) -> None:
    run = job.run
    job.links[ASKED].has_link, job.links[ASKED].diffs = True, 0
    job.links[ASKED].base_s, job.links[ASKED].taken_s = base_s, run.progress_s
    job.links[ASKED].total = job.links[ASKED].last = 0.0
    job.links[ASKED].writes, job.links[ASKED].reads = writes, reads


def _baseline(job: Running) -> None:
    _ask(job, job.run.progress_s, job.plan.whole, job.plan.whole)


def _baseline_due(job: Running) -> bool:
    if job.plan.variant != _INTERMITTENT or not job.links[STORED].diffs:
        return False
    return rebaseline_pays(job.links[STORED].diffs, job.links[STORED].total, job.links[STORED].last)


def _modified(job: Running, since_s: float) -> float:
    """Return the share of the tracked rows modified in `since_s` useful seconds."""
    plan, at, count = job.plan, job.plan.at, job.plan.points
    intervals = differences.intervals_of(since_s, plan.interval_s)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if job.real[at + middle] < intervals:
            low = middle + 1
        else:
            high = middle
    return differences.share_at(
        low, intervals, part(job.real, at, count), part(job.real, at + count, count)
    )
