"""Notices of failures in one run: who is told, and when (semantics 38)."""

import math

from cprsim.contract import Notice
from cprsim.failures.notice import NoticeDraws
from cprsim.failures.timeline import Cursor
from cprsim.sim.background import Dialogue
from cprsim.sim.fabric import Flow
from cprsim.sim.limits import Limits
from cprsim.sim.work import WAIT, Work


class Herald:
    """Tells a controller of what is announced, which training stops for."""

    def __init__(
        self,
        draws: NoticeDraws,
        lead_s: float,
        work: Work,
        cursor: Cursor,
        dialogue: Dialogue,
        limits: Limits,
    ) -> None:
        self._draws, self._lead_s = draws, lead_s
        self._work, self._cursor, self._dialogue, self._limits = work, cursor, dialogue, limits
        self._told_s = -math.inf  # deadline of the last that was true
        self._flow: Flow | None = None
        self._next_s = math.inf  # when that ends

    def announce(self) -> None:
        """Tell what has been announced while training goes on, and wait for what is to be next."""
        now_s, strikes_s = self._work.now, self._cursor.next_s
        coming_s = math.inf
        if strikes_s not in (self._told_s, math.inf):
            number = self._limits.failures + self._cursor.absorbed
            coming_s = strikes_s - self._lead_s if self._draws.comes_before(number) else math.inf
        if coming_s <= now_s:
            self._told_s, coming_s = strikes_s, math.inf
            self._tell(strikes_s)
        while self._draws.next_false_s <= now_s:
            if self._draws.next_false_s + self._lead_s > now_s:
                self._tell(self._draws.next_false_s + self._lead_s)
            self._draws.move_on()
        self._wait_until(min(coming_s, self._draws.next_false_s))

    def _tell(self, deadline_s: float) -> None:
        self._dialogue.tell(Notice(self._dialogue.now(), deadline_s))

    def _wait_until(self, next_s: float) -> None:
        if next_s == self._next_s and self._flow is not None:
            return
        if self._flow is not None:
            self._work.abandon(self._flow)
        self._flow, self._next_s = None, next_s
        if next_s < math.inf:
            self._flow = self._work.start(None, WAIT, self._come, next_s - self._work.now)

    def _come(self, _flow: Flow) -> None:
        self._flow = None
