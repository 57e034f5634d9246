"""Notices of failures, and what answers one: a save at once, or nodes that are drained."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from cprsim.basics.units import format_duration
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
from cprsim.contract.rotations import Rotations
from cprsim.failures.hit import SEVERITIES

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan
    from cprsim.contract.policy import Context

#: `on_notice` of policies: everything is saved, or who is to fail is replaced before it does.
Answering = Literal["save", "drain"]


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


def answering(plan: "Plan", word: Answering, context: "Context") -> "Plan":
    """The plan with its answer to notices; where they are too short for it, that is its note.

    Raises `ValueError` for plans that have no use for a save of everything.
    """
    why = _why_not(plan)
    if why:
        raise ValueError(f"on_notice = {word!r} saves everything, but {why}; leave it out")
    if context.notices is None:
        return plan
    lead_s = context.notices.lead_s
    save = plan.last_save._replace(blocking=True)
    verify_s = 0.0 if plan.verifies is None else plan.verifies.takes_s
    save_s = context.costs.seconds(plan.transfer(save, context.costs)) + verify_s
    saves = EmergencySave(save, save_s) if save_s <= lead_s else None
    lacks = _lacks("save in", lead_s, save_s)
    if word == "drain":
        if plan.machines_ready(context.costs.cluster.spares):
            drain_s = context.costs.drain_s
            if drain_s <= lead_s:
                return replace(plan, on_notice=Draining(drain_s, saves))
            lacks = _lacks("drain a node in", lead_s, drain_s)
        else:
            lacks = "no spare machine (cluster.spares) stands ready to drain a node to"
        lacks += "; everything is saved" if saves else "; notices are ignored"
    elif saves is None:
        lacks += "; it is ignored"
    else:
        return replace(plan, on_notice=saves)
    note = lacks if plan.note is None else f"{plan.note}; {lacks}"
    return replace(plan, on_notice=saves, note=note)


def _why_not(plan: "Plan") -> str:
    """Why a save of everything in between is nothing for it, or empty."""
    if plan.mirror is not None:
        return "every step is mirrored"
    if plan.redundancy is not None:
        return "copies or parities on other servers hold what a failure takes"
    if isinstance(plan.sequence, Rotations) or any(each.save.leaves for each in plan.schedules):
        return "each of its own is of a portion, and counts on the others"
    return "" if plan.schedules else "it saves nothing"


def _lacks(what: str, lead_s: float, takes_s: float) -> str:
    return (
        f"a notice of {format_duration(lead_s)} is too short to {what}, which takes "
        f"{format_duration(takes_s)} and a step before it"
    )


class NoticeController:
    """Another controller's decisions, but for what answers a failure that is announced.

    Of several that are told at once, that with the first deadline is drained for if any can be;
    else everything is saved, if that gets done by the last deadline and anything is to be saved.
    """

    __slots__ = ("_answer", "_notices", "_returns", "_saved_s", "ask_other", "tell_other")

    def __init__(self, other: Controller, answer: EmergencySave | Draining) -> None:
        self.tell_other: Callable[[Event], None] = other.tell
        self.ask_other: Callable[[Clock], Action] = other.ask
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
        self.tell_other(event)

    def ask(self, now: Clock) -> Action:
        """What answers the notices, if any; else what the other says."""
        if self._notices:
            notices, self._notices = self._notices, []
            answer = self._drain(notices, now) or self._save(notices, now)
            if answer is not None:
                return answer
        action = self.ask_other(now)
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
    nodes = len(notice.nodes.servers) + len(notice.nodes.trainers)
    severity = SEVERITIES.index(notice.nodes.severity)
    in_time = rules.r38_in_time(now.wall_s, takes_s, notice.deadline_s)
    return in_time and rules.r38_can_drain(nodes, notice.ready, severity)
