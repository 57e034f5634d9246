"""A failure timeline pinned to steps, on the wall clock that a simulated job has when it meets it.

The real trainer strikes before the step that an instant falls into, on a clock on which only
training takes time (`strikes.StepClock`). A simulator strikes on the wall clock, on which saves,
loads and replacements take time too, other times under each policy. So each failure is put at the
instant at which the simulated job has trained as many steps.
"""

import math
from typing import NamedTuple

from cprsim.failures.hit import Hit
from cprsim.failures.timeline import AbsoluteTimeline, Cursor
from cprsim.scenario import Scenario
from cprsim.sim.engine import play_against
from cprsim.sim.observer import Observer
from cprsim.trainer.coordinator.strikes import StepClock

#: What a recovery takes.
RECOVERY = ("detect", "reschedule", "load")


class Kill(NamedTuple):
    """A failure that strikes once `executed` steps have been trained, rolled back or not."""

    executed: int
    hit: Hit


class Pinned(NamedTuple):
    """The failures of one run, by steps, and the timeline on which the simulated job meets them."""

    kills: list[Kill]
    timeline: AbsoluteTimeline


def pinned(
    scenario: Scenario, policy: str, step_s: float, cursor: Cursor, cursor_step_s: float
) -> Pinned:
    """Where the failures of a cursor strike a policy's job, which saves on whole steps.

    Parameters
    ----------
    scenario, policy
        What is simulated.
    step_s
        Useful time of a step in that scenario, s.
    cursor
        Of the failures, on a clock of training alone; it is used up.
    cursor_step_s
        What a step takes on that clock, s.
    """
    executed = 0
    times = StepClock(cursor_step_s, lambda: executed)
    kills: list[Kill] = []
    timeline = AbsoluteTimeline([], [])
    while cursor.next_s < math.inf:
        due = executed + int(times.steps_until(cursor.next_s))
        spans = _Spans()
        play_against(scenario, policy, timeline, spans)
        since_s = timeline.times_s[-1] if kills else 0.0
        at_s = spans.instant(due, step_s, since_s)
        if at_s is None:
            break
        executed = due
        now_s = max(times.now_s(), cursor.next_s)
        kills.append(Kill(executed, cursor.strike()))
        timeline = AbsoluteTimeline([*timeline.times_s, at_s], [each.hit for each in kills])
        cursor.replace(kills[-1].hit, now_s)
        cursor.resume(now_s)
    return Pinned(kills, timeline)


class _Spans(Observer):
    """What a simulated job does when."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, float, float]] = []

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        self._spans.append((cause, start_s, end_s))

    def instant(self, steps: int, step_s: float, since_s: float) -> float | None:
        """When so many steps have been trained, after `since_s`; None if the job ends first.

        It is the very number that a span ends with, so that both fall on the same instant.
        """
        done = 0
        found = None
        for cause, start_s, end_s in self._spans:
            trained = round((end_s - start_s) / step_s) if cause == "train" else 0
            if found is None and start_s >= since_s and cause not in RECOVERY:
                if steps == done:
                    found = start_s
                elif steps <= done + trained:
                    whole = steps == done + trained
                    found = end_s if whole else start_s + (steps - done) * step_s
            done += trained
        return found if steps < done else None
