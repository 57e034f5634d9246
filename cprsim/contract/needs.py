"""Needs of plans, saves and answers that this project's hooks in a training loop do not meet.

The hooks carry out any controller and schedules, saves in the background and of modified rows, and
lost shards that twins fill.
"""

from typing import Final, Literal

from cprsim.contract.actions import ALL_BITS, Loss, Recover, Save
from cprsim.contract.plan import Plan
from cprsim.job.severity import SEVERITIES
from cprsim.job.tiers import REMOTE
from cprsim.rows.names import BY_USE

_NOBODY, _ONE = frozenset[int](), frozenset({0})
_LOSSES = [
    Loss(servers, trainers, severity)
    for servers, trainers in ((_ONE, _NOBODY), (_NOBODY, _ONE), (_ONE, _ONE))
    for severity in SEVERITIES
]
#: The kind of trainer that a plan needs, from the least to the most.
TrainerNeed = Literal["any", "background", "partial", "own"]
#: Each of them in words.
TRAINER_NEEDS: Final[dict[TrainerNeed, str]] = {
    "any": "any loop with checkpoints",
    "background": "a loop that saves in the background",
    "partial": "a loop that keeps healthy shards after a failure",
    "own": "a trainer of one's own",
}


def trainer_need(plan: Plan) -> TrainerNeed:
    """Return the kind of trainer that a plan needs.

    `"any"`: a loop that saves, stops and loads everything. `"background"`: one that trains while a
    save is written (PyTorch's DCP, `async_save`). `"partial"`: one that loads lost shards alone and
    keeps the healthy ones; TorchRec's and others do with this project's hooks. `"own"`: whatever
    hooks do not carry out, such as training on without a shard, or copies, parities or checkpoints
    on other servers.
    """
    if needs_of(plan):
        return "own"
    if plan.live_tiers or any(plan.recover(loss).rollback != "all" for loss in _LOSSES):
        return "partial"
    return "any" if all(each.save.blocking for each in plan.schedules) else "background"


def deployment_fault(plan: Plan) -> str | None:
    """Return the needs of a plan that common trainers do not meet, or None.

    Common are loops with checkpoints, blocking or in the background (DCP), and loops with this
    project's hooks, TorchRec's among them.
    """
    lacks = needs_of(plan)
    return f"needs {TRAINER_NEEDS['own']}: {' and '.join(lacks)}" if lacks else None


def needs_of(plan: Plan, twins: bool = True) -> list[str]:
    """Return the needs of a plan, and of its answers to the loss of a server, a trainer, both.

    `twins`: whether twins can fill lost shards.
    """
    redundancy, tracking = plan.redundancy, plan.tracking
    found: dict[str, str] = {}
    if redundancy is not None:
        held = "copies" if redundancy.data == 1 else "parities"
        found[held] = f"{held} on other servers"
    for loss in _LOSSES:
        found |= needs_of_answer(plan.recover(loss), loss, plan)
    places = [tier.name for tier in plan.tiers if tier.name not in _known(plan)]
    chosen = tracking is None or tracking.tracker in BY_USE
    found |= _asked(
        mirror=(plan.mirror, "states mirrored every step"),
        places=(places, f"checkpoints in {', '.join(places)}"),
        twins=(plan.live_tiers and not twins, "lost shards filled by twins"),
        verification=(plan.verifies, "verification of what is trained"),
        notices=(plan.on_notice, "answers to notices of failures"),
        checksums=(plan.checksum, "saves that are checked"),
        trackers=(not chosen, f"rows chosen by {tracking and tracking.tracker!r}"),
    )
    for schedule in plan.schedules:
        for need, words in needs_of_save(schedule.save, plan).items():
            found.setdefault(need, words)  # the plan's words name all of its places
    return list(found.values())


def needs_of_save(save: Save, plan: Plan) -> dict[str, str]:
    """Return the needs of a save by that plan, by kind."""
    # The trainer sees how many rows were modified, or how many a tracker finds to choose.
    chosen = plan.tracking is not None
    resized = not save.expects and not chosen and (save.writes != 1 or save.reads != 1)
    return _asked(
        places=(save.tier not in _known(plan), f"checkpoints in {save.tier}"),
        sizes=(
            resized and save.tier not in plan.live_tiers,
            "checkpoints of another size than the rows they hold",
        ),
        portions=(save.leaves and not chosen, "saves of rows that no tracker chooses"),
        bits=(save.bits < ALL_BITS, f"rows stored in {save.bits} bits an element"),
    )


def needs_of_answer(answer: Recover, loss: Loss, plan: Plan) -> dict[str, str]:
    """Return the needs of an answer of that plan to a loss, by kind."""
    named = {answer.source, answer.healthy or REMOTE.name, answer.regrow or REMOTE.name}
    places = named.difference(_known(plan))
    rebuilds = answer.made_anew and loss.servers and plan.redundancy is None
    return _asked(
        places=(places, f"checkpoints in {', '.join(sorted(places))}"),
        rebuilding=(rebuilds, "lost shards rebuilt from copies"),
        fewer_servers=(answer.regrow, "training with fewer servers"),
        training_on=(answer.keep_training, "training while lost nodes are replaced"),
    )


def _asked(**needs: tuple[object, str]) -> dict[str, str]:
    """Return the words of each need that there is."""
    return {need: words for need, (asks, words) in needs.items() if asks}


def _known(plan: Plan) -> tuple[str, ...]:
    """Tiers that are no places of their own: the store, and what servers hold."""
    redundancy = plan.redundancy
    return (REMOTE.name, *plan.live_tiers, *(() if redundancy is None else (redundancy.tier,)))
