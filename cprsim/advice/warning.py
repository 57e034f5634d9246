"""Notes of an answer: where a number may mislead, and what to do about it."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cprsim.advice.advice import Found
from cprsim.basics.units import format_duration, format_percent
from cprsim.contract import Loss
from cprsim.job.derived import Basis
from cprsim.runs.cautions import of_costs, of_log

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.contract import Context

_ONE_SERVER = Loss(frozenset({0}), frozenset())
#: Costs of systems that are not measured: heading, basis, way out.
_BASES: Final[tuple[tuple[str, Basis, str], ...]] = (
    ("Assumed, not measured", "assumed", "set what you measured under [policies.NAME]"),
    (
        "Unknown, and charged as 0",
        "unknown",
        "cprsim advise --json says what each needs under costs",
    ),
)
#: Relative difference of a formula to the simulation from which on a note gives both numbers.
_OFF = 0.1
#: Share of an overhead from which on a policy's own stalls and slowdown are most of it.
_MOST = 0.5
#: Share of the useful time below which a policy's own costs need no note.
_MUCH = 0.05
#: Share of `within` below which what a mean may lack needs no note.
_LITTLE = 0.05


def warnings(advice: "Advice") -> Iterator[str]:
    """Yield the notes of an answer, a sentence each, those of the best first."""
    best = advice.best
    if best is not None:
        if not advice.of_fleet:
            yield from unverified(best, advice.scenario.context)
        time, machines = (best.measures[m].mean for m in ("overhead", "machine_overhead"))
        if machines > time + _OFF * max(time, _MUCH):
            yield (
                f"{best.name} costs {format_percent(time)} of the time and "
                f"{format_percent(machines)} of the machine time; see --objective machine-time."
            )
    if not advice.of_fleet:  # whose jobs differ
        yield from of_costs(advice.scenario)
        yield from _regroup(advice)
    yield from _defaults(advice)
    for each in (best, advice.lossless if advice.lossless is not best else None):
        if each is not None and each.lacks >= _LITTLE * advice.criteria.within:
            yield _unmet(each, advice.scenario.job.useful_time_s)
    for each in advice.found:
        if each.plan.note is not None:
            yield f"{each.name}: {each.plan.note}."
        if not each.candidate.tuned or each.candidate.origin is None:
            yield from _own_costs(each)
    if not advice.of_fleet:
        yield from _formulas(advice)
        yield from of_log(advice.scenario)
        mtbf_s = advice.scenario.failure_model.mtbf_s
        if math.inf > mtbf_s > advice.scenario.job.useful_time_s:
            yield (
                f"The MTBF, {format_duration(mtbf_s)}, is longer than the job: most jobs meet no "
                "failure, and a mean says little of a job that meets one."
            )


def unverified(best: Found, context: "Context") -> Iterator[str]:
    """Yield how often a policy leaves a silent fault in the model, if it does."""
    if context.overlooks_faults(best.plan):
        yield (
            f"{best.name} does not look for silent faults, of which one strikes per "
            f"{format_duration(context.silent_mtbf_s)} of training and stays in the model; set "
            "verify_every in a [policies.NAME]."
        )


def _costs(each: Found, *bases: Basis) -> str:
    return ", ".join(cost.text for cost in each.plan.own_costs if cost.basis in bases)


def _defaults(advice: "Advice") -> Iterator[str]:
    """Yield what the costs of the systems rest on, each system once, the best first."""
    found = sorted(advice.found, key=lambda each: each is not advice.best)
    for heading, basis, way_out in _BASES:
        costs = {each.candidate.system: _costs(each, basis) for each in found}
        said = "; ".join(f"{system} {text}" for system, text in costs.items() if text)
        if said:
            yield f"{heading}: {said}; {way_out}."


def _regroup(advice: "Advice") -> Iterator[str]:
    """Yield that forming the group of processes again is charged as nothing, if it may matter."""
    best, scenario = advice.best, advice.scenario
    # Trainers of their own mean parameter servers, which form no group.
    if best is None or scenario.costs.regroup is not None or scenario.cluster.trainers:
        return
    answer = best.plan.recover(_ONE_SERVER)
    if answer.rollback != "all" and not answer.keep_training:
        yield (
            f"Assumed: costs.regroup = 0 s. Under {best.name} healthy shards stay. If "
            "tables lie in the GPUs that train synchronously, all processes form a group again "
            'first; set costs.regroup, e.g. regroup = "90 s", or "0 s" for parameter servers.'
        )


def _unmet(each: Found, useful_s: float) -> str:
    """A rare loss of which only an upper limit of its chance is known."""
    back_s = each.plan.unmet_s
    back = "to its start" if back_s >= useful_s else f"by up to {format_duration(back_s)}"
    return (
        f"{each.name}: no simulated run of {each.replications:,} lost all copies of a shard. If "
        f"that happens the job goes back {back}; the true overhead may be up to "
        f"{100 * each.lacks:.2g} points higher."
    )


def _own_costs(each: Found) -> Iterator[str]:
    own = each.causes["slowdown"].mean + each.causes["stall"].mean
    overhead = each.measures["overhead"].mean
    if own <= _MUCH or own <= _MOST * overhead:
        return
    keys = _costs(each, "given", "assumed", "derived")
    what = f"set what you measured ({keys})" if keys else "see its page in docs/systems"
    yield (
        f"{format_percent(own)} of the {format_percent(overhead)} of {each.name} are its own "
        f"stalls and slowdown; {what}."
    )


def _formulas(advice: "Advice") -> Iterator[str]:
    """Yield where formula and simulation differ, for full recovery and for the best."""
    best = advice.best
    others = [e for e in advice.found if e.candidate.system == "full" and e is not best]
    for found in [*([] if best is None else [best]), *others]:
        mean = found.measures["overhead"]
        apart = found.closed_form - mean.mean
        if abs(apart) > max(_OFF * abs(mean.mean), mean.high - mean.mean, advice.criteria.within):
            yield (
                f"{found.name}: the formula gives {format_percent(found.closed_form)}, the "
                f"simulation {format_percent(mean.mean)}. Trust the simulation: the formula is of "
                "first order, for failures that are rare in an interval."
            )
