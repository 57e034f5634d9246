"""Needs of plans, saves and answers, beyond blocking saves of everything.

An `Interpreter` says which needs it meets. What it doesn't know, it refuses.
"""

from collections.abc import Sequence
from typing import Final, Literal

from cprsim.contract.actions import ALL_BITS, Loss, Recover, Save
from cprsim.contract.plan import Plan, Redundancy
from cprsim.job.severity import SEVERITIES
from cprsim.job.tiers import REMOTE
from cprsim.rows.names import BY_USE

# fmt: off
Need = Literal[
    "controller", "schedules", "mirror", "places", "sizes", "differences", "bits", "background",
    "portions", "trackers", "copies", "parities",
    "twins", "rebuilding", "training on", "verification", "checksums", "fewer servers", "notices",
]
# fmt: on
_NOBODY, _ONE = frozenset[int](), frozenset({0})
_LOSSES = [
    Loss(servers, trainers, severity)
    for servers, trainers in ((_ONE, _NOBODY), (_NOBODY, _ONE), (_ONE, _ONE))
    for severity in SEVERITIES
]
#: Each need in words, for refusals.
Needs = dict[Need, str]
#: Needs that a trainer meets with this project's hooks in its loop.
WITH_HOOKS: Final[tuple[Need, ...]] = (
    "controller",
    "schedules",
    "background",
    "twins",
    "differences",
)
#: Needs of a whole plan, from the least to the most.
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
    needs = needs_of(plan)
    if unmet(needs, WITH_HOOKS):
        return "own"
    if "twins" in needs or any(plan.recover(loss).rollback != "all" for loss in _LOSSES):
        return "partial"
    return "background" if "background" in needs else "any"


def deployment_fault(plan: Plan) -> str | None:
    """Return the needs of a plan that common trainers do not meet, or None.

    Common are loops with checkpoints, blocking or in the background (DCP), and loops with this
    project's hooks, TorchRec's among them.
    """
    lacks = unmet(needs_of(plan), WITH_HOOKS)
    return f"needs {TRAINER_NEEDS['own']}: {' and '.join(lacks)}" if lacks else None


def unmet(needs: Needs, meets: Sequence[Need]) -> list[str]:
    """Return the needs, in words, that are not among those that somebody meets."""
    return [words for need, words in needs.items() if need not in meets]


def needs_of(plan: Plan) -> Needs:
    """Return the needs of a plan, and of its answers to the loss of a server, a trainer, both."""
    twins, tracking = plan.live_tiers, plan.tracking
    places = [tier.name for tier in plan.tiers if tier.name not in _known(plan)]
    saves = [schedule.save for schedule in plan.schedules]
    own = type(plan).start is not Plan.start or plan.sequence is not None
    asked: dict[Need, tuple[object, str]] = {
        "controller": (own, "a controller that decides while the job runs"),
        "schedules": (len(saves) != 1, f"{len(saves)} schedules of saves"),
        "mirror": (plan.mirror, "states mirrored every step"),
        "places": (places, f"checkpoints in {', '.join(places)}"),
        "twins": (twins, "lost shards filled by twins"),
        "verification": (plan.verifies, "verification of what is trained"),
        "notices": (plan.on_notice, "answers to notices of failures"),
        "checksums": (plan.checksum, "saves that are checked"),
    }
    if tracking is not None:
        asked["trackers"] = tracking.tracker not in BY_USE, f"rows chosen by {tracking.tracker!r}"
    found: Needs = {}
    if plan.redundancy is not None:
        found = _of_redundancy(plan.redundancy)
    for loss in _LOSSES:
        found |= needs_of_answer(plan.recover(loss), loss.servers, plan)
    found |= {need: words for need, (asks, words) in asked.items() if asks}
    for save in saves:
        for need, words in needs_of_save(save, plan).items():
            found.setdefault(need, words)  # the plan's words name all of its places
    return found


def needs_of_save(save: Save, plan: Plan) -> Needs:
    """Return the needs of a save by that plan."""
    # How many rows were modified, or a tracker finds to choose, whoever carries it out sees.
    chosen = plan.tracking is not None
    resized = not save.expects and not chosen and (save.writes != 1 or save.reads != 1)
    stored = save.tier not in plan.live_tiers
    asked: dict[Need, tuple[object, str]] = {
        "places": (save.tier not in _known(plan), f"checkpoints in {save.tier}"),
        "sizes": (resized and stored, "checkpoints of another size than the rows they hold"),
        "portions": (save.leaves and not chosen, "saves of rows that no tracker chooses"),
        "differences": (save.since is not None, "saves of modified rows alone"),
        "bits": (save.bits < ALL_BITS, f"rows stored in {save.bits} bits an element"),
        "background": (not save.blocking, "saves in the background"),
    }
    return {need: words for need, (asks, words) in asked.items() if asks}


def _known(plan: Plan) -> tuple[str, ...]:
    """Tiers that are no places of their own: the store, and what servers hold."""
    redundancy = plan.redundancy
    return (REMOTE.name, *plan.live_tiers, *(() if redundancy is None else (redundancy.tier,)))


def _of_redundancy(redundancy: Redundancy) -> Needs:
    if redundancy.data == 1:
        return {"copies": "copies on other servers"}
    return {"parities": "parities on other servers"}


def needs_of_answer(answer: Recover, servers: object, plan: Plan) -> Needs:
    """Return the needs of an answer of that plan to a failure that took `servers`, if any."""
    named = {answer.source, answer.healthy or REMOTE.name, answer.regrow or REMOTE.name}
    places = named.difference(_known(plan))
    anew = answer.made_anew and servers
    asked: dict[Need, tuple[object, str]] = {
        "places": (places, f"checkpoints in {', '.join(sorted(places))}"),
        "rebuilding": (anew and plan.redundancy is None, "lost shards rebuilt from copies"),
        "fewer servers": (answer.regrow, "training with fewer servers"),
        "training on": (answer.keep_training, "training while lost nodes are replaced"),
    }
    return {need: words for need, (asks, words) in asked.items() if asks}
