"""Other futures for the same past: what no policy may see coming."""

import math
from dataclasses import dataclass

from cprsim.failures.hits import Hit
from cprsim.failures.model import FailureModel
from cprsim.failures.timeline import Cursor, Timeline
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of


def change_future(scenario: Scenario, after_s: float, pace: float = 0.0) -> Scenario:
    """The same scenario, whose failures after some second of the wall clock come otherwise.

    Whoever acts differently before then has seen the future. `after_s`: failures up to this second,
    itself included, stay what they are. `pace`: how fast the time after it passes; 2 brings the
    next failure in half the time that it would have taken from there, 0 never.
    """
    # A new one: a copy would share what was found with the failures as they are.
    changed = Scenario(**{name: getattr(scenario, name) for name in Scenario.model_fields})
    failures = scenario.failure_model
    # Where the scenario would keep it; the timeline is no part of the contents of a scenario.
    vars(changed)["failure_model"] = _OtherFuture(
        failures.spec, failures.cluster, failures.job, after_s, pace
    )
    return changed


@dataclass(frozen=True)
class _OtherFuture(FailureModel):
    after_s: float = math.inf
    pace: float = 1.0

    def timeline(self, seed: int, replication: int) -> Timeline:
        return _OtherTimeline(super().timeline(seed, replication), self.after_s, self.pace)


class _OtherTimeline(Timeline):
    def __init__(self, timeline: Timeline, after_s: float, pace: float) -> None:
        self._timeline, self._after_s, self._pace = timeline, after_s, pace
        self.severities, self.row = timeline.severities, timeline.row

    def cursor(self) -> Cursor:
        return _OtherCursor(cursor_of(self._timeline), self._after_s, self._pace)


class _OtherCursor:
    def __init__(self, cursor: Cursor, after_s: float, pace: float) -> None:
        self._cursor, self._after_s, self._pace = cursor, after_s, pace
        self._now_s = 0.0
        self._look()

    @property
    def absorbed(self) -> int:
        return self._cursor.absorbed

    @property
    def struck(self) -> int:
        return getattr(self._cursor, "struck", 0)

    def ahead(self) -> Hit:
        return self._cursor.ahead()

    def strike(self) -> Hit:
        self._now_s = self.next_s
        hit = self._cursor.strike()
        self._look()
        return hit

    def replace(self, hit: Hit, now_s: float) -> None:
        self._now_s = now_s
        self._cursor.replace(hit, now_s)
        self._look()

    def resume(self, now_s: float) -> None:
        self._now_s = now_s
        self._cursor.resume(now_s)
        self._look()

    def pause(self, now_s: float) -> None:
        self._now_s = now_s
        self._cursor.pause(now_s)
        self._look()

    def go_on(self, now_s: float) -> None:
        self._now_s = now_s
        self._cursor.go_on(now_s)
        self._look()

    def _look(self) -> None:
        at_s = self._cursor.next_s
        if at_s > self._after_s:
            from_s = max(self._after_s, self._now_s)
            at_s = from_s + (at_s - from_s) / self._pace if self._pace else math.inf
            at_s = max(at_s, math.nextafter(self._after_s, math.inf))
        self.next_s = at_s
