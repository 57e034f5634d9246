"""Which policies and failures can be played in batches, and why others can't."""

from collections.abc import Mapping

from cprsim.batch.cursors import PLAYED
from cprsim.contract import Loss, Recover, Schedule, rules
from cprsim.contract.needs import Interpreter, needs_of
from cprsim.failures.cohorts import NodeCohort
from cprsim.failures.timeline import Cohort
from cprsim.sim.resolved import Rated, ResolvedPlan

#: Of a plan; conditions on numbers stand below.
_BATCH = Interpreter(
    (
        *("places", "sizes", "background", "copies", "copies and background"),
        *("copies and trainers", "rebuilding", "training on"),
    )
)


def why_unsupported(resolved: ResolvedPlan, cohort: Cohort) -> str | None:
    """Why a policy can't be played, or None."""
    lacks = _BATCH.lacks(needs_of(resolved.plan))
    if lacks:
        return f"it needs {' and '.join(lacks)}"
    return (
        _of_store(resolved)
        or _of_shards(resolved)
        or _of_failures(cohort)
        or _of_saves(resolved, resolved.plan.schedules[0])
        or _of_rebuilds(resolved)
    )


def _of_store(resolved: ResolvedPlan) -> str | None:
    return "saves to the store or loads from it fail" if resolved.store_fails else None


def _of_shards(resolved: ResolvedPlan) -> str | None:
    return None if resolved.update_shares is None else "its shards are not updated alike"


def _of_saves(resolved: ResolvedPlan, schedule: Schedule) -> str | None:
    if schedule.save.blocking:
        return None
    if resolved.final_save:
        return "it ends with a save in the background"
    if schedule.save.portion != 1.0:
        return "it saves portions in the background"
    transfer, rate = save = resolved.save(schedule.save)
    full_speed = resolved.training(0.0)
    if _contend(save, full_speed, resolved.costs.capacities):
        return "training and saves in the background contend for links"
    if schedule.max_pending > 1 and transfer.volume / rate > schedule.period_s / full_speed[1]:
        return "several saves are under way at once"
    return None


def _of_failures(cohort: Cohort) -> str | None:
    if type(cohort) not in PLAYED:
        return f"it has no cursors for failures of kind {type(cohort).__name__}"
    if not isinstance(cohort, NodeCohort):
        return None
    if cohort.bursts is not None:
        return "failures.bursts cut lives of nodes short"
    return None if cohort.severities is None else "failures.severity cuts lives of nodes short"


def _of_rebuilds(resolved: ResolvedPlan) -> str | None:
    nobody: frozenset[int] = frozenset()
    one = frozenset({0})
    answers = map(resolved.plan.recover, (Loss(one, nobody), Loss(nobody, one)))
    beside = [answer for answer in answers if trains_on(answer)]
    if any(contends(resolved, answer, resolved.training(0.0)) for answer in beside):
        return "training and the filling of lost shards contend for links"
    (schedule,) = resolved.plan.schedules
    if not schedule.save.blocking and any(contends_with_saves(resolved, each) for each in beside):
        return "saves in the background and the filling of lost shards contend for links"
    return None


def trains_on(answer: Recover) -> bool:
    """Whether the rest trains on while lost nodes are replaced."""
    return bool(rules.r13_trains_on(answer.keep_training, rules.DEPTH[answer.rollback]))


def contends(resolved: ResolvedPlan, answer: Recover, other: Rated) -> bool:
    """Whether filling lost shards, as many as there may be, and `other` slow each other."""
    fills = (resolved.load(answer, n, 1.0) for n in {1, resolved.servers})
    return any(_contend(fill, other, resolved.costs.capacities) for fill in fills)


def contends_with_saves(resolved: ResolvedPlan, answer: Recover) -> bool:
    """Whether filling lost shards and any save of the plan slow each other."""
    saves = {resolved.plan.schedules[0].save, resolved.plan.last_save}
    return any(contends(resolved, answer, resolved.save(save)) for save in saves)


def _contend(a: Rated, b: Rated, capacities: Mapping[str, float]) -> bool:
    """Whether two transfers want more of a link than it has, each at the pace it has alone."""
    drawn: dict[str, float] = {}
    for transfer, rate in (a, b):
        for link, coefficient in transfer.uses:
            if coefficient:
                drawn[link] = drawn.get(link, 0.0) + rate * coefficient
    return any(units > capacities[link] * (1 + 1e-9) for link, units in drawn.items())
