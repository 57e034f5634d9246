"""Starts and ends of one run, and whether the compile cache is warm (semantics 36 and 37)."""

import math
from collections.abc import Callable

from cprsim.contract import rules
from cprsim.failures.hit import SEVERITIES, Hit, Severity
from cprsim.failures.timeline import Cursor
from cprsim.job.start import Starts
from cprsim.sim.fabric import Flow
from cprsim.sim.resolved import ResolvedPlan
from cprsim.sim.work import WAIT, Process, Work


class Attempted:
    """Counts the starts of one run, and charges them.

    `stops`: whether the job has to give its nodes back, as soon as what it has trained is saved.
    """

    def __init__(self, resolved: ResolvedPlan, work: Work, cursor: Cursor, costs: Starts) -> None:
        self.stops = False
        self._until_s = 0.0
        self._resolved = resolved
        self._work, self._cursor, self._costs = work, cursor, costs
        self._charges = resolved.starts
        start = resolved.costs.costs.start
        self._on_node = start is not None and start.on_node
        self._warm = False
        self._starts = self._ends = 0

    def failed(self, severity: Severity) -> None:
        """A failure has struck, and may have taken the compile cache with it."""
        kept = rules.r36_keeps_cache(self._on_node, SEVERITIES.index(severity))
        self._warm = self._warm and kept

    def first(self) -> Process:
        """The start of the job, in which nobody of it can fail."""
        if self._charges:
            self._cursor.pause(self._work.now)
        yield from self.allocated()
        if self._charges:
            self._cursor.go_on(self._work.now)

    def stop(self, until_s: float) -> None:
        """The job has to stop, and gets no nodes before `until_s`."""
        self.stops, self._until_s = True, until_s

    def allocated(self) -> Process:
        """The start of an allocation, whose end is set."""
        work, resolved = self._work, self._resolved
        wait_s = rules.r39_left_s(self._until_s, work.now)
        yield from work.do("reschedule", WAIT, wait_s, 1.0)
        nodes_s = work.now
        if self._charges:
            nodes_s += self._costs[self._starts].schedule_s
            yield from self._start(first=True, strike=_nobody)
        stop_s = rules.r37_stop_s(nodes_s, resolved.allocation_s, resolved.stop_s)
        self.stops = stop_s <= work.now
        if work.now < stop_s < math.inf:
            work.start(None, WAIT, self._stop, stop_s - work.now)

    def _stop(self, _flow: Flow) -> None:
        self.stops = True

    def again(self, strike: Callable[[], Hit | None]) -> Process:
        """A start in a recovery; the hit of a failure that comes first, or None."""
        return (yield from self._start(first=False, strike=strike)) if self._charges else None

    def end(self) -> Process:
        """The end of the job, which no failure takes anything from any more."""
        if self._charges:
            self._cursor.pause(self._work.now)
        yield from self.returned()

    def returned(self) -> Process:
        """The end of an allocation: others get its nodes, and what lies on their disks is gone."""
        self._warm = self._warm and not self._on_node
        if self._charges:
            shutdown_s = self._costs[self._ends].shutdown_s
            self._ends += 1
            yield from self._work.do("shutdown", WAIT, shutdown_s, 1.0)

    def _start(self, first: bool, strike: Callable[[], Hit | None]) -> Process:
        schedule_s, cold_s, warm_s, _ = self._costs[self._starts]
        self._starts += 1
        left_s = rules.r36_start_s(schedule_s, cold_s, warm_s, first, self._warm)
        while left_s:
            left_s -= yield from self._work.do("start", WAIT, left_s, 1.0)
            if left_s and (struck := strike()) is not None:
                return struck
        self._warm = True
        return None


def _nobody() -> None:
    """Where nobody can fail."""
