"""What the job and the controller of its policy say to each other."""

from cprsim.contract import Action, Clock, Controller, Event, Failed, Loss, Recover
from cprsim.errors import RunError
from cprsim.sim.state import State
from cprsim.sim.work import Work


class Dialogue:
    """Asks and tells the controller, with the time of the run."""

    def __init__(self, controller: Controller, state: State, work: Work) -> None:
        self.tell = controller.tell
        self._ask = controller.ask
        self._state, self._work = state, work
        self._last = Clock(0.0, 0.0)  # asking and telling at one instant share it

    def now(self) -> Clock:
        """Wall clock and progress."""
        last, wall_s, progress_s = self._last, self._work.now, self._state.progress_s
        if last.wall_s != wall_s or last.progress_s != progress_s:
            last = self._last = Clock(wall_s, progress_s)
        return last

    def ask(self) -> Action:
        """What to do next."""
        return self._ask(self.now())

    def answer(self, loss: Loss) -> Recover:
        """What to do about a failure."""
        event: Event = Failed(self.now(), loss)
        self.tell(event)
        answer = self.ask()
        if not isinstance(answer, Recover):
            raise RunError(f"nodes have failed, but the controller answered {answer}")
        return answer
