"""What of the contract is carried out on real processes; the rest is refused before it starts."""

from collections.abc import Callable, Collection, Mapping

from cprsim.contract import Copies, Plan, Recover
from cprsim.contract.needs import Need, check_needs, needs_of_answer, unmet
from cprsim.errors import RunError

_CAN: tuple[Need, ...] = ("controller", "schedules", "background", "copies", "training on")


def check_plan(
    policy: str, plan: Plan, trainers: int, plans: Callable[[], Mapping[str, Plan]]
) -> None:
    """Raise `ScenarioError` where the plan of that policy, one of `plans`, can't be carried out."""
    check_needs(policy, plan, _CAN, "trained yet", plans, trainers)


def check_answer(answer: Recover, servers: Collection[int], copies: Copies | None) -> None:
    """Raise `RunError` where that answer to a loss of servers can't be carried out."""
    if unmet(needs_of_answer(answer, servers, copies), _CAN):
        raise RunError(f"{answer} can be simulated but not trained yet")
