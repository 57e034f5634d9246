"""What of the contract is carried out on real processes; the rest is refused before it starts."""

from collections.abc import Collection

from cprsim.contract import REMOTE, Copies, Plan, Recover
from cprsim.errors import RunError, ScenarioError


def check_plan(policy: str, plan: Plan, trainers: int = 1) -> None:
    """Raise `ScenarioError` where the plan of that policy can't be carried out."""
    lacks = beyond_places(plan, () if plan.copies is None else (plan.copies.tier,))
    if plan.copies is not None and saves_in_background(plan):
        lacks.append("saves in the background beside copies")
    if plan.copies is not None and trainers > 1:
        lacks.append("copies beside several trainers")
    lacks += beyond_sizes(plan)
    if lacks:
        alone = ", replication" if trainers == 1 else "; replication needs cluster.trainers = 1"
        raise ScenarioError(
            f"policies.{policy}: {' and '.join(lacks)} can be simulated but not trained yet; "
            "choose one of full, partial, cpr-vanilla, cpr-mfu, cpr-ssu, cpr-scar, async, "
            f"accepted-loss{alone}"
        )


def beyond_places(plan: Plan, known: Collection[str] = ()) -> list[str]:
    """What the plan keeps elsewhere than in the remote store, and in tiers that are `known`."""
    lacks = [] if plan.mirror is None else ["states mirrored every step"]
    others = [tier.name for tier in plan.tiers if tier.name not in (REMOTE.name, *known)]
    return [*lacks, f"checkpoints in {', '.join(others)}"] if others else lacks


def beyond_sizes(plan: Plan) -> list[str]:
    """What the plan saves that is more or less than rows as they are."""
    saves = (schedule.save for schedule in plan.schedules)
    other = any(save.writes != 1 or save.reads != 1 for save in saves)
    return ["checkpoints of another size than the rows they hold"] if other else []


def saves_in_background(plan: Plan) -> bool:
    """Whether training goes on while some save is under way."""
    return any(not schedule.save.blocking for schedule in plan.schedules)


def check_answer(answer: Recover, servers: Collection[int], copies: Copies | None) -> None:
    """Raise `RunError` where that answer to a loss of servers can't be carried out."""
    known = {REMOTE.name, *([] if copies is None else [copies.tier])}
    anew = answer.rollback == "none" and servers
    if answer.healthy is not None or answer.source not in known or (anew and copies is None):
        raise RunError(f"{answer} can be simulated but not trained yet")
