"""Rotations of experts: what of each save is kept and stored, and when more of it has to be."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cprsim.contract import rules
from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Event,
    Failed,
    Loss,
    Recover,
    Resumed,
    Save,
    Saved,
    Train,
    Unusable,
)
from cprsim.contract.schedules import ScheduledController

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan

_NOBODY = Loss(frozenset(), frozenset())


class Rotation(NamedTuple):
    """The saves of one number of experts: what is stored, and what the hosts keep, if anything."""

    stored: Save
    kept: Save | None


@dataclass(frozen=True, slots=True)
class Rotations:
    """Saves by the first of the `rotations`, by the next with each failure beyond a limit.

    `limit_s`: updates that may be lost, in useful seconds of the whole job on its `servers`. The
    plan's schedules are those of the first: the hosts' memory, if they keep anything, then the
    store.
    """

    rotations: tuple[Rotation, ...]
    servers: int
    limit_s: float

    def controller(self, plan: "Plan") -> Controller:
        """One that counts what is lost."""
        return RotationController(plan, self)


class RotationController(ScheduledController):
    """Saves by schedules, by the rotation that what was lost so far asks for."""

    __slots__ = (
        *("_answer", "_down", "_interval_s", "_lost_s"),
        *("_rotation", "_sequence", "_start_s"),
    )

    def __init__(self, plan: "Plan", sequence: Rotations) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._sequence, self._interval_s = sequence, plan.interval_s
        self._rotation = 0
        self._start_s = 0.0  # progress that the job last returned to
        self._lost_s = 0.0
        self._answer = Recover("all")
        self._down = _NOBODY

    def tell(self, event: Event) -> None:
        """Move the schedules on; count what a failure has cost."""
        super().tell(event)
        if isinstance(event, Saved):
            if event.stored and len(self._due_s) > 1 and self._number[event.save.tier]:
                # A blocking save holds fewer experts than the hosts can keep of it.
                self._due_s[0] = event.now.progress_s
                self._train = Train(event.now.progress_s)
        elif isinstance(event, Failed):
            self._down = event.loss
        elif isinstance(event, Unusable):
            if event.corrupt:  # nothing has failed that was answered
                self._answer = Recover("all", source=event.tier)
        elif isinstance(event, Resumed):
            if event.source is None:  # else the last save has left nothing
                self._count(event.now.progress_s)
            self._start_s = event.now.progress_s

    def ask(self, now: Clock) -> Action:
        """As the schedules have it; a save is of the rotation's experts."""
        action = super().ask(now)
        if isinstance(action, Recover):
            self._answer = action
        if not isinstance(action, Save):
            return action
        return self._saved_to(action.tier)

    def _saved_to(self, tier: str) -> Save:
        stored, kept = self._sequence.rotations[self._rotation]
        return stored if kept is None or tier == stored.tier else kept

    def _unsaved_s(self, tier: str, saves: float) -> float:
        return float(rules.r25_unsaved_s(self._saved_to(tier).unsaved_s, saves))

    def _count(self, progress_s: float) -> None:
        """Add what the saves had left of the experts that the job has returned to."""
        sequence, fresher = self._sequence, self._answer.healthy
        # One that is further away may be older than what the job last returned to.
        saves = max(progress_s - self._start_s, 0.0) / self._interval_s
        down = 1.0 if fresher is None else len(self._down.servers) / sequence.servers
        self._lost_s += down * self._unsaved_s(self._answer.source, saves)
        if down < 1.0 and fresher is not None:
            self._lost_s += (1 - down) * self._unsaved_s(fresher, saves)
        if self._lost_s > sequence.limit_s:
            self._rotation = min(self._rotation + 1, len(sequence.rotations) - 1)
