"""What `on_notice` of a policy comes to: the answer to notices of a plan."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from cprsim.basics.units import format_duration
from cprsim.contract.notice import Draining, EmergencySave
from cprsim.contract.plan import Plan
from cprsim.contract.rotations import Rotations
from cprsim.job.costs import CostModel

if TYPE_CHECKING:
    from cprsim.contract.policy import Context

#: Everything is saved, or who is to fail is replaced before it does.
Answering = Literal["save", "drain"]


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
    emergency = _emergency(plan, costs)
    saves = emergency if emergency.takes_s <= lead_s else None
    if word == "save":
        lacks = "" if saves else _too_short("save in", lead_s, emergency.takes_s)
        return _answered(plan, saves, lacks and f"{lacks}; it is ignored")
    lacks = _no_drain(plan, costs, lead_s)
    if lacks:
        instead = "everything is saved" if saves else "notices are ignored"
        return _answered(plan, saves, f"{lacks}; {instead}")
    return replace(plan, on_notice=Draining(costs.drain_s, saves))


def _answered(plan: Plan, saves: EmergencySave | None, lacks: str) -> Plan:
    note = "; ".join(each for each in (plan.note, lacks) if each)
    return replace(plan, on_notice=saves, note=note or None)


def _why_not(plan: Plan) -> str:
    """Why a save of everything in between is nothing for it, or empty."""
    if type(plan).start is not Plan.start:
        return "its controller is its own, which has to answer itself"
    if plan.mirror is not None:
        return "every step is mirrored"
    if plan.redundancy is not None:
        return "copies or parities on other servers hold what a failure takes"
    if isinstance(plan.sequence, Rotations) or any(each.save.leaves for each in plan.schedules):
        return "each of its own is of a portion, and counts on the others"
    return "" if plan.schedules else "it saves nothing"


def _emergency(plan: Plan, costs: CostModel) -> EmergencySave:
    """A blocking save of everything, and what it takes with what goes with it."""
    save = plan.last_save._replace(blocking=True)
    verify_s = 0.0 if plan.verifies is None else plan.verifies.takes_s
    return EmergencySave(save, costs.seconds(plan.transfer(save, costs)) + verify_s)


def _no_drain(plan: Plan, costs: CostModel, lead_s: float) -> str:
    """Why no node can be drained, or empty."""
    if not plan.machines_ready(costs.cluster.spares):
        return "no spare machine (cluster.spares) stands ready to drain a node to"
    return "" if costs.drain_s <= lead_s else _too_short("drain a node in", lead_s, costs.drain_s)


def _too_short(what: str, lead_s: float, takes_s: float) -> str:
    return (
        f"a notice of {format_duration(lead_s)} is too short to {what}, which takes "
        f"{format_duration(takes_s)} and a step before it"
    )
