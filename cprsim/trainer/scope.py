"""What of the contract is carried out on real processes; the rest is refused before it starts."""

from cprsim.contract import REMOTE, Plan, Recover
from cprsim.errors import RunError, ScenarioError


def check_plan(policy: str, plan: Plan) -> None:
    """Raise `ScenarioError` where the plan of that policy can't be carried out."""
    lacks = []
    if plan.mirror is not None:
        lacks.append("states mirrored every step")
    others = [tier.name for tier in plan.tiers if tier.name != REMOTE.name]
    if others:
        lacks.append(f"checkpoints in {', '.join(others)}")
    saves = [schedule.save for schedule in plan.schedules]
    if any(save.writes != 1 or save.reads != 1 for save in saves):
        lacks.append("checkpoints of another size than the rows they hold")
    if lacks:
        raise ScenarioError(
            f"policies.{policy}: {' and '.join(lacks)} can be simulated but not trained yet; "
            "choose one of full, partial, cpr-vanilla, cpr-mfu, cpr-ssu, cpr-scar, async, "
            "accepted-loss"
        )


def check_answer(answer: Recover) -> None:
    """Raise `RunError` where that answer to a failure can't be carried out."""
    if answer.healthy is not None or answer.source != REMOTE.name:
        raise RunError(f"{answer} can be simulated but not trained yet")
