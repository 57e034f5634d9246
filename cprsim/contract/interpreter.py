"""Interpreters carry plans out on real processes; the needs of a plan are checked before.

The simulator carries all out, and checks what controllers say where it does.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cprsim.contract.actions import Clock, Event, Failed, Loss, Recover, Save, Train
from cprsim.contract.checks import answer_flaw, save_flaw
from cprsim.contract.needs import Need, Needs, needs_of, needs_of_answer, needs_of_save, unmet
from cprsim.contract.plan import Plan
from cprsim.errors import RunError, ScenarioError

#: Saves in a row, without training between them, after which a controller is taken to be stuck.
STUCK = 100
_Plans = Callable[[], Mapping[str, Plan]]


class Interpreter(NamedTuple):
    """Whoever carries plans out: the needs that it meets, and what it hasn't done with others."""

    meets: tuple[Need, ...]
    done: str = ""

    def lacks(self, needs: Needs) -> list[str]:
        """Return the needs that are not met, in words."""
        return unmet(needs, self.meets)

    def check_plan(self, policy: str, plan: Plan, plans: _Plans) -> None:
        """Raise `ScenarioError` where the plan of that policy can't be carried out.

        `plans`: those of the scenario, of which the error names the ones that can be.
        """
        lacks = self.lacks(needs_of(plan))
        if lacks:
            able = [k for k, each in plans().items() if not self.lacks(needs_of(each))]
            raise ScenarioError(
                f"policies.{policy}: {' and '.join(lacks)} can be simulated but not {self.done}; "
                + (f"choose one of {', '.join(able)}" if able else "add a policy that needs less")
            )

    def start(self, plan: Plan) -> "CheckedController":
        """The plan's controller, of which nothing is taken that can't be carried out."""
        return CheckedController(plan, self)


def stuck(now: Clock) -> str:
    """Return the fault of a controller that chooses `STUCK` saves in a row."""
    return (
        f"the controller asks for save after save at progress {now.progress_s} s and never trains; "
        "after Saved it must answer Train"
    )


class CheckedController:
    """A controller whose actions are checked: they must be sound, and possible here.

    `ask` and `answer` raise `RunError` where it isn't.
    """

    def __init__(self, plan: Plan, interpreter: Interpreter) -> None:
        self._plan, self._interpreter, self._controller = plan, interpreter, plan.start()
        self._saves, self._asked_s = 0, -1.0  # in a row at that progress

    def tell(self, event: Event) -> None:
        """Something has happened."""
        self._controller.tell(event)

    def ask(self, now: Clock) -> Train | Save:
        """Return the next action where nothing has failed."""
        action = self._controller.ask(now)
        here = isinstance(action, Save) and now.progress_s == self._asked_s
        self._saves, self._asked_s = self._saves + 1 if here else 0, now.progress_s
        if self._saves >= STUCK:
            raise RunError(stuck(now))
        if isinstance(action, Save):
            flaw = save_flaw(action, self._plan)
            if flaw:
                raise RunError(f"the controller requested a save {flaw}")
            self._check(needs_of_save(action, self._plan), action)
        elif not isinstance(action, Train):
            raise RunError(f"nothing has failed, but the controller answered {action}")
        return action

    def answer(self, now: Clock, loss: Loss) -> Recover:
        """Return the answer to the present loss."""
        self._controller.tell(Failed(now, loss))
        answer = self._controller.ask(now)
        flaw = answer_flaw(answer, loss, self._plan)
        if flaw:
            raise RunError(f"the controller answered a failure {flaw}")
        assert isinstance(answer, Recover)
        self._check(needs_of_answer(answer, loss.servers, self._plan), answer)
        return answer

    def _check(self, needs: Needs, said: Save | Recover) -> None:
        lacks = self._interpreter.lacks(needs)
        if lacks:
            raise RunError(
                f"{' and '.join(lacks)} can be simulated but not {self._interpreter.done}: {said}"
            )
