"""A baseline, and saves of what was modified since."""

from cprsim.closed_form.incremental import rebaseline_pays
from cprsim.contract import differences
from cprsim.machine.rows import Running, part

#: Links: that is stored, that is under way, that was asked for last.
STORED, UNDER_WAY, ASKED = range(3)
_INTERMITTENT, _CONSECUTIVE = map(differences.VARIANTS.index, ("intermittent", "consecutive"))


def copy_link(it: Running, to: int, of: int) -> None:
    """The same checkpoint."""
    it.links[to].has_link, it.links[to].diffs = it.links[of].has_link, it.links[of].diffs
    it.links[to].base_s, it.links[to].taken_s = it.links[of].base_s, it.links[of].taken_s
    it.links[to].total, it.links[to].last = it.links[of].total, it.links[of].last
    it.links[to].reads, it.links[to].writes = it.links[of].reads, it.links[of].writes


def ask_link(it: Running) -> None:
    """The checkpoint that is taken next, on top of the one that is stored."""
    run, plan = it.run, it.plan
    if not it.links[STORED].has_link or _baseline_due(it):
        _baseline(it)
        return
    chained = plan.variant == _CONSECUTIVE
    before_s = it.links[STORED].taken_s if chained else it.links[STORED].base_s
    share = _modified(it, run.progress_s - before_s)
    if share == 1.0:
        _baseline(it)
        return
    before = it.links[STORED].reads if chained else plan.whole
    writes = differences.written_of(plan.whole, plan.rows, share)
    size = writes / plan.whole
    _ask(it, it.links[STORED].base_s, writes, differences.read_of(before, plan.rows, share))
    it.links[ASKED].diffs = it.links[STORED].diffs + 1
    it.links[ASKED].total, it.links[ASKED].last = it.links[STORED].total + size, size


def last_link(it: Running) -> None:
    """A save that nobody asked for by the sequence: of everything, like a baseline."""
    _baseline(it)
    save = it.saves[it.plan.last_save]
    it.links[ASKED].writes, it.links[ASKED].reads = 1.0, save.reads


def _ask(it: Running, base_s: float, writes: float, reads: float) -> None:
    run = it.run
    it.links[ASKED].has_link, it.links[ASKED].diffs = True, 0
    it.links[ASKED].base_s, it.links[ASKED].taken_s = base_s, run.progress_s
    it.links[ASKED].total = it.links[ASKED].last = 0.0
    it.links[ASKED].writes, it.links[ASKED].reads = writes, reads


def _baseline(it: Running) -> None:
    _ask(it, it.run.progress_s, it.plan.whole, it.plan.whole)


def _baseline_due(it: Running) -> bool:
    if it.plan.variant != _INTERMITTENT or not it.links[STORED].diffs:
        return False
    return rebaseline_pays(it.links[STORED].diffs, it.links[STORED].total, it.links[STORED].last)


def _modified(it: Running, since_s: float) -> float:
    """Share of the tracked rows that so much training modifies."""
    plan, at, count = it.plan, it.plan.at, it.plan.points
    intervals = differences.intervals_of(since_s, plan.interval_s)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if it.real[at + middle] < intervals:
            low = middle + 1
        else:
            high = middle
    return differences.share_at(
        low, intervals, part(it.real, at, count), part(it.real, at + count, count)
    )
