"""A plan that follows what a run has seen: how often it fails, and what its saves take."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cprsim.closed_form.intervals import young_s
from cprsim.contract.actions import Controller, Event, Failed, Recover, Resumed, Saved
from cprsim.contract.answers import Always
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


def partial_costs_less(save_s: float, full_s: float, mtbfs: float, spared_s: float) -> bool:
    """(E7) of CPR: whether partial recovery, with saves every so many MTBFs, costs less than full.

    In the time of an MTBF, (E2) has `save / mtbfs` for saves. (E1) has `sqrt(2 save MTBF)` for
    saves and lost computation at Young's interval, which is the same number, `full_s`. `spared_s`
    is what one recovery takes less.
    """
    return save_s / mtbfs - spared_s < full_s


class Accepted(NamedTuple):
    """Lost samples that are accepted: partial recovery instead of full, while it costs less.

    `mtbfs`: MTBFs of training between its saves, what (E6) of CPR allows; infinite where no shard
    is ever lost. `spared_s`: what one recovery takes less than a full one. `partial`, `full`: the
    answers to a loss.
    """

    mtbfs: float
    spared_s: float
    partial: Recover = Recover("lost")
    full: Recover = Recover("all")


@dataclass(frozen=True, slots=True)
class Learned:
    """Saves as often as (E3) of CPR has it at the MTBF and the cost of a save that were seen.

    `mtbf_s`: the MTBF that is believed in at first; `weight`: how many failures that counts as.
    `save_s`: what a save is believed to hold training up for; the belief counts as one save. The
    interval is planned anew after each save and each recovery, and with it whether recovery is
    partial, where `accepted` says what that needs. It is for a plan with one schedule, whose
    interval is the first, and its rule the first answer.
    """

    mtbf_s: float
    weight: float
    save_s: float
    accepted: Accepted | None = None

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
            self._plan_anew(event.now.wall_s)
        super().tell(event)

    def _plan_anew(self, wall_s: float) -> None:
        known, accepted = self._sequence, self._sequence.accepted
        save_s = save_seen_s(known.save_s, self._saves, self._saving_s)
        mtbf_s = mtbf_seen_s(known.mtbf_s, known.weight, self._failures, wall_s)
        full_s = self._periods_s[0] = young_s(save_s, mtbf_s)
        if accepted is None:
            return
        self._recover = Always(accepted.full)
        if partial_costs_less(save_s, full_s, accepted.mtbfs, accepted.spared_s):
            self._periods_s[0] = accepted.mtbfs * mtbf_s
            self._recover = Always(accepted.partial)
