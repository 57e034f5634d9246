"""Servers that the owner of the job withdraws for a while, one window after the other."""

from cprsim.contract import rules
from cprsim.sim.fabric import Flow
from cprsim.sim.recovery import Recovery
from cprsim.sim.resolved import ResolvedPlan
from cprsim.sim.starts import Attempted
from cprsim.sim.work import WAIT, Process, Work


class Withdrawals:
    """The windows of one run (semantics 39).

    `due`: whether servers are to go as soon as the job trains.
    """

    def __init__(
        self, resolved: ResolvedPlan, work: Work, recovery: Recovery, attempted: Attempted
    ) -> None:
        self.due = False
        self._windows = list(resolved.windows)
        self._work, self._recovery, self._attempted = work, recovery, attempted

    def await_next(self) -> None:
        """See to the next window when it comes, if there is one."""
        if not self._windows:
            return
        due_s, now_s = self._windows[0].due_s, self._work.now
        self.due = due_s <= now_s
        if not self.due:
            self._work.start(None, WAIT, self._come, due_s - now_s)

    def take(self) -> Process:
        """The rest goes on without the servers, or the job stops; a failure may come first."""
        window = self._windows[0]
        if rules.r39_left_s(window.until_s, self._work.now):
            leaving = self._recovery.who_may_leave(window.servers)
            if leaving is None:
                self._attempted.stop(window.until_s)
            elif not (yield from self._recovery.withdraw(leaving, window.until_s)):
                return
        del self._windows[0]
        self.due = False
        if not self._attempted.stops:  # else when it goes on
            self.await_next()

    def _come(self, _flow: Flow) -> None:
        self.due = True
