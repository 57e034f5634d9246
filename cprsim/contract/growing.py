"""An interval that grows while saving costs more than it may: CheckFreq's adaptation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cprsim.contract.actions import Controller, Event, Resumed, Saved
from cprsim.contract.schedules import ScheduledController
from cprsim.contract.stretches import Stretches

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan

#: What lies this close to the bound on overhead is on it: the rounding of two clocks.
_TOLERANCE = 1e-6


def too_dear(saving_s: float, trained_s: float, max_overhead: float) -> bool:
    """Whether saving took more than its share of so much training, s each."""
    return saving_s > trained_s * max_overhead * (1 + _TOLERANCE)


@dataclass(frozen=True, slots=True)
class Growing:
    """Saves `first_s` of training apart at first, `more_s` more after each that costs too much.

    Too much: the time from one save to the next, beyond the training in it, is more than
    `max_overhead` of that. It is for a plan with one schedule, whose interval is what comes of it.
    """

    first_s: float
    more_s: float
    max_overhead: float

    def controller(self, plan: "Plan") -> Controller:
        """One that measures what saving costs."""
        return GrowingController(plan, self)


class GrowingController(ScheduledController):
    """Measures what each save took, from the save or recovery before."""

    __slots__ = ("_sequence", "_stretches")

    def __init__(self, plan: "Plan", sequence: Growing) -> None:
        first = plan.schedules[0]._replace(interval_s=sequence.first_s)
        super().__init__([first], plan.recover)
        self._sequence = sequence
        self._stretches = Stretches()

    def tell(self, event: Event) -> None:
        """Save less often from now on if the last time was too dear."""
        if isinstance(event, Saved | Resumed):
            last = self._stretches.cut(event.now)
            dear = too_dear(last.saving_s, last.trained_s, self._sequence.max_overhead)
            if dear and isinstance(event, Saved):
                self._periods_s[0] += self._sequence.more_s
        super().tell(event)
