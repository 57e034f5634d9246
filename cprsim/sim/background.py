"""Saves in the background, and what the job and the controller of its policy say to each other."""

from typing import NamedTuple

from cprsim.contract import Clock, Failed, Loss, Recover, Save, Stored, Void
from cprsim.sim.attempts import Attempts
from cprsim.sim.fabric import Flow
from cprsim.sim.limits import Limits
from cprsim.sim.observer import BackgroundTask
from cprsim.sim.resolved import ResolvedPlan
from cprsim.sim.state import Checkpoint, State
from cprsim.sim.work import Work


class Dialogue:
    """Asks and tells the controller, with the time of the run."""

    def __init__(self, resolved: ResolvedPlan, state: State, work: Work) -> None:
        controller = resolved.plan.start()
        self.tell, self.ask = controller.tell, controller.ask
        self._resolved, self._state, self._work = resolved, state, work

    def now(self) -> Clock:
        """Wall clock and progress."""
        return Clock(self._work.now, self._state.progress_s)

    def answer(self, loss: Loss) -> Recover:
        """What to do about a failure."""
        now = self.now()
        self.tell(Failed(now, loss))
        return self._resolved.checked_answer(self.ask(now), loss)


class _Pending(NamedTuple):
    save: Save
    taken: Checkpoint
    start_s: float


class BackgroundSaves:
    """Saves that go on while the job trains, until their last byte is stored."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        state: State,
        work: Work,
        dialogue: Dialogue,
        limits: Limits,
        attempts: Attempts,
    ) -> None:
        self._resolved, self._state, self._work = resolved, state, work
        self._dialogue, self._limits, self._attempts = dialogue, limits, attempts
        self._pending: dict[Flow, _Pending] = {}

    @property
    def saves(self) -> tuple[Save, ...]:
        """Those under way."""
        return tuple(each.save for each in self._pending.values())

    def start(self, save: Save, taken: Checkpoint) -> None:
        """Begin to store what was `taken`."""
        transfer, _ = self._resolved.save(save)
        flow = self._work.start(BackgroundTask("save", save.tier), transfer, self._land)
        self._pending[flow] = _Pending(save, taken, self._work.now)

    def holds(self, progress_s: float) -> bool:
        """Whether one of them is a checkpoint of everything that far."""
        return any(
            each.taken.progress_s >= progress_s and each.save.portion == 1.0
            for each in self._pending.values()
        )

    def abandon(self) -> None:
        """Give all of them up: nodes that are lost take their parts of each with them."""
        for flow in self._pending:
            self._work.abandon(flow)
        self._pending.clear()

    def _land(self, flow: Flow) -> None:
        save, taken, start_s = self._pending.pop(flow)
        self._state.wrote(*self._resolved.amount(save))
        if self._attempts.save_is_void(save, start_s, self._work.now):
            self._limits.vain()
            if self._resolved.plan.tries_again(save):
                self.start(save, taken)
            else:
                self._dialogue.tell(Void(self._dialogue.now(), save))
            return
        self._state.usable(taken, save, self._attempts.torn)
        self._dialogue.tell(Stored(self._dialogue.now(), save))
