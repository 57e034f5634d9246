"""What of the contract hooks carry out in somebody else's loop; the rest is refused at the start.

A loop is stopped by nothing but its own calls: it can wait for a save, not have one beside it.
"""

from cprsim.contract import REMOTE, Loss, Plan, Recover
from cprsim.errors import RunError, ScenarioError
from cprsim.trainer.coordinator.support import beyond_places, beyond_sizes, saves_in_background


def check_hookable(policy: str, plan: Plan) -> None:
    """Raise `ScenarioError` where the plan of that policy can't be carried out by hooks."""
    lacks = beyond_places(plan)
    if saves_in_background(plan):
        lacks.append("saves in the background")
    lacks += beyond_sizes(plan)
    if not _returns(plan.recover(Loss(frozenset({0}), frozenset()))):
        lacks.append("lost shards that come from elsewhere than checkpoints, or beside training")
    if lacks:
        raise ScenarioError(
            f"policies.{policy}: {' and '.join(lacks)} can be simulated but not done by hooks; "
            "choose one of full, partial, cpr-vanilla, cpr-mfu, cpr-ssu, cpr-scar"
        )


def check_return(answer: object) -> Recover:
    """The answer to a failure; raise `RunError` where hooks can't carry it out."""
    if not isinstance(answer, Recover):
        raise RunError(f"shards are lost, but the controller answered {answer}")
    if not _returns(answer):
        raise RunError(f"{answer} can be simulated but not done by hooks")
    return answer


def _returns(answer: Recover) -> bool:
    """Whether somebody returns to the last checkpoint, and the others wait for it."""
    return (
        answer.rollback != "none"
        and answer.source == REMOTE.name
        and answer.healthy is None
        and not answer.keep_training
    )
