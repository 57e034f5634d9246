"""The answer of `cprsim advise` in words: one screen, and the details behind it.

The command, the report, the page and the README take the answer from here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import tomli_w
from rich.table import Table

from cprsim.advice.aims import ALLOWED, LOST, WHY_SAVE
from cprsim.basics.lines import wrapped
from cprsim.basics.units import format_duration, format_percent, percent
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.contract.needs import TRAINER_NEEDS
from cprsim.report.terminal import plain_table
from cprsim.selection import words
from cprsim.selection.intervals import ROUNDING

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice, Found
    from cprsim.advice.robustness import Doubled, Lever, Robustness, World
    from cprsim.advice.search import Leading
    from cprsim.runs.mean import Mean

#: Lines and columns of the screen that an answer fits.
LINES, WIDTH = 24, 80
#: Policies in the table of the screen, and the fewest: less important lines give way to them.
_ROWS, _FEWEST = 6, 3
#: Of the table of the screen, after the policy.
_HEADINGS = ("interval", "overhead %", "lost %", "memory %", "trainer")
_NAME = 24
#: Overhead from which on a job is said to be hopeless: half the time again.
HOPELESS = 0.5
#: In the reason of a system that exceeds the memory of the machines.
TOO_LARGE = ", which has "
#: Overhead of a run that was given up.
_ENDLESS = 50.0
#: What each objective minimises.
_GOALS = {
    "time": "shortest time",
    "machine-time": "least machine time",
    "cost": "lowest cost",
    "retrained": "shortest time with lost updates trained again",
}
#: So many causes of an overhead are told, and none of less than one in so many parts of it.
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
#: An interval that is so near to the longest that is allowed stands at that limit, as a share.
_NEAR = 0.01


def screen(advice: "Advice", robust: "Robustness | None", width: int = WIDTH) -> list[str]:
    """The answer in no more than `LINES` lines of `WIDTH` columns.

    What to do, what the policy does, a table of a few policies, what the answer assumes, what would
    change it, and the configuration to copy.
    """
    above = [line for each in answer_lines(advice) for line in _lines(each, width)]
    copied = configuration(advice).splitlines()
    room = LINES - len(above) - len(copied) - 1
    notes = [_lines(each, width) for each in robust_lines(advice, robust)]
    notes += [_lines(each, width) for each in (*_longest(advice), *_left_out(advice))]
    while notes and sum(map(len, notes)) > room - min(_FEWEST, len(advice.found)):
        notes.pop()  # the last are the least
    rows = min(_ROWS, max(room - sum(map(len, notes)), 1))
    return [*above, *_small_table(advice, rows), *chain(*notes), *copied]


def answer_lines(advice: "Advice") -> Iterator[str]:
    """What to do, what the policy does, how certain that is, and what a limit would change."""
    yield headline(advice)
    best = advice.best
    if best is None:
        yield from _nearest(advice)
        return
    yield _cost(advice, best)
    policy = type(best.candidate.policy)
    if policy.does():
        needs = f" It needs {TRAINER_NEEDS[best.needs]}." * (best.needs != "any")
        yield f"{best.candidate.system}: {policy.does()}{needs}{_assuming(best)}"
    yield certainty(advice)
    yield from _allowing(advice)


def headline(advice: "Advice") -> str:
    """The recommendation in one sentence: the only one of a page."""
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
        return f"This job is hopeless: failures add {format_percent(overhead)} at best. {do}"
    return do


def _assuming(found: "Found") -> str:
    """What a policy rests on that no cost can price, as a sentence; empty for nothing."""
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
            said.append(f"{every} {value}{_range(found, key) if ranges else ''}")
    return ", ".join(said)


def _range(found: "Found", key: str) -> str:
    low_s, high_s = found.as_good(key)
    if high_s <= low_s:
        return ""
    low, high = format_duration(low_s), format_duration(high_s)
    number, unit = low.split()
    return f" ({number if high.endswith(f' {unit}') else low} to {high} is as good)"


def _cost(advice: "Advice", best: "Found") -> str:
    """What the policy costs, what that is spent on, and what it loses."""
    overhead = best.measures["overhead"].mean
    if advice.of_fleet:
        cost = f"It costs {format_percent(overhead)} of the useful time of the mean job"
    else:
        useful_s = advice.scenario.job.useful_time_s
        spent = f"{format_duration(overhead * useful_s)}, {format_percent(overhead)} of"
        cost = f"It costs {spent} the {format_duration(useful_s)} of training"
    if advice.scenario.currency:
        cost += f", {_amount(best.measures['cost'].mean)} {advice.scenario.currency}"
    if best.plan.memory_overhead >= _MUCH_MEMORY:
        cost += f", {100 * best.plan.memory_overhead:.0f} % more table memory"
    lost = "no learning is" if best.loses_nothing else f"{_lost(best)} of the learning is"
    return f"{cost}{_spent(best, overhead)}; {lost} lost."


def _spent(best: "Found", overhead: float) -> str:
    """The largest parts of an overhead, by cause; empty where one cause is all of it."""
    parts = [(each.mean, CAUSE_LABELS[cause]) for cause, each in best.causes.items()]
    parts = sorted((each for each in parts if each[0] > overhead / _SMALL), reverse=True)
    said = [f"{percent(mean)} % {label}" for mean, label in parts[:_LARGEST]]
    return f" ({', '.join(said)}{', ...' * (len(parts) > _LARGEST)})" if len(parts) > 1 else ""


def _lost(found: "Found") -> str:
    return format_percent(found.measures[LOST].mean)


def certainty(advice: "Advice") -> str:
    """How certain the choice is, as far as chance goes."""
    names = [
        f"{each.name} as it is" if each.candidate.origin == each.name else each.label
        for each in advice.found
    ]
    said = words.standing(advice.certificate, names)
    if not advice.certificate.rivals:
        within = "that loses no learning" if advice.aim.assumed else "within the limits"
        said = f"it is the only policy {within}"
    return f"Certainty: {said}; wrong inputs matter more."


def _allowing(advice: "Advice") -> Iterator[str]:
    """What allowing some loss would gain, or what allowing none would cost."""
    best, second = advice.best, advice.allowing
    assert best is not None
    if second is not None and second.best is not None:
        other = second.best
        allowing = f"Allowing {100 * ALLOWED.most:g} % of the learning to be lost"
        gain = best.objective.mean - other.objective.mean
        if gain <= advice.aim.within:
            yield f"{allowing} would gain nothing."
            return
        does = type(other.candidate.policy).does()
        yield (
            f"{allowing} would gain {words.POINTS.text(gain)}: {other.label}, "
            f"{settings_of(other, ranges=False)}, loses {_lost(other)}. {does}{_assuming(other)}"
        )
    elif not best.loses_nothing:
        safe = advice.lossless
        yield (
            "Every policy that was considered loses learning."
            if safe is None
            else (
                f"The best that loses no learning: {safe.label}, {settings_of(safe)}, "
                f"{format_percent(safe.measures['overhead'].mean)}."
            )
        )


def _nearest(advice: "Advice") -> Iterator[str]:
    """The policy nearest to limits that none meets, and the limit that it exceeds."""
    over = [each for each in advice.found if each.why]
    if over:
        near = min(over, key=lambda each: (advice.aim.assumed and not each.lossless, each.over))
        yield f"The nearest: {near.name} ({settings_of(near)}): {near.why}."


def robust_lines(advice: "Advice", robust: "Robustness | None") -> Iterator[str]:
    """What the answer assumes, with the effect of each, and the range over which it holds."""
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
        yield f"Not known and charged as 0: {', '.join(unknown)}."
    held = [(each, *each.range(robust.within)) for each in robust.levers]
    others = [lever.name for lever, *ends in held if _is_all(lever, *ends)]
    parts = [f"for {', '.join(_held(*each) for each in held if not _is_all(*each))}"]
    if len(others) == len(held):
        parts = []
    if others:
        parts.append(f"if {_any(others)} is 1/4 to 4 times yours")
    if parts:
        yield f"Still the best {', and '.join(parts)}."


def _longest(advice: "Advice") -> Iterator[str]:
    """Why saves are no rarer, where the limit is what sets their interval."""
    best, longest_s = advice.best, advice.aim.max_interval_s
    if best is not None and best.slowest_s >= (1 - _NEAR) * longest_s:
        yield f"{format_duration(longest_s)} is --max-interval: no model knows {WHY_SAVE}."


def _left_out(advice: "Advice") -> Iterator[str]:
    """How many systems were not considered, in one line."""
    large = [each.name for each in advice.refused if TOO_LARGE in each.why]
    others = len(advice.refused) - len(large)
    said = [f"{words.some(large)} (too little memory)"] * bool(large)
    said += [f"{others} that lack an input or exceed a limit"] * bool(others)
    if said:
        yield f"Not considered: {', '.join(said)}; see --details."


def _any(names: list[str]) -> str:
    return words.listed(names).replace(" and ", " or ")


def _with(each: "Doubled") -> str:
    """An input that is twice as bad, in words."""
    value = each.value.removeprefix("a save in ")
    if value != each.value:
        return f"with a save in {value}"
    basis = "" if each.basis == "given" else f" ({each.basis})"
    return (
        _WITH.get(each.name, "with {name} of {value}").format(name=each.name, value=value) + basis
    )


def _is_all(lever: "Lever", low: "World", high: "World") -> bool:
    """Return whether the choice stays the best over all that was tried."""
    factors = [world.factor for world in lever.worlds]
    return low.factor == min(factors) and high.factor == max(factors)


def _held(lever: "Lever", low: "World", high: "World") -> str:
    """The range over which the choice stays the best; open where nothing farther was tried."""
    factors = [world.factor for world in lever.worlds]
    if low.factor == min(factors):
        return f"{lever.name} up to {high.value}"
    if high.factor == max(factors):
        return f"{lever.name} from {low.value}"
    return f"{lever.name} {low.value} to {high.value}"


def configuration(advice: "Advice") -> str:
    """The TOML block of the recommended policy, to copy into a scenario.

    Of a policy of the scenario the keys that change.
    """
    best = advice.best
    if best is None:
        return ""
    policy, origin = best.candidate.policy, best.candidate.origin
    keys = policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    pairs = _pairs({"system": policy.system} | keys)
    if origin is None:
        return "\n".join([f"[policies.{policy_name(best, advice)}]", *pairs])
    own = _pairs(advice.scenario.policies[origin].model_dump(mode="json", by_alias=True))
    changed = [each for each in pairs if each not in own]
    heading = f"[policies.{origin}]   # " + ("these keys change" if changed else "as it is")
    return "\n".join([heading, *changed])


def _pairs(table: Mapping[str, Any]) -> list[str]:
    """Return lines of `key = value`, a table within as an inline table."""
    found = []
    for key, value in table.items():
        if isinstance(value, dict):
            found.append(f"{key} = {{ {', '.join(_pairs(value))} }}")
        elif value is not None:
            found.append(tomli_w.dumps({key: value}).strip())
    return found


def policy_name(best: "Found", advice: "Advice") -> str:
    """The name in the scenario of the policy that was tuned, else a new one after its system."""
    candidate = best.candidate
    if candidate.origin is not None:
        return candidate.origin
    taken = candidate.system in advice.scenario.policies
    return f"{candidate.system}-advised" if taken else candidate.system


def _lines(text: str, width: int) -> list[str]:
    return wrapped(text, width).splitlines()


def _shown(advice: "Advice", most: int) -> list["Found"]:
    """The candidates of a small table: the best, the second answer, the user's own, the others."""
    chosen = [advice.best, None if advice.allowing is None else advice.allowing.best]
    chosen += [advice.runner_up, *(e for e in advice.found if e.candidate.origin == e.name)]
    names = [each.name for each in (*chosen, *advice.found) if each is not None]
    shown = list(dict.fromkeys(names))[:most]
    return [each for each in advice.found if each.name in shown]


def _small_table(advice: "Advice", most: int) -> list[str]:
    """A heading and so many policies, in columns of text."""
    rows = [("* best, = tied, - over a limit", *_HEADINGS)]
    number = {each.name: place for place, each in enumerate(advice.found)}
    for each in _shown(advice, most):
        overhead = each.measures["overhead"]
        rows.append(
            (
                f"{_marked(advice, number[each.name])}{each.name[:_NAME]}",
                format_duration(each.saves_every_s),
                f"{percent(overhead.mean)} {_plus_minus(overhead)}",
                percent(each.measures[LOST].mean),
                f"{100 * each.plan.memory_overhead:.3g}",
                each.needs,
            )
        )
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(size) if place == 0 else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]


def _in_bounds(each: "Found") -> str:
    return {True: "yes", False: "no", None: "?"}[each.feasible]


def answer_table(advice: "Advice") -> Table:
    """A row a candidate, the best first; those that exceed a limit last. Fits 80 columns."""
    money = advice.scenario.currency
    table = plain_table("\n".join([advice.scenario.title or "cprsim advise", _question(advice)]))
    table.collapse_padding = True
    table.add_column("policy", min_width=15)
    headings = ["saves\nevery", "over-\nhead %", "\n± 95 %", "PLS\n%"]
    headings += ["updates\nlost %", "machine\ntime %"]
    headings += ["in\nsum %"] * advice.of_fleet + [f"cost\n{money}"] * bool(money)
    headings += ["in\nbounds"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for number, each in enumerate(advice.found):
        overhead = each.measures["overhead"]
        cells = [
            f"{_marked(advice, number)}{each.name}{_other_settings(each)}",
            format_duration(each.saves_every_s),
            percent(overhead.mean),
            _half(overhead),
            *(percent(each.measures[name].mean) for name in ("pls", "updates_lost")),
            percent(each.measures["machine_overhead"].mean),
        ]
        cells += [] if each.in_sum is None else [percent(each.in_sum.mean)]
        cells += [_amount(each.measures["cost"].mean)] if money else []
        table.add_row(*cells, _in_bounds(each))
    return table


def _other_settings(each: "Found") -> str:
    """Settings other than the interval of the nearest tier, on a line of their own."""
    said = [
        f"{key.removesuffix('.interval').replace('_', ' ')} {value}"
        for place, (key, value) in enumerate(each.settings.items())
        if place or not key.endswith("interval")
    ]
    return f"\n    {', '.join(said)}" if said else ""


def detail_lines(advice: "Advice") -> Iterator[str]:
    """What makes the difference to the second, notes, and the policies that were not considered."""
    yield from _difference(advice)
    for note in advice.warnings:
        yield f"Note: {note}"
    yield from _refused(advice)


def known_so_far(known: "Advice | Leading | None") -> str:
    """What is known when the search is interrupted."""
    if known is None:
        return "nothing was simulated yet"
    if not isinstance(known, tuple):
        return " ".join((headline(known), certainty(known)) if known.best else [headline(known)])
    values = (f"{key} {value}" for key, value in known.policy.mapping().items() if key != "system")
    return (
        f"{known.policy.system} ({', '.join(values)}) leads with {percent(known.objective)} % in "
        f"{known.replications:,} replications; nothing is certain yet"
    )


def _question(advice: "Advice") -> str:
    aim = advice.aim
    limits = "; ".join(["no learning lost"] * aim.assumed + [str(each) for each in aim.asked])
    return (
        f"{_GOALS[aim.objective]}{f'; {limits}' * bool(limits)}; simulated, seed {advice.seed};\n"
        f"{_base(advice)}; * best, = statistically tied"
    )


def _base(advice: "Advice") -> str:
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
    if number in {*certificate.tied, *certificate.same}:
        return "= "
    return {True: "  ", False: "- ", None: "? "}[certificate.kept[number]]


def _amount(money: float) -> str:
    return f"{money:,.0f}" if money >= 100 else f"{money:.3g}"


def _half(mean: "Mean") -> str:
    """Half the interval; with a plus where it reaches farther up, for a loss that wasn't met."""
    up, down = mean.high - mean.mean, mean.mean - mean.low
    return f"+{percent(up)}" if up > down + ROUNDING else percent(up)


def _plus_minus(mean: "Mean") -> str:
    half = _half(mean)
    return half if half.startswith("+") else f"±{half}"


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


def _difference(advice: "Advice") -> Iterator[str]:
    """By cause, what the best takes less or more than the second, in time."""
    second = advice.runner_up
    if second is None or advice.aim.objective == "cost":
        return
    causes = {cause: each for cause, each in advice.apart.items() if cause != "overhead"}
    most = max((abs(each.mean) for each in causes.values()), default=0.0)
    large = sorted(
        (cause for cause, e in causes.items() if abs(e.mean) > max(_LITTLE * most, ROUNDING)),
        key=lambda cause: -abs(causes[cause].mean),
    )
    if large:
        parts = [
            f"{_points(causes[cause])} {'less' if causes[cause].mean > 0 else 'more'} {cause}"
            for cause in large
        ]
        yield f"Compared with {second.name}, the second best: {words.listed(parts)}."


def _refused(advice: "Advice") -> Iterator[str]:
    reasons = defaultdict[str, list[str]](list)
    for each in advice.refused:
        reasons[each.why.removeprefix(f"system {each.system!r} ")].append(each.name)
    if reasons:
        said: Iterable[str] = (f"{words.listed(n)}: {why}" for why, n in reasons.items())
        yield f"Not considered: {'; '.join(said)}."
