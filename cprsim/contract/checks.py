"""Checks of plans that policies return, and of actions that their controllers choose.

What it costs is checked with the job.
"""

import math
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, get_args

from cprsim.contract.actions import ALL_BITS, Clock, Loss, Recover, Save, Since
from cprsim.contract.answers import Answers
from cprsim.contract.plan import (
    VARIANTS,
    Chains,
    Differences,
    Growing,
    Learned,
    Mirror,
    Plan,
    Redundancy,
    Rotation,
    Rotations,
    Schedule,
    Sequence,
    Verification,
)
from cprsim.job.costs import Rollback
from cprsim.job.derived import OwnCost
from cprsim.job.severity import SEVERITIES
from cprsim.job.tiers import Medium, Tier

#: Saves in a row, without training between them, after which a controller is taken to be stuck.
STUCK = 100
_RECOVERIES = ("full", "partial", "replica", "parity")
_ROLLBACKS = get_args(Rollback)
_MEDIA = get_args(Medium)
_SEQUENCES = get_args(Sequence)
_SINCE = (None, *get_args(Since))
_NUMBERS = ("slowdown", "peer_bytes_per_s", "memory_overhead")
_OF_SAVE = ("writes", "reads", "extra_s")
_OF_ANSWER = ("reads", "degraded", "takeover_s", "pause_s")


def flaw_of(plan: Any, loss: Loss) -> str:
    """Return the flaw of a plan, to follow "returned"; empty for a sound one.

    `loss`: one that its job can have.
    """
    if not isinstance(plan, Plan):
        return f"{_shown(plan)}, no cprsim.Plan"
    flaw = next(_flaws(plan, loss), "")
    return flaw and f"a plan {flaw}"


def save_flaw(save: Any, plan: Plan) -> str:
    """Return the flaw of a save by that plan, to follow "a save"; empty for a sound one."""
    return next(_save_flaws(save, plan), "")


def answer_flaw(answer: Any, loss: Loss, plan: Plan) -> str:
    """Return the flaw of an answer to a loss, to follow that loss; empty for a sound one.

    `plan`: that of who answers.
    """
    if not isinstance(answer, Recover):
        return f"with {_shown(answer)}, no Recover"
    flaw = next(_answer_flaws(answer, loss, plan), "")
    return flaw and f"with a Recover {flaw}"


def stuck(now: Clock) -> str:
    """Return the fault of a controller that chooses `STUCK` saves in a row."""
    return (
        f"the controller asks for save after save at progress {now.progress_s} s and never trains; "
        "after Saved it must answer Train"
    )


def _flaws(plan: Plan, loss: Loss) -> Iterator[str]:
    """Yield the flaws of a plan; later checks count on earlier ones."""
    if plan.recovery not in _RECOVERIES:
        yield f"whose recovery is {_shown(plan.recovery)}, none of {', '.join(_RECOVERIES)}"
    if not _all_of(plan.tiers, Tier) or not plan.tiers:
        yield f"whose tiers are {_shown(plan.tiers)}, no tuple of tiers"
    if not _all_of(plan.schedules, Schedule):
        yield f"whose schedules are {_shown(plan.schedules)}, no tuple of schedules"
    if not _all_of(plan.own_costs, OwnCost):
        yield f"whose own_costs are {_shown(plan.own_costs)}, no tuple of OwnCost"
    if not callable(plan.recover):
        yield f"whose recover is {_shown(plan.recover)}, nothing to be called"
    yield from _tier_flaws(plan)
    for each in plan.schedules:
        yield from _schedule_flaws(each, plan)
    yield from _order_flaws(plan)
    yield from _number_flaws(plan, _NUMBERS)
    for name, least, value in (("keep", 1, plan.keep), ("spares", 0, plan.spares or 0)):
        yield from _whole_flaws(name, least, value)
    yield from _held_flaws(plan)
    yield from _verification_flaws(plan.verifies)
    if not callable(getattr(plan.sequence, "controller", None)):
        yield from _sequence_flaws(plan.sequence, plan)
    for answer, to in ((plan.recover(loss), loss), *_other_answers(plan)):
        flaw = answer_flaw(answer, to, plan)
        if flaw:
            yield f"that answers a loss {flaw}"
    for case in plan.recover.cases if isinstance(plan.recover, Answers) else ():
        if not set(SEVERITIES).issuperset(case.severities):
            known = ", ".join(SEVERITIES)
            yield f"with a case whose severities are {_shown(case.severities)}, not of {known}"


def _other_answers(plan: Plan) -> Iterator[tuple[Any, Loss]]:
    """Yield the answers of its cases and of what is learned, each to a loss that it is for."""
    nothing = Loss(frozenset(), frozenset())
    for case in plan.recover.cases if isinstance(plan.recover, Answers) else ():
        # A case for any number of servers may be left with losses of none.
        yield case.answer, Loss(frozenset({0}), frozenset()) if case.servers[0] > 0 else nothing
    if isinstance(plan.sequence, Learned) and plan.sequence.accepted is not None:
        yield plan.sequence.accepted.partial, nothing
        yield plan.sequence.accepted.full, nothing


def _tier_flaws(plan: Plan) -> Iterator[str]:
    names = [tier.name for tier in plan.tiers]
    for tier in plan.tiers:
        if names.count(tier.name) > 1:
            yield f"with {names.count(tier.name)} tiers {tier.name!r}; give each its own name"
        if tier.medium not in _MEDIA:
            yield f"with a tier whose medium is {_shown(tier.medium)}, none of {', '.join(_MEDIA)}"
        times, rates = (
            [name for name in names if getattr(tier, name) is not None]
            for names in (("snapshot_s", "save_s", "load_s"), ("write", "read"))
        )
        for flaw in (*_number_flaws(tier, times), *_positive_flaws(tier, rates)):
            yield f"with a tier {flaw}"


def _held_flaws(plan: Plan) -> Iterator[str]:
    """Yield the flaws of what is held without saves: steps that are mirrored, copies, parities."""
    mirror, redundancy = plan.mirror, plan.redundancy
    for each, kind in ((mirror, Mirror), (redundancy, Redundancy)):
        if each is None:
            continue
        if not isinstance(each, kind):
            yield f"whose {kind.__name__.lower()} is {_shown(each)}, no {kind.__name__}"
        if each.tier not in [tier.name for tier in plan.tiers]:
            yield f"with a {kind.__name__} in {_shown(each.tier)}, none of its tiers"
    if mirror is not None:
        yield from _positive_flaws(mirror, ("step_s",))
        yield from _whole_flaws("mirror.behind", 0, mirror.behind)
    if redundancy is not None:
        yield from _whole_flaws("redundancy.data", 1, redundancy.data)
        yield from _whole_flaws("redundancy.parity", 0, redundancy.parity)


def _verification_flaws(verifies: Any) -> Iterator[str]:
    if verifies is None:
        return
    if not isinstance(verifies, Verification):
        yield f"whose verifies is {_shown(verifies)}, no Verification"
    yield from _whole_flaws("verifies.every", 1, verifies.every)
    yield from _number_flaws(verifies, ("takes_s",))


def _sequence_flaws(law: Any, plan: Plan) -> Iterator[str]:
    """Yield the flaws of a sequence that is data."""
    if law is None:
        return
    if not isinstance(law, _SEQUENCES):
        known = ", ".join(each.__name__ for each in _SEQUENCES)
        yield f"whose sequence is {_shown(law)}, none of {known}, and has no method controller"
    count = len(plan.schedules)
    if isinstance(law, Growing | Learned | Differences) and count != 1:
        yield f"with {count} schedules, where {type(law).__name__} is for one"
    match law:
        case Chains():
            yield from _chain_flaws(law.chains, plan)
        case Rotations():
            if not _all_of(law.rotations, Rotation) or not law.rotations:
                yield f"whose rotations are {_shown(law.rotations)}, no tuple of them"
            saves = [save for each in law.rotations for save in each if save is not None]
            yield from _linked_flaws(saves, [each.save.tier for each in plan.schedules], plan)
            yield from _whole_flaws("sequence.servers", 1, law.servers)
            yield from _number_flaws(law, ("limit_s",))
        case Growing():
            yield from _positive_flaws(law, ("first_s",))
            yield from _number_flaws(law, ("more_s", "max_overhead"))
        case Learned():
            yield from _positive_flaws(law, ("mtbf_s", "weight"))
            yield from _number_flaws(law, ("save_s",))
        case Differences():
            yield from _difference_flaws(law)


def _chain_flaws(chains: Any, plan: Plan) -> Iterator[str]:
    if not _all_of(chains, tuple) or len(chains) != len(plan.schedules) or not all(chains):
        yield f"whose chains are {_shown(chains)}, not some saves for each of its schedules"
    for schedule, chain in zip(plan.schedules, chains, strict=True):
        yield from _linked_flaws(chain, [schedule.save.tier], plan)


def _linked_flaws(saves: Iterable[Any], tiers: list[str], plan: Plan) -> Iterator[str]:
    """Yield the flaws of saves of a sequence, which are to tiers of schedules."""
    for save in saves:
        flaw = save_flaw(save, plan)
        if flaw:
            yield f"with a save {flaw}"
        if save.tier not in tiers:
            yield f"whose sequence saves to {save.tier!r}, where its schedule does not"


def _difference_flaws(law: Differences) -> Iterator[str]:
    if law.variant not in VARIANTS:
        yield f"whose variant is {_shown(law.variant)}, none of {', '.join(VARIANTS)}"
    yield from _positive_flaws(law, ("interval_s", "merge_s"))
    yield from _number_flaws(law, ("whole", "rows"))
    for name in ("at", "shares"):
        values = getattr(law, name)
        if not isinstance(values, tuple) or not all(map(_is_from_0, values)):
            yield f"whose {name} is {_shown(values)}, no tuple of numbers from 0"
    ascends = law.at[:1] == (0,) and list(law.at) == sorted(law.at)
    if not ascends or len(law.at) != len(law.shares):
        yield f"whose shares are at {_shown(law.at)}, not one at each of some that ascend from 0"


def _schedule_flaws(schedule: Schedule, plan: Plan) -> Iterator[str]:
    interval_s, most = schedule.interval_s, schedule.max_pending
    if not _is_number(interval_s) or not interval_s > 0:
        yield f"with an interval of {_shown(interval_s)} s; it must be > 0"
    if not _is_whole(most) or most < 1:
        yield f"whose max_pending is {_shown(most)}, no whole number from 1"
    flaw = save_flaw(schedule.save, plan)
    if flaw:
        yield f"with a save {flaw}"


def _order_flaws(plan: Plan) -> Iterator[str]:
    """Schedules are by tier, nearest first: a save serves the nearer ones."""
    names = [tier.name for tier in plan.tiers]
    saved_to = [each.save.tier for each in plan.schedules]
    for one in saved_to:
        if saved_to.count(one) > 1:
            yield (
                f"with {saved_to.count(one)} schedules of saves to {one!r}; give each its "
                "own tier, or a controller that says which save comes next"
            )
    if sorted(saved_to, key=names.index) != saved_to:
        yield f"whose schedules save to {', '.join(saved_to)}; give them in the order of its tiers"


def _save_flaws(save: Any, plan: Plan) -> Iterator[str]:
    if not isinstance(save, Save):
        yield f"of {_shown(save)}, no Save"
    if save.tier not in [tier.name for tier in plan.tiers]:
        yield f"to {_shown(save.tier)}, none of its tiers"
    if not _is_number(save.portion) or not 0 < save.portion <= 1:
        yield f"whose portion is {_shown(save.portion)}; it must be > 0 and <= 1"
    yield from _number_flaws(save, _OF_SAVE)
    left = save.unsaved_s
    if not isinstance(left, tuple) or not left or not all(map(_is_from_0, left)):
        yield f"whose unsaved_s is {_shown(left)}, no tuple of numbers from 0"
    if save.since not in _SINCE:
        yield f"whose since is {_shown(save.since)}, none of {', '.join(map(str, _SINCE))}"
    if not _is_whole(save.bits) or not 1 <= save.bits <= ALL_BITS:
        yield f"whose bits are {_shown(save.bits)}, no whole number from 1 to {ALL_BITS}"


def _answer_flaws(answer: Recover, loss: Loss, plan: Plan) -> Iterator[str]:
    names = [tier.name for tier in plan.tiers]
    if answer.rollback not in _ROLLBACKS:
        yield f"whose rollback is {_shown(answer.rollback)}, none of {', '.join(_ROLLBACKS)}"
    if answer.source not in names:
        yield f"whose source is {_shown(answer.source)}, none of its tiers"
    for name in ("healthy", "regrow"):
        value = getattr(answer, name)
        if value is not None and value not in names:
            yield f"whose {name} is {_shown(value)}, none of its tiers"
    if answer.healthy not in (None, *(each.save.tier for each in plan.schedules)):
        yield f"whose healthy is {answer.healthy!r}, a tier that its plan has no schedule for"
    yield from _number_flaws(answer, _OF_ANSWER)
    if answer.keep_training and answer.rollback == "all":
        yield "by which a job trains on that has lost all it had (keep_training, rollback 'all')"
    if answer.regrow is not None and not (answer.keep_training and answer.rollback == "lost"):
        yield (
            f"whose regrow is {answer.regrow!r}; shards are taken back where the rest trains on "
            "and the lost ones are loaded (keep_training, rollback 'lost')"
        )
    if answer.made_anew and loss.servers and not plan.makes_anew(answer.source):
        yield (
            f"by which lost shards are rebuilt from {answer.source!r}, which holds checkpoints "
            "alone; say what they are made of (redundancy, mirror, or a live tier), or load them "
            "(rollback 'lost')"
        )


def _number_flaws(of: object, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = getattr(of, name)
        if not _is_from_0(value):
            yield f"whose {name} is {_shown(value)}, no number from 0"


def _positive_flaws(of: object, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = getattr(of, name)
        if not _is_number(value) or not value > 0:
            yield f"whose {name} is {_shown(value)}; it must be > 0"


def _whole_flaws(name: str, least: int, value: Any) -> Iterator[str]:
    if not _is_whole(value) or value < least:
        yield f"whose {name} is {_shown(value)}, no whole number from {least}"


def _all_of(values: Any, kind: type) -> bool:
    return isinstance(values, tuple) and all(isinstance(each, kind) for each in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | Integral) and not isinstance(value, bool)


def _is_from_0(value: Any) -> bool:
    return _is_number(value) and 0 <= value < math.inf


def _shown(value: Any) -> str:
    return repr(value)[:80]
