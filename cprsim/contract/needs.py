"""What plans and answers need of who carries them out, beyond blocking saves to the remote store.

An interpreter says which needs it meets. What it doesn't know, it refuses.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Literal, NamedTuple

from cprsim.contract.actions import ALL_BITS, Loss, Recover
from cprsim.contract.plan import Plan, Redundancy
from cprsim.errors import RunError, ScenarioError
from cprsim.failures.hit import SEVERITIES
from cprsim.job.tiers import REMOTE

# fmt: off
Need = Literal[
    "controller", "schedules", "mirror", "places", "sizes", "differences", "bits", "background",
    "copies", "parities", "several parities", "copies and background", "copies and trainers",
    "copies and differences",
    "twins", "rebuilding", "training on", "verification", "checksums", "fewer servers", "notices",
]
# fmt: on
_Plans = Callable[[], Mapping[str, Plan]]
_NOBODY, _ONE = frozenset[int](), frozenset({0})
_LOSSES = [
    Loss(servers, trainers, severity)
    for servers, trainers in ((_ONE, _NOBODY), (_NOBODY, _ONE), (_ONE, _ONE))
    for severity in SEVERITIES
]
#: Each need in words, for refusals.
Needs = dict[Need, str]


def needs_of(plan: Plan, trainers: int = 1) -> Needs:
    """Of a plan, and of what it answers to the loss of a server, of a trainer, of both."""
    twins = plan.live_tiers
    held = twins if plan.redundancy is None else (*twins, plan.redundancy.tier)
    places = [tier.name for tier in plan.tiers if tier.name not in (REMOTE.name, *held)]
    saves = [schedule.save for schedule in plan.schedules]
    own = type(plan).start is not Plan.start or plan.sequence is not None
    # How many rows were modified, or a tracker finds to choose, whoever carries it out sees.
    chosen = plan.tracking is not None
    resized = any(
        not save.expects and ((save.writes != 1 and not chosen) or save.reads != 1)
        for save in saves
        if save.tier not in twins  # nothing is stored
    )
    fewest = min((save.bits for save in saves), default=ALL_BITS)
    background = any(not save.blocking for save in saves)
    asked: dict[Need, tuple[object, str]] = {
        "controller": (own, "a controller that decides while the job runs"),
        "schedules": (len(saves) != 1, f"{len(saves)} schedules of saves"),
        "mirror": (plan.mirror, "states mirrored every step"),
        "places": (places, f"checkpoints in {', '.join(places)}"),
        "twins": (twins, "lost shards filled by twins"),
        "sizes": (resized, "checkpoints of another size than the rows they hold"),
        "differences": (plan.tells_modified, "saves of modified rows alone"),
        "bits": (fewest < ALL_BITS, f"rows stored in {fewest} bits an element"),
        "background": (background, "saves in the background"),
        "verification": (plan.verifies, "verification of what is trained"),
        "notices": (plan.on_notice, "answers to notices of failures"),
        "checksums": (plan.checksum, "saves that are checked"),
    }
    found: Needs = {}
    if plan.redundancy is not None:
        found = _of_redundancy(plan.redundancy)
        kind = "copies" if plan.redundancy.data == 1 else "parities"
        asked |= {
            "copies and background": (background, f"saves in the background beside {kind}"),
            "copies and differences": (
                plan.tells_modified,
                f"saves of modified rows alone beside {kind}",
            ),
            "copies and trainers": (
                trainers > 1,
                f"{kind} beside several trainers (cluster.trainers = {trainers})",
            ),
        }
    for loss in _LOSSES:
        found |= needs_of_answer(plan.recover(loss), loss.servers, plan.redundancy, twins)
    return found | {need: words for need, (asks, words) in asked.items() if asks}


def _of_redundancy(redundancy: Redundancy) -> Needs:
    if redundancy.data == 1:
        return {"copies": "copies on other servers"}
    if redundancy.parity == 1:
        return {"parities": "parities on other servers"}
    return {"several parities": f"parities, {redundancy.parity} of each group"}


def needs_of_answer(
    answer: Recover,
    servers: object,
    redundancy: Redundancy | None = None,
    twins: Collection[str] = (),
) -> Needs:
    """Of the answer to a failure that took `servers`, if any, of shards with such redundancy.

    `twins`: the tiers that are live.
    """
    known = (REMOTE.name, None if redundancy is None else redundancy.tier, *twins)
    named = {answer.source, answer.healthy or REMOTE.name, answer.regrow or REMOTE.name}
    places = named.difference(known)
    anew = answer.made_anew and servers
    asked: dict[Need, tuple[object, str]] = {
        "places": (places, f"checkpoints in {', '.join(sorted(places))}"),
        "rebuilding": (anew and redundancy is None, "lost shards made anew"),
        "fewer servers": (answer.regrow, "training with fewer servers"),
        "training on": (answer.keep_training, "training while lost nodes are replaced"),
    }
    return {need: words for need, (asks, words) in asked.items() if asks}


class Interpreter(NamedTuple):
    """Whoever carries plans out: the needs that it meets, and what it hasn't done with others."""

    meets: tuple[Need, ...]
    done: str = ""

    def lacks(self, needs: Needs) -> list[str]:
        """What is needed and not met, in words."""
        return [words for need, words in needs.items() if need not in self.meets]

    def check_plan(self, policy: str, plan: Plan, plans: _Plans, trainers: int = 1) -> None:
        """Raise `ScenarioError` where the plan of that policy can't be carried out.

        `plans`: those of the scenario, of which the error names the ones that can be.
        """
        lacks = self.lacks(needs_of(plan, trainers))
        if lacks:
            able = [k for k, each in plans().items() if not self.lacks(needs_of(each, trainers))]
            raise ScenarioError(
                f"policies.{policy}: {' and '.join(lacks)} can be simulated but not {self.done}; "
                + (f"choose one of {', '.join(able)}" if able else "add a policy that needs less")
            )

    def check_answer(
        self,
        answer: object,
        servers: object = True,
        redundancy: Redundancy | None = None,
        twins: Collection[str] = (),
    ) -> Recover:
        """The answer to a failure; raise `RunError` where it can't be carried out."""
        if not isinstance(answer, Recover):
            raise RunError(f"nodes have failed, but the controller answered {answer}")
        if self.lacks(needs_of_answer(answer, servers, redundancy, twins)):
            raise RunError(f"{answer} can be simulated but not {self.done}")
        return answer
