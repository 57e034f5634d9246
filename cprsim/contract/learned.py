"""An interval that follows what a run has seen: how often it fails, and what its saves take."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cprsim.closed_form.intervals import young_s
from cprsim.contract.actions import Controller, Event, Failed, Resumed, Saved
from cprsim.contract.schedules import ScheduledController
from cprsim.contract.stretches import Stretches

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan


def mtbf_seen_s(prior_s: float, weight: float, failures: float, watched_s: float) -> float:
    """Inverse of the mean hazard that is believed in after so many failures in so much time, s.

    The hazard has the gamma law of `weight` failures in `weight * prior_s` to begin with, the
    conjugate one of exponential failures (A. Gelman et al., "Bayesian Data Analysis", 2013, ch.
    2.6), and so that of `weight + failures` in all the time later.
    """
    return (weight * prior_s + watched_s) / (weight + failures)


def save_seen_s(prior_s: float, saves: float, saving_s: float) -> float:
    """Mean of so many saves that took so much together, and of one that took what was believed."""
    return (prior_s + saving_s) / (1 + saves)


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
    """Counts failures against the wall clock, and measures what each save took."""

    __slots__ = ("_failures", "_saves", "_saving_s", "_sequence", "_stretches")

    def __init__(self, plan: "Plan", sequence: Learned) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._sequence = sequence
        self._failures = self._saves = 0
        self._saving_s = 0.0
        self._stretches = Stretches()

    def tell(self, event: Event) -> None:
        """Plan the interval anew by what has happened."""
        if isinstance(event, Failed):
            self._failures += 1
        elif isinstance(event, Saved | Resumed):
            last = self._stretches.cut(event.now)
            if isinstance(event, Saved):
                self._saves += 1
                self._saving_s += last.saving_s
            self._periods_s[0] = self._interval_s(event.now.wall_s)
        super().tell(event)

    def _interval_s(self, wall_s: float) -> float:
        known = self._sequence
        save_s = save_seen_s(known.save_s, self._saves, self._saving_s)
        mtbf_s = mtbf_seen_s(known.mtbf_s, known.weight, self._failures, wall_s)
        return young_s(save_s, mtbf_s)
