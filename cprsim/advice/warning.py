"""Where a number of an answer may mislead, and what to do about it."""

import math
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from cprsim.advice.advice import Found
from cprsim.basics.units import format_duration, format_percent
from cprsim.job.derived import Basis
from cprsim.runs.cautions import of_costs, of_log

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.contract import Context

#: A closed form that is off by more, as a share, is told with both numbers.
_OFF = 0.1
#: Of an overhead: a policy's own stalls and slowdown beyond it are most of what it costs.
_MOST = 0.5
#: Of the useful time: costs of its own below it are no reason to warn.
_MUCH = 0.05
#: Of what doesn't matter: what a mean may lack is not told below.
_LITTLE = 0.05


def warnings(advice: "Advice") -> Iterator[str]:
    """A sentence for each, those of the best first."""
    best = advice.best
    if best is not None:
        if not advice.of_fleet:
            yield from _never(best)
            yield from _unseen(best, advice.scenario.context)
        yield from _bought(best)
    if not advice.of_fleet:  # whose jobs differ
        yield from of_costs(advice.scenario)
    yield from _defaults(advice)
    for each in (best, advice.lossless if advice.lossless is not best else None):
        if each is not None:
            yield from _unmet(each, advice)
    for each in advice.found:
        if each.plan.note is not None:
            yield f"{each.name}: {each.plan.note}."
        if not each.candidate.tuned or each.candidate.origin is None:
            yield from _own_costs(each)
    if not advice.of_fleet:  # whose jobs differ
        yield from _closed_forms(advice)
        yield from _unknown(advice)


def _never(best: Found) -> Iterator[str]:
    never = [key for key, value in best.settings.items() if value == "never"]
    if never and best.plan.interval_s > 0:
        yield f"{best.name}: {' and '.join(never)} = never; it makes no save in the whole job."


def _unseen(best: Found, context: "Context") -> Iterator[str]:
    if context.overlooks_faults(best.plan):
        yield (
            f"{best.name}: nobody looks for silent faults, of which one strikes in "
            f"{format_duration(context.silent_mtbf_s)} of training, and what it ends with has "
            "those that struck; set verify_every in a [policies.NAME]."
        )


def assumed_costs(each: Found) -> str:
    """Return the own costs that rest on no figure of this cluster, `"key = value, ..."`."""
    return _told(each, ("assumed", "unknown"))


def _told(each: Found, bases: Collection[Basis]) -> str:
    return ", ".join(cost.text for cost in each.plan.own_costs if cost.basis in bases)


def _defaults(advice: "Advice") -> Iterator[str]:
    """Yield what the costs of the systems rest on, each system once, the best first."""
    found = sorted(advice.found, key=lambda each: each is not advice.best)
    headings: tuple[tuple[str, Basis, str], ...] = (
        ("Assumed, not measured", "assumed", "set what you measured under [policies.NAME]"),
        (
            "Unknown, and charged as 0",
            "unknown",
            "cprsim advise --json says what each needs under costs",
        ),
    )
    for heading, basis, way_out in headings:
        costs = {each.candidate.system: _told(each, [basis]) for each in found}
        told = "; ".join(f"{system} {text}" for system, text in costs.items() if text)
        if told:
            yield f"{heading}: {told}; {way_out}."


def _unmet(each: Found, advice: "Advice") -> Iterator[str]:
    """A rare loss, whose chance is all that is known of it."""
    if each.lacks < _LITTLE * advice.aim.within:
        return
    back_s = each.plan.unmet_s
    is_all = back_s >= advice.scenario.job.useful_time_s
    back = "all since the start" if is_all else f"up to {format_duration(back_s)}"
    yield (
        f"{each.name}: none of {each.replications:,} replications lost what it can't make good, "
        f"which takes back {back}; its overhead may be {100 * each.lacks:.2g} points more."
    )


def _bought(best: Found) -> Iterator[str]:
    """Time that is paid for with machines and memory."""
    time, machines = best.measures["overhead"].mean, best.measures["machine_overhead"].mean
    if machines > time + _OFF * max(time, _MUCH):
        yield (
            f"{best.name} buys its time with machines: {format_percent(time)} of the time, "
            f"{format_percent(machines)} of the machine time; see --objective machine-time."
        )
    if best.plan.memory_overhead >= 1:
        yield (
            f"{best.name} takes {best.plan.memory_overhead:g} times the memory of the rows "
            "besides; see --max-memory."
        )


def _own_costs(each: Found) -> Iterator[str]:
    own = each.causes["slowdown"].mean + each.causes["stall"].mean
    overhead = each.measures["overhead"].mean
    if own <= _MUCH or own <= _MOST * overhead:
        return
    keys = _told(each, ("given", "assumed", "derived"))
    what = f"set what you measured ({keys})" if keys else "see what it costs in docs/systems"
    yield (
        f"{each.name}: {format_percent(own)} of its {format_percent(overhead)} are its own stalls "
        f"and slowdown; {what}."
    )


def _closed_forms(advice: "Advice") -> Iterator[str]:
    """First order beside the simulation, of full recovery and of the best."""
    best = advice.best
    others = [e for e in advice.found if e.candidate.system == "full" and e is not best]
    for found in [*([] if best is None else [best]), *others]:
        mean = found.measures["overhead"]
        apart = found.closed_form - mean.mean
        if abs(apart) > max(_OFF * abs(mean.mean), mean.high - mean.mean, advice.aim.within):
            yield (
                f"{found.name}: the closed form says {format_percent(found.closed_form)}, the "
                f"simulation {format_percent(mean.mean)}; believe the simulation."
            )


def _unknown(advice: "Advice") -> Iterator[str]:
    """What the log or the laws of failures leave open."""
    yield from of_log(advice.scenario)
    mtbf_s, useful_s = advice.scenario.failure_model.mtbf_s, advice.scenario.job.useful_time_s
    if math.inf > mtbf_s > useful_s:
        yield (
            f"The MTBF, {format_duration(mtbf_s)}, is longer than the job: most jobs meet no "
            "failure, and means tell little of the one that does."
        )
