"""The parts of the contract that a training loop carries out, and the checks before it does.

A loop is stopped by nothing but its own calls: it can wait for a save, or have it written in the
background. The lab has hooks in several processes, which would differ on what a controller goes
by that looks at the clock, and no groups that hold the same rows.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cprsim.contract import Clock, Failed, Loss, Plan, Recover, Save, Train
from cprsim.contract.checks import STUCK, answer_flaw, save_flaw, stuck
from cprsim.contract.needs import needs_of, needs_of_answer, needs_of_save
from cprsim.errors import RunError, ScenarioError


class Loop(NamedTuple):
    """A loop that carries plans out.

    `done`: says what it does with plans, for refusals. `twins`: whether twins can fill lost shards.
    """

    done: str
    twins: bool

    def lacks(self, plan: Plan) -> list[str]:
        """Return what the plan needs and the loop doesn't have, in words."""
        return needs_of(plan, self.twins)

    def check_plan(self, policy: str, plan: Plan, plans: Callable[[], Mapping[str, Plan]]) -> None:
        """Raise `ScenarioError` where the plan of that policy can't be carried out.

        `plans`: those of the scenario, of which the error names the ones that can be.
        """
        lacks = self.lacks(plan)
        if lacks:
            able = [name for name, each in plans().items() if not self.lacks(each)]
            raise ScenarioError(
                f"policies.{policy}: {' and '.join(lacks)} can be simulated but not {self.done}; "
                + (f"choose one of {', '.join(able)}" if able else "add a policy that needs less")
            )

    def start(self, plan: Plan) -> "CheckedController":
        """Return the plan's controller, of which nothing is taken that can't be carried out."""
        return CheckedController(plan, self.done)


LAB = Loop("trained yet", twins=False)
HOOKS = Loop("done by hooks", twins=True)


class CheckedController:
    """A controller whose actions are checked: they must be sound, and possible in a loop.

    `ask` and `answer` raise `RunError` where one isn't.
    """

    def __init__(self, plan: Plan, done: str) -> None:
        self._plan, self._done, self._controller = plan, done, plan.start()
        self._saves, self._asked_s = 0, -1.0  # in a row at that progress
        self.tell = self._controller.tell

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
        self.tell(Failed(now, loss))
        answer = self._controller.ask(now)
        flaw = answer_flaw(answer, loss, self._plan)
        if flaw:
            raise RunError(f"the controller answered a failure {flaw}")
        assert isinstance(answer, Recover)
        self._check(needs_of_answer(answer, loss, self._plan), answer)
        return answer

    def _check(self, needs: dict[str, str], said: Save | Recover) -> None:
        if needs:
            lacks = " and ".join(needs.values())
            raise RunError(f"{lacks} can be simulated but not {self._done}: {said}")
