"""Schedules of saves, and the controller that follows them."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cprsim.contract import rules
from cprsim.contract.actions import (
    Action,
    Clock,
    Event,
    Failed,
    Loss,
    Recover,
    Resumed,
    Save,
    Saved,
    Stored,
    Train,
    Void,
)


class Schedule(NamedTuple):
    """What is saved to one tier, and how often.

    `interval_s`: useful seconds in which as much is saved as one full checkpoint holds; infinite
    for none. `save` is due every `interval_s * save.portion`, counted from the end of the one
    before. `max_pending`: background saves that may be under way at once.
    """

    interval_s: float
    save: Save = Save()
    max_pending: int = 1

    @property
    def period_s(self) -> float:
        """Useful seconds from the end of one save to the start of the next."""
        return self.interval_s * self.save.portion

    def saves_in(self, useful_time_s: float) -> float:
        """Saves in so much training, with a part of one; none is due at the end."""
        return useful_time_s / self.period_s


#: A blocking save of everything to the remote store.
WHOLE_SAVE = Save()


def every(interval_s: float, save: Save = WHOLE_SAVE, max_pending: int = 1) -> tuple[Schedule, ...]:
    """The schedules of a plan that saves to one tier only."""
    return (Schedule(interval_s, save, max_pending),)


class ScheduledController:
    """Saves by schedules, answers losses by a rule: all that a static policy needs."""

    __slots__ = (
        *("_alone", "_due_s", "_loss", "_number", "_pending", "_periods_s"),
        *("_recover", "_schedules", "_train"),
    )

    def __init__(self, schedules: Sequence[Schedule], recover: Callable[[Loss], Recover]) -> None:
        self._schedules, self._recover = schedules, recover
        self._periods_s = [each.period_s for each in schedules]
        self._number = {each.save.tier: i for i, each in enumerate(schedules)}
        self._due_s = list(self._periods_s)
        self._pending = [0] * len(schedules)
        self._alone = len(schedules) == 1
        self._loss: Loss | None = None
        self._train = Train(min(self._due_s, default=math.inf))

    def tell(self, event: Event) -> None:
        """Move the schedules on."""
        if isinstance(event, Saved):
            if event.stored and self._alone:  # as in `_saved`, and quick
                next_s = self._due_s[0] = event.now.progress_s + self._periods_s[0]
                self._train = Train(next_s)
            else:
                self._saved(event)
        elif isinstance(event, Stored):
            self._pending[self._number[event.save.tier]] -= 1
        elif isinstance(event, Failed):
            self._loss = event.loss
        elif isinstance(event, Void):
            self._skip(event)
        elif isinstance(event, Resumed):
            self._resume(event)

    def ask(self, now: Clock) -> Action:
        """Recover after a failure; save when one is due and none too many are under way; train."""
        if self._loss is not None:
            loss, self._loss = self._loss, None
            return self._recover(loss)
        if now.progress_s < self._train.until_s:
            return self._train
        if self._alone:  # as below, and quick
            (schedule,) = self._schedules
            return schedule.save if self._pending[0] < schedule.max_pending else Train(math.inf)
        next_s = math.inf
        at_once_s = now.progress_s * (1 + rules.ROUNDING)  # ten times 0.1 s are 1 s, too
        for i in reversed(range(len(self._due_s))):  # the furthest tier first: it may serve all
            if at_once_s < self._due_s[i]:
                next_s = min(next_s, self._due_s[i])
            elif self._pending[i] < self._schedules[i].max_pending:
                return self._schedules[i].save
        return Train(next_s)

    def _saved(self, event: Saved) -> None:
        number, progress_s = self._number[event.save.tier], event.now.progress_s
        self._pending[number] += not event.stored
        for i in range(rules.r5_nearest(number, event.stored), number + 1):
            self._due_s[i] = progress_s + self._periods_s[i]
        self._train = Train(min(self._due_s))

    def _skip(self, event: Void) -> None:
        """A void save serves no tier: its own waits for the next, the nearer ones for theirs."""
        number = self._number[event.save.tier]
        if event.save.blocking:
            self._due_s[number] = event.now.progress_s + self._periods_s[number]
            self._train = Train(min(self._due_s))
        else:
            self._pending[number] -= 1

    def _resume(self, event: Resumed) -> None:
        progress_s = event.now.progress_s
        for i, period_s in enumerate(self._periods_s):
            self._due_s[i] = rules.r3_due_s(self._due_s[i], progress_s, period_s)
            self._pending[i] = sum(self._number[save.tier] == i for save in event.pending)
        self._train = Train(min(self._due_s, default=math.inf))
