"""What of the contract is carried out on real processes; the rest is refused before it starts."""

from collections.abc import Collection

from cprsim.contract import REMOTE, Copies, Plan, Recover
from cprsim.errors import RunError, ScenarioError


def check_plan(policy: str, plan: Plan, trainers: int = 1) -> None:
    """Raise `ScenarioError` where the plan of that policy can't be carried out."""
    lacks = []
    if plan.mirror is not None:
        lacks.append("states mirrored every step")
    known = {REMOTE.name, *([] if plan.copies is None else [plan.copies.tier])}
    others = [tier.name for tier in plan.tiers if tier.name not in known]
    if others:
        lacks.append(f"checkpoints in {', '.join(others)}")
    saves = [schedule.save for schedule in plan.schedules]
    if plan.copies is not None and not all(save.blocking for save in saves):
        lacks.append("saves in the background beside copies")
    if plan.copies is not None and trainers > 1:
        lacks.append("copies beside several trainers")
    if any(save.writes != 1 or save.reads != 1 for save in saves):
        lacks.append("checkpoints of another size than the rows they hold")
    if lacks:
        alone = ", replication" if trainers == 1 else "; replication needs cluster.trainers = 1"
        raise ScenarioError(
            f"policies.{policy}: {' and '.join(lacks)} can be simulated but not trained yet; "
            "choose one of full, partial, cpr-vanilla, cpr-mfu, cpr-ssu, cpr-scar, async, "
            f"accepted-loss{alone}"
        )


def check_answer(answer: Recover, servers: Collection[int], copies: Copies | None) -> None:
    """Raise `RunError` where that answer to a loss of servers can't be carried out."""
    known = {REMOTE.name, *([] if copies is None else [copies.tier])}
    anew = answer.rollback == "none" and servers
    if answer.healthy is not None or answer.source not in known or (anew and copies is None):
        raise RunError(f"{answer} can be simulated but not trained yet")
