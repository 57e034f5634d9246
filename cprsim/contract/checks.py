"""Whether what a policy returned is a plan at all; what it costs is checked with the job."""

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

from cprsim.contract.actions import Loss, Recover
from cprsim.contract.plan import Plan
from cprsim.contract.schedules import Schedule
from cprsim.job.tiers import Tier

_RECOVERIES = ("full", "partial", "replica", "parity")
_NUMBERS = ("slowdown", "peer_bytes_per_s", "memory_overhead")


def flaw_of(plan: Any, loss: Loss) -> str:
    """What is wrong with it as a plan, to follow "returned"; empty for a sound one.

    `loss`: one that its job can have.
    """
    if not isinstance(plan, Plan):
        return f"{_shown(plan)}, no cprsim.Plan"
    flaw = next(_flaws(plan, loss), "")
    return flaw and f"a plan {flaw}"


def _flaws(plan: Plan, loss: Loss) -> Iterator[str]:
    """What is wrong with it; what comes later counts on what comes before."""
    if plan.recovery not in _RECOVERIES:
        yield f"whose recovery is {_shown(plan.recovery)}, none of {', '.join(_RECOVERIES)}"
    if not _all_of(plan.tiers, Tier) or not plan.tiers:
        yield f"whose tiers are {_shown(plan.tiers)}, no tuple of tiers"
    if not _all_of(plan.schedules, Schedule):
        yield f"whose schedules are {_shown(plan.schedules)}, no tuple of schedules"
    if not callable(plan.recover):
        yield f"whose recover is {_shown(plan.recover)}, nothing to be called"
    names = [tier.name for tier in plan.tiers]
    for each in plan.schedules:
        if not _is_number(each.interval_s) or not each.interval_s > 0:
            yield f"with an interval of {_shown(each.interval_s)} s; it must be > 0"
        if each.save.tier not in names:
            yield f"that saves to {_shown(each.save.tier)}, none of its tiers"
    for name in _NUMBERS:
        value = getattr(plan, name)
        if not _is_number(value) or not 0 <= value < math.inf:
            yield f"whose {name} is {_shown(value)}, no number from 0"
    answer = plan.recover(loss)
    if not isinstance(answer, Recover):
        yield f"that answers a loss with {_shown(answer)}, no Recover"


def _all_of(values: Any, kind: type) -> bool:
    return isinstance(values, tuple) and all(isinstance(each, kind) for each in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return repr(value)[:80]
