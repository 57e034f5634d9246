"""The answer of `cprsim advise` in sentences.

The command, the report, the page and the README take the answer from here.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cprsim.advice.candidates import TUNED
from cprsim.advice.criteria import ALLOWED, LOST
from cprsim.advice.warning import unverified
from cprsim.basics.units import (
    format_bytes,
    format_duration,
    format_durations,
    format_percent,
    listed,
    percent,
)
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.contract.needs import TRAINER_NEEDS
from cprsim.report.means import amount
from cprsim.runs.memory import server_bytes
from cprsim.runs.selection import words
from cprsim.runs.selection.intervals import ROUNDING

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice, Found
    from cprsim.advice.robustness import Doubled, Parameter, Robustness
    from cprsim.advice.search import Incumbent
    from cprsim.runs.summaries import Mean

#: Overhead from which on a job is said to be hopeless, half the time again; and of a run that was
#: given up.
HOPELESS, _ENDLESS = 0.5, 50.0
#: So many causes of an overhead are printed, and none of less than one in so many parts of it.
_LARGEST, _SMALL = 2, 20.0
#: Causes that make so little of a difference are left out, as a share of it.
_LITTLE = 0.1
#: Extra memory from which on the answer says so, as a share of that of the tables.
_MUCH_MEMORY = 0.1
#: Inputs that are twice as bad.
_WITH = {
    "MTBF": "with a failure every {value}",
    "save bandwidth": "with saves at {value}",
    "rescheduling": "with rescheduling in {value}",
    "detection": "with detection in {value}",
}
#: Inputs by a shorter name than their own.
_SHORT = {"parameter servers": "servers"}


def answer_lines(advice: "Advice") -> Iterator[str]:
    """Yield the recommendation, what the policy does, the certainty, the effect of a limit."""
    yield headline(advice)
    best = advice.best
    if best is None:
        over = [each for each in advice.found if each.why]
        if over:
            near = min(over, key=lambda e: (advice.criteria.assumed and not e.lossless, e.over))
            yield f"The nearest: {near.name} ({settings_of(near)}): {near.why}."
        return
    yield _cost(advice, best)
    does = type(best.candidate.policy).does()
    if does:
        needs = f" It needs {TRAINER_NEEDS[best.needs]}." * (best.needs != "any")
        yield f"{best.candidate.system}: {does}{needs}{_assuming(best)}"
    yield certainty(advice)
    if not advice.of_fleet:
        yield from unverified(best, advice.scenario.context)
    yield from _allowing(advice, best)


def headline(advice: "Advice") -> str:
    """Return the recommendation in one sentence, the first of the page and of the screen."""
    best = advice.best
    if best is None:
        return "No policy meets the limits."
    candidate, overhead = best.candidate, best.measures["overhead"].mean
    settings = f": {settings_of(best)}" if best.settings else ""
    do = f"Use {candidate.system}{settings}."
    if candidate.origin is not None:
        do = f"Keep {candidate.origin} as it is{settings}."
        if candidate.tuned:
            do = f"Use {candidate.origin} with other settings{settings}."
    if overhead >= _ENDLESS:
        return f"No policy finishes this job. The nearest: {do}"
    if overhead >= HOPELESS:
        second = None if advice.allowing is None else advice.allowing.best
        only = second is not None and second.measures["overhead"].mean < HOPELESS
        hopeless = "Without losing learning this job" if only else "This job"
        return f"{hopeless} is hopeless: failures add {format_percent(overhead)} at best. {do}"
    return do


def _assuming(found: "Found") -> str:
    """Return a sentence on what a policy rests on that no cost prices; empty for nothing."""
    unpriced = type(found.candidate.policy).unpriced
    return f" Assumed: {unpriced}." if unpriced else ""


def settings_of(found: "Found", ranges: bool = True) -> str:
    """Settings of a candidate, with the `ranges` of durations that are as good."""
    said = []
    for key, value in found.settings.items():
        name = key.removesuffix("interval").rstrip(".").replace("_", " ")
        if not key.endswith("interval"):
            said.append(f"{key.replace('_', ' ')} {value}")
        elif value == "never":
            said.append(f"no {name} save" if name else "no save")
        else:
            every = f"a save to {name} every" if name else "a save every"
            low_s, high_s = found.as_good(key)
            is_range = ranges and high_s > low_s
            alike = f" ({format_durations(low_s, high_s)} is as good)" if is_range else ""
            said.append(f"{every} {value}{alike}")
    return ", ".join(said)


def _cost(advice: "Advice", best: "Found") -> str:
    """Return a sentence on the costs of the policy, by cause, and on its losses."""
    overhead = best.measures["overhead"].mean
    if advice.of_fleet:
        cost = f"It costs {format_percent(overhead)} of the useful time of the mean job"
    else:
        useful_s = advice.scenario.job.useful_time_s
        spent = f"{format_duration(overhead * useful_s)}, {format_percent(overhead)} of"
        cost = f"It costs {spent} the {format_duration(useful_s)} of training"
    if advice.scenario.currency:
        cost += f", {amount(best.measures['cost'].mean)} {advice.scenario.currency}"
    parts = [(each.mean, CAUSE_LABELS[cause]) for cause, each in best.causes.items()]
    parts = sorted((each for each in parts if each[0] > overhead / _SMALL), reverse=True)
    if len(parts) > 1:
        said = [f"{percent(mean)} % {label}" for mean, label in parts[:_LARGEST]]
        cost += f" ({', '.join(said)}{', ...' * (len(parts) > _LARGEST)})"
    if best.plan.memory_overhead >= _MUCH_MEMORY:
        cost += f", and {100 * best.plan.memory_overhead:.0f} % more table memory"
        cost += _of_memory(advice, best)
    lost = "no learning is" if best.loses_nothing else f"{_lost(best)} of the learning is"
    return f"{cost}; {lost} lost."


def _of_memory(advice: "Advice", found: "Found") -> str:
    """Return the memory that a policy fills on each server, and whether it is known to be there."""
    model, cluster = advice.scenario.model, advice.scenario.cluster
    if model is None or advice.of_fleet:
        return ""
    filled = format_bytes(server_bytes(found.plan, model, cluster.parameter_servers))
    if cluster.memory is None:
        return f" ({filled} a server; give cluster.memory to check it)"
    return f" ({filled} of {format_bytes(cluster.memory)} a server)"


def _lost(found: "Found") -> str:
    return format_percent(found.measures[LOST].mean)


def certainty(advice: "Advice") -> str:
    """Return a sentence on the statistical certainty of the choice."""
    names = [
        f"{each.name} as it is" if each.candidate.given else each.name for each in advice.found
    ]
    said = words.standing(advice.certificate, names)
    if not advice.certificate.rivals:
        within = "that loses no learning" if advice.criteria.assumed else "within the limits"
        said = f"it is the only one considered {within}"
    return f"Certainty: {said}; wrong inputs matter more."


def _allowing(advice: "Advice", best: "Found") -> Iterator[str]:
    """Yield the gain of allowing some loss, or the cost of allowing none."""
    second, safe = advice.allowing, advice.lossless
    if second is not None and second.best is not None:
        other = second.best
        allowing = f"Allowing {100 * ALLOWED.most:g} % of the learning to be lost"
        gain = best.objective.mean - other.objective.mean
        if gain <= advice.criteria.within:
            yield f"{allowing} would gain nothing."
            return
        may = "may" if second.verdict == "undecided" else "would"
        does = type(other.candidate.policy).does()
        keys = [each.key for each in other.plan.own_costs if each.basis == "unknown"]
        unknown = f" Its costs that are not known count as 0: {', '.join(keys)}." if keys else ""
        yield (
            f"{allowing} {may} gain {words.POINTS.text(gain)}: {other.label}, "
            f"{settings_of(other, ranges=False)}, loses {_lost(other)}. {does}{_assuming(other)}"
            f"{unknown}"
        )
    elif not best.loses_nothing and safe is None:
        yield "Every policy that was considered loses learning."
    elif not best.loses_nothing and safe is not None:
        overhead = format_percent(safe.measures["overhead"].mean)
        yield (f"The best that loses no learning: {safe.label}, {settings_of(safe)}, {overhead}.")


def known_so_far(known: "Advice | Incumbent | None") -> str:
    """Return the result of an interrupted search."""
    if known is None:
        return "nothing was simulated yet"
    if not isinstance(known, tuple):
        return " ".join((headline(known), certainty(known)) if known.best else [headline(known)])
    values = (f"{key} {value}" for key, value in known.policy.mapping().items() if key != "system")
    return (
        f"{known.policy.system} ({', '.join(values)}) leads with {percent(known.objective)} % in "
        f"{known.replications:,} replications; nothing is certain yet"
    )


def robust_lines(advice: "Advice", robust: "Robustness | None") -> Iterator[str]:
    """Yield the assumptions, the effect of each, and the range over which the answer holds."""
    best = advice.best
    if best is None or robust is None:
        return
    now = best.objective.mean
    changes = [each for each in robust.assumptions if each.more.mean > robust.within / 2]
    changes.sort(key=lambda each: -each.more.mean)
    if changes:
        said = ", ".join(f"{percent(now + each.more.mean)} {_with(each)}" for each in changes)
        yield f"If one input is twice as bad, {percent(now)} % becomes {said}."
    unknown = [each.name for each in robust.assumptions if each.basis == "unknown"]
    if unknown:
        costs = f"Costs of {best.candidate.system} that are not known"
        yield f"{costs} count as 0: {', '.join(unknown)}."
    named = {_SHORT.get(each.name, each.name): each for each in robust.levers}
    held = {name: _held(name, each, robust.within) for name, each in named.items()}
    others = [name for name, said in held.items() if not said]
    parts = [f"for {', '.join(filter(None, held.values()))}"] * (len(others) < len(held))
    if others:
        parts.append(f"if {listed(others).replace(' and ', ' or ')} is 1/4 to 4 times yours")
    if parts and len(robust.systems) > 1:
        worlds = [world for each in robust.levers for world in each.beyond(robust.within)]
        least = {world.least for world in worlds if world.least} - {robust.choice}
        better = sorted({each.removesuffix(TUNED) for each in least})
        otherwise = f"; else {listed(better).replace(' and ', ' or ')}" if better else ""
        yield f"Still the best {', and '.join(parts)}{otherwise}."


def _with(each: "Doubled") -> str:
    """An input that is twice as bad, in words."""
    if each.value.startswith("a save in "):
        return f"with {each.value}"
    basis = "" if each.basis == "given" else f" ({each.basis})"
    return _WITH.get(each.name, "with {name} of {value}").format(**each._asdict()) + basis


def _held(name: str, lever: "Parameter", within: float) -> str:
    """The range of an input over which the choice stays the best; empty for all that was tried.

    Open where nothing farther was tried.
    """
    low, high = lever.range(within)
    from_first, to_last = low is lever.worlds[0], high is lever.worlds[-1]
    if from_first and to_last:
        return ""
    if from_first:
        return f"{name} up to {high.value}"
    if to_last:
        return f"{name} from {low.value}"
    return f"{name} at {low.value} alone" if low is high else f"{name} {low.value} to {high.value}"


def detail_lines(advice: "Advice") -> Iterator[str]:
    """Yield the difference to the second, notes, and the policies that were not considered."""
    second = advice.runner_up
    if second is not None and advice.criteria.objective != "cost":
        causes = {cause: each for cause, each in advice.apart.items() if cause != "overhead"}
        most = max((abs(each.mean) for each in causes.values()), default=0.0)
        large = [c for c, e in causes.items() if abs(e.mean) > max(_LITTLE * most, ROUNDING)]
        parts = [
            f"{_points(causes[cause])} {'less' if causes[cause].mean > 0 else 'more'} {cause}"
            for cause in sorted(large, key=lambda cause: -abs(causes[cause].mean))
        ]
        if parts:
            yield f"Compared with {second.name}, the second best: {listed(parts)}."
    for note in advice.warnings:
        yield f"Note: {note}"
    reasons = defaultdict[str, list[str]](list)
    for each in advice.refused:
        reasons[each.why.removeprefix(f"system {each.system!r} ")].append(each.name)
    if reasons:
        said = (f"{listed(names)}: {why}" for why, names in reasons.items())
        yield f"Not considered: {'; '.join(said)}."


def _points(mean: "Mean") -> str:
    """A difference in percentage points, with its interval; of no sign, for what is less."""
    low, high = sorted(abs(each) for each in mean[1:]) if mean.low * mean.high > 0 else mean[1:]
    if max(abs(low), abs(high)) < ROUNDING:
        return words.POINTS.text(0.0)
    return words.between(abs(mean.mean), low, high)
