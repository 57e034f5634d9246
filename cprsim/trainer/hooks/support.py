"""What of the contract hooks carry out in somebody else's loop; the rest is refused at the start.

A loop is stopped by nothing but its own calls: it can wait for a save, not have one beside it.
"""

from collections.abc import Callable, Mapping

from cprsim.contract import Plan, Recover
from cprsim.contract.needs import Need, check_needs, needs_of_answer, unmet
from cprsim.errors import RunError

_CAN: tuple[Need, ...] = ("controller", "schedules")


def check_hookable(policy: str, plan: Plan, plans: Callable[[], Mapping[str, Plan]]) -> None:
    """Raise `ScenarioError` where the plan of that policy, one of `plans`, can't be done."""
    check_needs(policy, plan, _CAN, "done by hooks", plans)


def check_return(answer: object) -> Recover:
    """The answer to a failure; raise `RunError` where hooks can't carry it out."""
    if not isinstance(answer, Recover):
        raise RunError(f"shards are lost, but the controller answered {answer}")
    if unmet(needs_of_answer(answer, servers=True), _CAN):
        raise RunError(f"{answer} can be simulated but not done by hooks")
    return answer
