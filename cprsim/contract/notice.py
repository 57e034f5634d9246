"""Notices of failures, and the save that answers one."""

import math
from typing import TYPE_CHECKING, NamedTuple

from cprsim.contract.actions import Action, Clock, Event, Notice, Resumed, Save, Saved
from cprsim.contract.schedules import ScheduledController

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan


class EmergencySave(NamedTuple):
    """What answers a notice: this save, at once, where it gets done before the deadline.

    `takes_s`: what it takes, with a verification before it if there is one, s.
    """

    save: Save
    takes_s: float


class NoticeController(ScheduledController):
    """Saves by schedules, and when a failure is announced that would take back any training."""

    __slots__ = ("_answer", "_deadline_s", "_saved_s")

    def __init__(self, plan: "Plan", answer: EmergencySave) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._answer = answer
        self._deadline_s = -math.inf
        self._saved_s = 0.0  # progress of the last checkpoint

    def tell(self, event: Event) -> None:
        """Take note of a deadline, or of what is saved."""
        if isinstance(event, Notice):
            self._deadline_s = max(self._deadline_s, event.deadline_s)
            return
        if isinstance(event, Saved | Resumed):
            self._saved_s = event.now.progress_s
        super().tell(event)

    def ask(self, now: Clock) -> Action:
        """Save at once after a notice, if that is of use; else as schedules have it."""
        deadline_s, self._deadline_s = self._deadline_s, -math.inf
        in_time = now.wall_s + self._answer.takes_s <= deadline_s
        if in_time and now.progress_s > self._saved_s and self._loss is None:
            return self._answer.save
        return super().ask(now)
