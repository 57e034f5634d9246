"""Notices of failures in one run: who is told, and when (semantics 38)."""

import math

from cprsim.contract import Action, Clock, Loss, Notice, rules
from cprsim.failures.hit import Hit
from cprsim.failures.notice import NoticeDraws, Notices
from cprsim.failures.timeline import Cursor
from cprsim.sim.background import Dialogue
from cprsim.sim.fabric import Flow
from cprsim.sim.recovery import Recovery
from cprsim.sim.work import WAIT, Work


class Herald:
    """Tells a controller of what is announced, which training stops for.

    `servers`: of the job; a node beyond them is a trainer.
    """

    def __init__(
        self,
        draws: NoticeDraws,
        notices: Notices,
        servers: int,
        work: Work,
        cursor: Cursor,
        dialogue: Dialogue,
        recovery: Recovery,
    ) -> None:
        self._draws, self._lead_s, self._recall = draws, notices.lead_s, notices.recall
        self._servers, self._recovery = servers, recovery
        self._work, self._cursor, self._dialogue = work, cursor, dialogue
        self._told_s = -math.inf  # deadline of the last that was true
        self._flow: Flow | None = None
        self._next_s = math.inf  # when that ends

    def ask(self, now: Clock) -> Action:
        """What is next, once the controller has been told what is announced."""
        self._announce()
        return self._dialogue.ask(now)

    def _announce(self) -> None:
        """Tell what has been announced while training goes on, and wait for what is to be next."""
        now_s, strikes_s = self._work.now, self._cursor.next_s
        coming_s = math.inf
        if strikes_s not in (self._told_s, math.inf):
            drawn = self._draws.drawn(self._recovery.failures)
            if rules.r38_is_announced(drawn, self._recall):
                coming_s = strikes_s - self._lead_s
        if coming_s <= now_s:
            self._told_s, coming_s = strikes_s, math.inf
            hit = self._recovery.there(self._cursor.ahead())
            if hit.servers or hit.trainers:
                self._tell(strikes_s, hit)
        while self._draws.next_false_s <= now_s:
            deadline_s = self._draws.next_false_s + self._lead_s
            node = self._draws.move_on()
            if deadline_s > now_s:
                self._tell(deadline_s, Hit.of([node], self._servers))
        self._wait_until(min(coming_s, self._draws.next_false_s))

    def _tell(self, deadline_s: float, hit: Hit) -> None:
        nodes = Loss(frozenset(hit.servers), frozenset(hit.trainers), hit.severity)
        self._dialogue.tell(Notice(self._dialogue.now(), deadline_s, nodes, self._recovery.ready))

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
