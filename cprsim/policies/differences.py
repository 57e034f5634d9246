"""A baseline, and saves of what was modified since: how they follow each other in a run."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cprsim.closed_form.incremental import rebaseline_pays
from cprsim.closed_form.intervals import whole_periods
from cprsim.contract import (
    Action,
    Clock,
    Controller,
    Event,
    Loss,
    Plan,
    Recover,
    Save,
    Saved,
    Schedule,
    ScheduledController,
    Stored,
)

Variant = Literal["intermittent", "one-shot", "consecutive"]
_MOST_SAVES = 10_000  # that a mean is taken over: chains repeat long before
_DIGITS = 6  # of a number of intervals: what lies beyond is the rounding of progress


class ChainLink(NamedTuple):
    """A checkpoint: its save, and what the next one has to know of the saves it builds on.

    `base_s`, `taken_s`: progress at its baseline and at itself, s. `diffs`: differences since the
    baseline, `total` their sizes and `last` that of the last, over the baseline's.
    """

    save: Save
    base_s: float
    taken_s: float
    diffs: int = 0
    total: float = 0.0
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class Differences:
    """Sizes of saves, as shares of a full checkpoint, and which of them come next.

    `whole`: a baseline; `rows`: what of it is tracked. `shares`: of these, what so many intervals
    (`at`, ascending from 0) modify; in between it is interpolated, and the last holds on.
    """

    variant: Variant
    interval_s: float
    whole: float
    rows: float
    at: tuple[float, ...]
    shares: tuple[float, ...]

    def modified(self, since_s: float) -> float:
        """Share of the tracked rows that so much training modifies, useful seconds."""
        intervals = round(since_s / self.interval_s, _DIGITS)
        i = bisect_left(self.at, intervals)
        if i == len(self.at):
            return self.shares[-1]
        if self.at[i] == intervals:
            return self.shares[i]
        part = (intervals - self.at[i - 1]) / (self.at[i] - self.at[i - 1])
        return self.shares[i - 1] + part * (self.shares[i] - self.shares[i - 1])

    def after(self, link: ChainLink | None, progress_s: float) -> ChainLink:
        """The checkpoint that is taken next, at that progress, on top of `link`."""
        if link is None or self._baseline_due(link):
            return self._baseline(progress_s)
        chained = self.variant == "consecutive"
        share = self.modified(progress_s - (link.taken_s if chained else link.base_s))
        if share == 1.0:
            return self._baseline(progress_s)
        # The dense part and untracked tables are read from the last save alone.
        before = link.save.reads if chained else self.whole
        writes = self.whole - self.rows * (1 - share)
        size = writes / self.whole
        return ChainLink(
            save=Save(blocking=False, writes=writes, reads=before + self.rows * share),
            base_s=link.base_s,
            taken_s=progress_s,
            diffs=link.diffs + 1,
            total=link.total + size,
            last=size,
        )

    def _baseline_due(self, link: ChainLink) -> bool:
        if self.variant != "intermittent" or not link.diffs:
            return False
        return rebaseline_pays(link.diffs, link.total, link.last)

    def _baseline(self, progress_s: float) -> ChainLink:
        save = Save(blocking=False, writes=self.whole, reads=self.whole)
        return ChainLink(save, base_s=progress_s, taken_s=progress_s)


def mean_save_of_differences(differences: Differences, useful_time_s: float) -> Save:
    """The mean of the saves of a run without failures; a baseline where there are none."""
    link = differences.after(None, 0.0)
    period_s = differences.interval_s
    count = min(whole_periods(useful_time_s, period_s), _MOST_SAVES)
    if count <= 1:
        return link.save
    writes, reads = link.save.writes, link.save.reads
    for number in range(1, count):
        link = differences.after(link, number * period_s)
        writes, reads = writes + link.save.writes, reads + link.save.reads
    return link.save._replace(writes=writes / count, reads=reads / count)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencesPlan(Plan):
    """A plan whose saves are differences; its schedule holds their mean."""

    differences: Differences

    def start(self) -> Controller:
        """A controller that knows what is stored."""
        return DifferencesController(self.schedules, self.recover, self.differences)


class DifferencesController(ScheduledController):
    """Saves by a schedule, one at a time, each on top of the last that is stored.

    A rollback of the whole job returns it to that one, so saves go on from there.
    """

    __slots__ = ("_asked", "_differences", "_stored", "_under_way")

    def __init__(
        self,
        schedules: Sequence[Schedule],
        recover: Callable[[Loss], Recover],
        differences: Differences,
    ) -> None:
        super().__init__(schedules, recover)
        self._differences = differences
        self._asked: ChainLink | None = None
        self._under_way: ChainLink | None = None
        self._stored: ChainLink | None = None

    def tell(self, event: Event) -> None:
        """Move the schedule and the chain on."""
        super().tell(event)
        if isinstance(event, Saved):
            self._under_way = self._asked
        elif isinstance(event, Stored):
            self._stored = self._under_way

    def ask(self, now: Clock) -> Action:
        """As the schedule has it; a save is of what was modified."""
        action = super().ask(now)
        if not isinstance(action, Save):
            return action
        self._asked = self._differences.after(self._stored, now.progress_s)
        return self._asked.save
