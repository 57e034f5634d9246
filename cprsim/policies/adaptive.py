"""An interval that grows while saving costs more than it may: CheckFreq's adaptation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cprsim.contract import (
    Clock,
    Controller,
    Event,
    Loss,
    Plan,
    Recover,
    Resumed,
    Saved,
    Schedule,
    ScheduledController,
)

#: What lies this close to the bound on overhead is on it: the rounding of two clocks.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptivePlan(Plan):
    """Saves `first_s` of training apart at first, `more_s` more after each that costs too much."""

    first_s: float
    more_s: float
    max_overhead: float

    def start(self) -> Controller:
        """A controller that measures what saving costs."""
        return AdaptiveController(self.schedules, self.recover, self)


class AdaptiveController(ScheduledController):
    """Measures wall clock against progress from save to save; failures start it anew."""

    __slots__ = ("_plan", "_since")

    def __init__(
        self, schedules: Sequence[Schedule], recover: Callable[[Loss], Recover], plan: AdaptivePlan
    ) -> None:
        super().__init__([schedules[0]._replace(interval_s=plan.first_s)], recover)
        self._plan = plan
        self._since = Clock(0.0, 0.0)

    def tell(self, event: Event) -> None:
        """Save less often from now on if the last time was too dear."""
        if isinstance(event, Saved | Resumed):
            if isinstance(event, Saved) and self._too_dear(event.now):
                self._periods_s[0] += self._plan.more_s
            self._since = event.now
        super().tell(event)

    def _too_dear(self, now: Clock) -> bool:
        trained_s = now.progress_s - self._since.progress_s
        saving_s = now.wall_s - self._since.wall_s - trained_s
        return saving_s > trained_s * self._plan.max_overhead * (1 + _TOLERANCE)
