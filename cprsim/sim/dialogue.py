"""What the job and the controller of its policy say to each other."""

from cprsim.contract import Clock, Controller, Failed, Loss, Recover
from cprsim.errors import RunError
from cprsim.sim.state import State
from cprsim.sim.work import Work


class Dialogue:
    """Asks and tells the controller, with the time of the run."""

    def __init__(self, controller: Controller, state: State, work: Work) -> None:
        self.tell, self.ask = controller.tell, controller.ask
        self._state, self._work = state, work

    def now(self) -> Clock:
        """Wall clock and progress."""
        return Clock(self._work.now, self._state.progress_s)

    def answer(self, loss: Loss) -> Recover:
        """What to do about a failure."""
        now = self.now()
        self.tell(Failed(now, loss))
        answer = self.ask(now)
        if not isinstance(answer, Recover):
            raise RunError(f"nodes have failed, but the controller answered {answer}")
        return answer
