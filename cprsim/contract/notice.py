"""Notices of failures, and what answers one: a save at once, or nodes that are drained."""

from collections.abc import Callable
from typing import NamedTuple

from cprsim.contract import rules
from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Drain,
    Event,
    Notice,
    Recover,
    Resumed,
    Save,
    Saved,
    Unusable,
)


class EmergencySave(NamedTuple):
    """What answers a notice: this save, at once, where it gets done before the deadline.

    `takes_s`: what it takes, with a verification before it if there is one, s.
    """

    save: Save
    takes_s: float


class Draining(NamedTuple):
    """What answers a notice: the nodes that it names move to spare machines, in `takes_s` seconds.

    Where fewer stand ready, or it doesn't get done before the deadline, `otherwise` does.
    """

    takes_s: float
    otherwise: EmergencySave | None = None


class NoticeController:
    """Another controller's decisions, but for what answers a failure that is announced.

    Of several that are told at once, that with the first deadline is drained for if any can be;
    else everything is saved, if that gets done by the last deadline and anything is to be saved.
    """

    __slots__ = ("_answer", "_ask", "_notices", "_returns", "_saved_s", "_tell")

    def __init__(self, other: Controller, answer: EmergencySave | Draining) -> None:
        self._tell: Callable[[Event], None] = other.tell
        self._ask: Callable[[Clock], Action] = other.ask
        self._answer = answer
        self._notices: list[Notice] = []
        self._saved_s = 0.0  # progress of the last checkpoint that is known to be stored
        self._returns = False  # whether the recovery under way takes all back to one

    def tell(self, event: Event) -> None:
        """Take note of a deadline, or of what is saved."""
        if isinstance(event, Notice):
            self._notices.append(event)
            return
        if isinstance(event, Saved):
            self._saved_s = event.now.progress_s if event.stored else self._saved_s
        elif isinstance(event, Unusable):
            self._returns = self._returns or event.corrupt
        elif isinstance(event, Resumed):
            if self._returns or event.source is not None:
                self._saved_s = event.now.progress_s
            self._returns = False
        self._tell(event)

    def ask(self, now: Clock) -> Action:
        """What answers the notices, if any; else what the other says."""
        if self._notices:
            notices, self._notices = self._notices, []
            answer = self._drain(notices, now) or self._save(notices, now)
            if answer is not None:
                return answer
        action = self._ask(now)
        if isinstance(action, Recover) and action.rollback == "all":
            self._returns = True
        return action

    def _drain(self, notices: list[Notice], now: Clock) -> Drain | None:
        if isinstance(self._answer, EmergencySave):
            return None
        takes_s = self._answer.takes_s
        able = [each for each in notices if _can_drain(each, now, takes_s)]
        if not able:
            return None
        first = min(able, key=lambda notice: notice.deadline_s)
        return Drain(first.nodes, first.deadline_s, takes_s)

    def _save(self, notices: list[Notice], now: Clock) -> Save | None:
        answer = self._answer
        saves = answer if isinstance(answer, EmergencySave) else answer.otherwise
        if saves is None or now.progress_s <= self._saved_s:
            return None
        last_s = max(notice.deadline_s for notice in notices)
        return saves.save if rules.r38_in_time(now.wall_s, saves.takes_s, last_s) else None


def _can_drain(notice: Notice, now: Clock, takes_s: float) -> bool:
    in_time = rules.r38_in_time(now.wall_s, takes_s, notice.deadline_s)
    return in_time and notice.nodes.drains_to(notice.ready)
