"""The answer of a plan to notices, from the key `on_notice` of its policy."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cprsim.basics.units import counted, format_duration
from cprsim.contract.actions import Answering, Draining, EmergencySave
from cprsim.contract.failure_kinds import kinds
from cprsim.contract.plan import Plan, Rotations

if TYPE_CHECKING:
    from cprsim.contract.policy import Context


def answering(plan: Plan, word: Answering, context: "Context") -> Plan:
    """The plan with its answer to notices; where they are too short for it, that is its note.

    Raises `ValueError` for plans that have no use for a save of everything.
    """
    why = _why_not(plan)
    if why:
        raise ValueError(f"on_notice = {word!r} saves everything, but {why}; leave it out")
    if context.notices is None:
        return plan
    lead_s, costs = context.notices.lead_s, context.costs
    save = plan.last_save._replace(blocking=True)
    verify_s = 0.0 if plan.verifies is None else plan.verifies.takes_s
    takes_s = costs.seconds(plan.transfer(save, costs)) + verify_s
    saves = EmergencySave(save, takes_s) if takes_s <= lead_s else None
    answer: EmergencySave | Draining | None = saves
    lacks = "" if saves else _too_short("save in", lead_s, takes_s)
    ignored = "it is ignored"
    if word == "drain":
        lacks = _no_drain(plan, context, lead_s)
        ignored = "everything is saved" if saves else "notices are ignored"
        answer = saves if lacks else Draining(costs.drain_s, saves)
    saved_s = min((each.period_s for each in plan.schedules), default=math.inf)
    if lacks:
        lacks = f"{lacks}; {ignored}"
    elif math.isinf(saved_s) and math.isfinite(context.mtbf_s):
        lacks = "failures.notice announces all that it saves for, so it makes no other save"
    note = "; ".join(each for each in (plan.note, lacks) if each)
    return replace(plan, on_notice=answer, note=note or None)


def _why_not(plan: Plan) -> str:
    """Why a save of everything in between is nothing for it, or empty."""
    if type(plan).start is not Plan.start:
        return "its controller is its own, which has to answer itself"
    if plan.mirror is not None:
        return "every step is mirrored"
    if plan.redundancy is not None:
        return "copies or parities on other servers hold what a failure takes"
    if isinstance(plan.sequence, Rotations) or any(each.save.leaves for each in plan.schedules):
        return "each of its saves is of a portion, and counts on the others"
    return "" if plan.schedules else "it saves nothing"


def _no_drain(plan: Plan, context: "Context", lead_s: float) -> str:
    """Why no node can be drained, or empty."""
    costs, found = context.costs, kinds(context)
    ready = plan.machines_ready(costs.cluster.spares)
    if not ready:
        return "no spare machine (cluster.spares) is ready to drain a node to"
    if found and not any(kind.loss.drains_to(ready) for kind in found):
        machines = counted(ready, "spare machine")
        return f"no failure takes so few nodes that {machines} can take their places"
    return "" if costs.drain_s <= lead_s else _too_short("drain a node in", lead_s, costs.drain_s)


def _too_short(what: str, lead_s: float, takes_s: float) -> str:
    return (
        f"a notice of {format_duration(lead_s)} is too short to {what}, which takes "
        f"{format_duration(takes_s)} and a step before it"
    )
