"""The answer of `cprsim advise` in words and as a table."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from cprsim.advice.warning import assumed_costs
from cprsim.basics.units import format_duration, percent
from cprsim.report.terminal import plain_table
from cprsim.selection import words
from cprsim.selection.intervals import ROUNDING

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice, Found
    from cprsim.advice.robustness import Lever, Robustness, World
    from cprsim.advice.search import Leading
    from cprsim.runs.mean import Mean

#: What each objective makes least, in words.
_LEAST = {
    "time": "least time",
    "machine-time": "least machine time",
    "cost": "least cost",
    "retrained": "least time, lost updates trained again",
}
#: Causes that make so little of a difference aren't told, as a share of it.
_LITTLE = 0.1


def answer_table(advice: "Advice") -> Table:
    """A row a candidate, the least first; those that break a bound last. Fits 80 columns."""
    money = advice.scenario.currency
    table = plain_table("\n".join([advice.scenario.title or "cprsim advise", _asked(advice)]))
    table.collapse_padding = True
    table.add_column("policy", min_width=15)
    headings = ["saves\nevery", "over-\nhead %", "\n± 95 %", "PLS\n%"]
    headings += ["updates\nlost %", "machine\ntime %"]
    headings += (
        ["in\nsum %"] * advice.of_fleet
        + [f"cost\n{money}"] * bool(money)
        + ["keeps"] * bool(advice.aim.bounds)
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for number, each in enumerate(advice.found):
        overhead = each.measures["overhead"]
        cells = [
            f"{_marked(advice, number)}{each.name}{_beside_interval(each)}",
            format_duration(each.saves_every_s),
            percent(overhead.mean),
            _half(overhead),
            *(percent(each.measures[name].mean) for name in ("pls", "updates_lost")),
            percent(each.measures["machine_overhead"].mean),
        ]
        cells += [] if each.in_sum is None else [percent(each.in_sum.mean)]
        cells += [_amount(each.measures["cost"].mean)] if money else []
        cells += [{True: "yes", False: "no", None: "?"}[each.feasible]] if advice.aim.bounds else []
        table.add_row(*cells)
    return table


def _beside_interval(each: "Found") -> str:
    """Settings other than the interval of the nearest tier, on a line of their own."""
    told = [
        f"{key.removesuffix('.interval').replace('_', ' ')} {value}"
        for place, (key, value) in enumerate(each.settings.items())
        if place or not key.endswith("interval")
    ]
    return f"\n    {', '.join(told)}" if told else ""


def answer_lines(advice: "Advice") -> Iterator[str]:
    """The verdict, what it costs, why, and where a number may mislead: a sentence or two each."""
    yield from verdict_lines(advice)
    for warning in advice.warnings:
        yield f"Mind: {warning}"
    yield from _refused(advice)


def verdict_lines(advice: "Advice") -> Iterator[str]:
    """Of `answer_lines` the verdict, what it costs and why."""
    yield _verdict(advice)
    best = advice.best
    if best is not None:
        yield _told(advice, best)
        yield from _lossless(advice, best)
        yield from _why(advice)
    yield from _nearest(advice)


def robust_lines(robust: "Robustness") -> Iterator[str]:
    """Where the choice stays the same, and what it loses where the MTBF was wrong by two."""
    held = "; ".join(_range(lever, robust) for lever in robust.levers)
    if held:
        tried = " More than the ends in brackets was not tried." * ("[" in held)
        yield f"With these settings {robust.choice} stays the choice for {held}.{tried}"
    mtbf = next((each for each in robust.levers if each.name == "MTBF"), None)
    if mtbf is None or robust.second is None:
        return
    said = []
    for world in mtbf.worlds:
        if world.factor in {0.5, 2.0} and math.isfinite(world.second_loses.mean):
            lost = f"is {_points(world.loses)} off the best"
            choice = "breaks a bound" if world.keeps is False else lost
            said.append(
                f"at {world.value} {robust.choice} {choice}, {robust.second} "
                f"{_points(world.second_loses)}"
            )
    if said:
        yield f"Were the MTBF wrong by two: {'; '.join(said)}."


def known_so_far(known: "Advice | Leading | None") -> str:
    """What is known when it is interrupted."""
    if known is None:
        return "nothing was played yet"
    if not isinstance(known, tuple):
        return _verdict(known)
    values = (f"{key} {value}" for key, value in known.policy.mapping().items() if key != "system")
    return (
        f"{known.policy.system} ({', '.join(values)}) leads with {percent(known.objective)} % in "
        f"{known.replications:,} replications; nothing is certain yet"
    )


def _asked(advice: "Advice") -> str:
    aim = advice.aim
    bounds = "; ".join(map(str, aim.bounds))
    assumed = " (assumed: what CPR accepts)" if aim.assumed else ""
    limits = f"; {bounds}{assumed}" if bounds else ""
    return (
        f"{_LEAST[aim.objective]}{limits}; simulated, seed {advice.seed};\n{_of_what(advice)}; "
        "* the choice, = not told apart"
    )


def _of_what(advice: "Advice") -> str:
    """What overheads are shares of."""
    if advice.of_fleet:
        return f"% of the useful time of {advice.certificate.replications:,} jobs"
    scenario = advice.scenario
    useful_s, failures = scenario.job.useful_time_s, scenario.failure_model
    mtbf = f"MTBF {format_duration(failures.mtbf_s)}"
    law = scenario.failures.law
    if scenario.failures.per == "node" and law is not None:
        mtbf += f" of the job, {format_duration(law.expected_s)} of a node"
    return f"% of the useful {format_duration(useful_s)}, {mtbf}"


def _marked(advice: "Advice", number: int) -> str:
    certificate = advice.certificate
    if number == certificate.best:
        return "* "
    return "= " if number in {*certificate.tied, *certificate.same} else "  "


def _settings(each: "Found") -> str:
    return ", ".join(f"{key} {value}" for key, value in each.settings.items()) or "no settings"


def _amount(money: float) -> str:
    return f"{money:,.0f}" if money >= 100 else f"{money:.3g}"


def _half(mean: "Mean") -> str:
    """Half the interval; with a plus where it reaches farther up, for a loss that wasn't met."""
    up, down = mean.high - mean.mean, mean.mean - mean.low
    return f"+{percent(up)}" if up > down + ROUNDING else percent(up)


def money_between(mean: "Mean") -> str:
    """An amount of money with its interval."""
    cost, low, high = map(_amount, mean)
    return f"{cost} ({low} to {high})"


def share_between(mean: "Mean", unit: str = " %") -> str:
    """A share in percent, with its interval."""
    return f"{percent(mean.mean)}{unit} ({percent(mean.low)} to {percent(mean.high)})"


def _points(mean: "Mean") -> str:
    """A difference in percentage points, with its interval; of no sign, for what is less."""
    low, high = sorted(abs(each) for each in mean[1:]) if mean.low * mean.high > 0 else mean[1:]
    if max(abs(low), abs(high)) < ROUNDING:
        return words.POINTS.text(0.0)
    return words.between(abs(mean.mean), low, high)


def _verdict(advice: "Advice") -> str:
    names = [each.name for each in advice.found]
    assumed = "" if advice.best is None else assumed_costs(advice.best)
    condition = f", if {assumed}, which is assumed" * bool(assumed)
    return f"Answer: {words.sentence(advice.certificate, names)}{condition}."


def _told(advice: "Advice", best: "Found") -> str:
    told = {name: share_between(each) for name, each in best.measures.items() if name != "cost"}
    said = (
        f"{best.name} ({_settings(best)}): overhead {told['overhead']}, "
        f"machine time {told['machine_overhead']}"
    )
    if advice.scenario.currency:
        said += f", cost in {advice.scenario.currency} {money_between(best.measures['cost'])}"
    if advice.aim.objective == "retrained":
        said += f"; with lost updates trained again {told['overhead_retrained']}"
    if best.loses_nothing:
        return f"{said}; nothing learned is lost."
    lost = f"updates {told['updates_lost']}, samples (PLS) {told['pls']}"
    return f"{said}; lost for good: {lost}."


def _lossless(advice: "Advice", best: "Found") -> Iterator[str]:
    """The best that loses nothing, where the best loses something."""
    other = advice.lossless
    if best.loses_nothing or other is None:
        return
    yield (
        f"If nothing learned may be lost: {other.name} ({_settings(other)}), overhead "
        f"{share_between(other.measures['overhead'])}."
    )


def _why(advice: "Advice") -> Iterator[str]:
    """What makes the difference to the next, in time."""
    second = advice.runner_up
    if second is None or advice.aim.objective == "cost":
        return
    causes = {cause: each for cause, each in advice.apart.items() if cause != "overhead"}
    most = max((abs(each.mean) for each in causes.values()), default=0.0)
    told = sorted(
        (cause for cause, e in causes.items() if abs(e.mean) > max(_LITTLE * most, ROUNDING)),
        key=lambda cause: -abs(causes[cause].mean),
    )
    if not told:
        return
    parts = [
        f"{_points(causes[cause])} {'less' if causes[cause].mean > 0 else 'more'} {cause}"
        for cause in told
    ]
    yield f"Why, beside {second.name}, the next: {words.listed(parts)}."


def _nearest(advice: "Advice") -> Iterator[str]:
    """Who comes nearest to bounds that nobody keeps to, and what would have to give."""
    if advice.best is not None:
        return
    over = {each.name: each for each in advice.found if each.why}
    if not over:
        return
    near = min(over.values(), key=lambda each: each.over)
    yield f"Nearest: {near.name} ({_settings(near)}), whose {near.why}."


def _refused(advice: "Advice") -> Iterator[str]:
    reasons = defaultdict[str, list[str]](list)
    for each in advice.refused:
        reasons[each.why.removeprefix(f"system {each.system!r} ")].append(each.name)
    if reasons:
        told = "; ".join(f"{words.listed(names)}: {why}" for why, names in reasons.items())
        yield f"Not asked: {told}."


def _range(lever: "Lever", robust: "Robustness") -> str:
    low, high = lever.range(robust.within)
    factors = [world.factor for world in lever.worlds]
    tried = (low.factor == min(factors), high.factor == max(factors))
    ends = (_end(*end, robust) for end in zip((low, high), tried, strict=True))
    return f"{lever.name} from {' to '.join(ends)}"


def _end(world: "World", is_last: bool, robust: "Robustness") -> str:
    """Where a range ends, in brackets where nothing farther was tried."""
    unsure = " (not sure there)" * (world.holds(robust.within) is None)
    return f"[{world.value}]{unsure}" if is_last else f"{world.value}{unsure}"
