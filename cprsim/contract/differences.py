"""A baseline, and saves of what was modified since: how they follow each other in a run."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from cprsim.closed_form.incremental import rebaseline_pays
from cprsim.contract import rules
from cprsim.contract.actions import (
    ALL_BITS,
    Action,
    Clock,
    Controller,
    Event,
    Resumed,
    Save,
    Saved,
    Since,
    Stored,
    Unusable,
)
from cprsim.contract.schedules import ScheduledController

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan

Variant = Literal["intermittent", "one-shot", "consecutive"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
#: Parts of an interval that training is counted in: what is finer is the rounding of progress.
_PARTS = 1e6


class ChainLink(NamedTuple):
    """A checkpoint: its save, and what the next one has to know of the saves it builds on.

    `base_s`, `taken_s`: progress at its baseline and at itself, s. `diffs`: differences since the
    baseline, `total` their sizes and `last` that of the last, over the baseline's, which is `whole`
    of a full checkpoint.
    """

    save: Save
    base_s: float
    taken_s: float
    whole: float
    diffs: int = 0
    total: float = 0.0
    last: float = 0.0

    def as_written(self, save: Save) -> "ChainLink":
        """The same, where it turned out that this was saved."""
        if save.writes == self.save.writes:
            return self
        if not self.diffs:
            return self._replace(save=save, whole=save.writes)
        size = save.writes / self.whole
        return self._replace(save=save, total=self.total - self.last + size, last=size)


# --- Arithmetic, of numbers alone, for whoever compiles it ----------------------------------------


def intervals_of(since_s: float, interval_s: float) -> float:
    """How many intervals so much training is, to a millionth of one."""
    return math.floor(since_s / interval_s * _PARTS + 0.5) / _PARTS


def share_at(i: int, intervals: float, at: Sequence[float], shares: Sequence[float]) -> float:
    """The share that so many intervals modify; `i`: the first of `at` that is no less than them."""
    if i == len(at):
        return shares[len(shares) - 1]  # compiled, a place is never counted from the end
    if at[i] == intervals:
        return shares[i]
    part = (intervals - at[i - 1]) / (at[i] - at[i - 1])
    return shares[i - 1] + part * (shares[i] - shares[i - 1])


def is_baseline_due(intermittent: bool, diffs: int, total: float, last: float) -> bool:
    """Whether a baseline is next, after so many differences of such sizes (see `ChainLink`)."""
    return intermittent and diffs > 0 and rebaseline_pays(diffs, total, last)


def written_of(whole: float, rows: float, share: float) -> float:
    """What a difference writes where that share of the tracked rows was modified."""
    return whole - rows * (1 - share)


def read_of(before: float, rows: float, share: float) -> float:
    """What is read to return to a difference; `before`: to return to what it builds on.

    The dense part and untracked tables are read from the last save alone.
    """
    return before + rows * share


# --- What comes next ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Differences:
    """Sizes of saves, as shares of a full checkpoint, and which of them come next.

    `whole`: a baseline; `rows`: what of it is tracked. `shares`: of these, what so many intervals
    (`at`, ascending from 0) modify; in between it is interpolated, and the last holds on. `bits`:
    of an element of a row that is saved.
    """

    variant: Variant
    interval_s: float
    whole: float
    rows: float
    at: tuple[float, ...]
    shares: tuple[float, ...]
    bits: int = ALL_BITS

    @property
    def since(self) -> Since:
        """What differences are told from."""
        return "save" if self.variant == "consecutive" else "baseline"

    def modified(self, since_s: float) -> float:
        """Share of the tracked rows that so much training modifies, useful seconds."""
        intervals = intervals_of(since_s, self.interval_s)
        return share_at(bisect_left(self.at, intervals), intervals, self.at, self.shares)

    def after(self, link: ChainLink | None, progress_s: float) -> ChainLink:
        """The checkpoint that is taken next, at that progress, on top of `link`."""
        if link is None or self._baseline_due(link):
            return self._baseline(progress_s)
        chained = self.variant == "consecutive"
        share = self.modified(progress_s - (link.taken_s if chained else link.base_s))
        if share == 1.0:
            return self._baseline(progress_s)
        writes = written_of(self.whole, self.rows, share)
        reads = read_of(link.save.reads if chained else self.whole, self.rows, share)
        size = writes / link.whole
        return ChainLink(
            save=self._save(writes, reads, self.since),
            base_s=link.base_s,
            taken_s=progress_s,
            whole=link.whole,
            diffs=link.diffs + 1,
            total=link.total + size,
            last=size,
        )

    def _baseline_due(self, link: ChainLink) -> bool:
        intermittent = self.variant == "intermittent"
        return is_baseline_due(intermittent, link.diffs, link.total, link.last)

    def controller(self, plan: "Plan") -> Controller:
        """One that knows what is stored."""
        return DifferencesController(plan, self)

    def _baseline(self, progress_s: float) -> ChainLink:
        save = self._save(self.whole, self.whole)
        return ChainLink(save, base_s=progress_s, taken_s=progress_s, whole=self.whole)

    def _save(self, writes: float, reads: float, since: Since | None = None) -> Save:
        return Save(blocking=False, writes=writes, reads=reads, since=since, bits=self.bits)


class DifferencesController(ScheduledController):
    """Saves by a schedule, one at a time, each on top of the last that is stored.

    A rollback of the whole job returns it to that one, so saves go on from there; where it goes
    further back, nothing is known to build on.
    """

    __slots__ = ("_asked", "_differences", "_stored", "_under_way")

    def __init__(self, plan: "Plan", sequence: Differences) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._differences = sequence
        self._asked: ChainLink | None = None
        self._under_way: ChainLink | None = None
        self._stored: ChainLink | None = None

    def tell(self, event: Event) -> None:
        """Move the schedule and the chain on."""
        super().tell(event)
        if isinstance(event, Saved):
            link = self._link(event)
            if event.stored:
                self._stored = link
            else:
                self._under_way = link
        elif isinstance(event, Stored) and self._under_way is not None:
            self._stored = self._under_way.as_written(event.save)
        elif isinstance(event, Unusable) or self._is_spoilt(event):  # nothing can build on it
            self._stored = None

    def _link(self, event: Saved) -> ChainLink:
        """What it has saved: what it was asked for last; any other save is whole, a baseline."""
        asked = self._asked
        taken_s = event.now.progress_s
        if asked is not None and asked.taken_s == taken_s and event.save == asked.save:
            return asked
        return ChainLink(event.save, taken_s, taken_s, self._differences.whole)

    def _is_spoilt(self, event: Event) -> bool:
        """Whether the job has returned to an earlier one, for the last one can't be read."""
        if self._stored is None or not isinstance(event, Resumed):
            return False
        return event.now.progress_s < self._stored.taken_s * (1 - rules.ROUNDING)

    def ask(self, now: Clock) -> Action:
        """As the schedule has it; a save is of what was modified."""
        action = super().ask(now)
        if not isinstance(action, Save):
            return action
        self._asked = self._differences.after(self._stored, now.progress_s)
        return self._asked.save
