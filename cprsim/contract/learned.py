"""An interval that follows what a run has seen: how often it fails, and what its saves take."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cprsim.contract.actions import Clock, Controller, Event, Failed, Resumed, Saved
from cprsim.contract.schedules import ScheduledController

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan


def mtbf_seen_s(prior_s: float, weight: float, failures: float, watched_s: float) -> float:
    """Inverse of the mean hazard that is believed in after so many failures in so much time, s.

    The hazard has the gamma law of `weight` failures in `weight * prior_s` to begin with, the
    conjugate one of exponential failures (A. Gelman et al., "Bayesian Data Analysis", 2013, ch.
    2.6), and so that of `weight + failures` in all the time later.
    """
    return (weight * prior_s + watched_s) / (weight + failures)


def planned_interval_s(mtbf_s: float, prior_save_s: float, saves: float, saving_s: float) -> float:
    """(E3) of CPR, of the mean of so many saves and of one that took what was believed, s."""
    return math.sqrt(2 * (prior_save_s + saving_s) / (1 + saves) * mtbf_s)


@dataclass(frozen=True, slots=True)
class Learned:
    """Saves as often as (E3) of CPR has it at the MTBF and the cost of a save that were seen.

    `mtbf_s`: the MTBF that is believed in at first; `weight`: how many failures that counts as.
    `save_s`: what a save is believed to hold training up for; the belief counts as one save. The
    interval is planned anew after each save and each recovery. It is for a plan with one schedule,
    whose interval is the first.
    """

    mtbf_s: float
    weight: float
    save_s: float

    def controller(self, plan: "Plan") -> Controller:
        """One that counts failures, and measures what saves cost."""
        return LearnedController(plan, self)


class LearnedController(ScheduledController):
    """Counts failures against the wall clock; that against progress, from save to save."""

    __slots__ = ("_failures", "_saves", "_saving_s", "_sequence", "_since")

    def __init__(self, plan: "Plan", sequence: Learned) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._sequence = sequence
        self._failures = self._saves = 0
        self._saving_s = 0.0
        self._since = Clock(0.0, 0.0)

    def tell(self, event: Event) -> None:
        """Plan the interval anew by what has happened."""
        if isinstance(event, Failed):
            self._failures += 1
        elif isinstance(event, Saved | Resumed):
            if isinstance(event, Saved):
                self._count(event.now)
            self._since = event.now
            self._periods_s[0] = self._interval_s(event.now.wall_s)
        super().tell(event)

    def _count(self, now: Clock) -> None:
        trained_s = now.progress_s - self._since.progress_s
        self._saving_s += now.wall_s - self._since.wall_s - trained_s
        self._saves += 1

    def _interval_s(self, wall_s: float) -> float:
        known = self._sequence
        mtbf_s = mtbf_seen_s(known.mtbf_s, known.weight, self._failures, wall_s)
        return planned_interval_s(mtbf_s, known.save_s, self._saves, self._saving_s)
