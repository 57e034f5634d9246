"""The answer of `cprsim advise` on one screen, its table, and the configuration to copy."""

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import tomli_w
from rich.table import Table

from cprsim.advice.criteria import LOST, WHY_SAVE
from cprsim.basics.lines import wrapped
from cprsim.basics.terminal import plain_table
from cprsim.basics.units import format_duration, listed, percent
from cprsim.errors import RunError, UsageError
from cprsim.report.answer import answer_lines, robust_lines
from cprsim.report.means import amount, half_width, share_and_half
from cprsim.runs.cautions import not_given
from cprsim.runs.selection.words import some
from cprsim.scenario.mapping import leaves, quoted

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice, Found
    from cprsim.advice.robustness import Robustness

#: Lines and columns of the screen that an answer fits.
LINES, WIDTH = 24, 80
#: Policies in the table of the screen, and the fewest: less important lines give way to them.
_ROWS, _FEWEST = 6, 3
#: In the reason of a system that exceeds the memory of the machines.
TOO_LARGE = ", which has "
#: An interval that is so near to the longest that is allowed is at that limit, as a share.
_NEAR = 0.01
#: The headings of the table of the screen.
_HEADINGS = (
    *("* best, = tied, - excluded", "interval", "overhead %", "lost %", "memory %", "trainer"),
)
_NAME = 24
#: What each objective minimises.
_GOALS = {
    "time": "shortest time",
    "machine-time": "least machine time",
    "cost": "lowest cost",
    "retrained": "shortest time with lost updates trained again",
}


def screen(
    advice: "Advice", robust: "Robustness | None", width: int = WIDTH, most: float = LINES
) -> list[str]:
    """The answer in `most` lines of `WIDTH` columns, without the lesser notes if they do not fit.

    What to do, what the policy does, a table of a few policies, what the answer assumes, what would
    change it, and the configuration to copy.
    """
    above = [line for each in answer_lines(advice) for line in wrapped(each, width).splitlines()]
    copied = configuration(advice).splitlines()
    room = most - len(above) - len(copied) - 1
    said = (*_too_large(advice), *robust_lines(advice, robust), *_lesser(advice))
    notes = [wrapped(each, width).splitlines() for each in said]
    while notes and sum(map(len, notes)) > room - min(_FEWEST, len(advice.found)):
        notes.pop()  # the last are the least
    rows = int(min(_ROWS, max(room - sum(map(len, notes)), 1)))
    return [*above, *_small_table(advice, rows), *chain(*notes), *copied]


def _too_large(advice: "Advice") -> Iterator[str]:
    """Yield the systems that need more memory than the machines have."""
    large = [each for each in advice.refused if TOO_LARGE in each.why]
    if large:
        first, names = large[0], some([each.name for each in large])
        yield f"Not considered for lack of memory: {names}; {first.name} {first.why}."


def _lesser(advice: "Advice") -> Iterator[str]:
    """Costs that the scenario doesn't give, a limit that sets the interval, what was left out."""
    missing = [] if advice.of_fleet else not_given(advice.scenario)
    if missing:
        yield f"Not given, and free: {listed(missing)}; see --details."
    answers = [advice.best, None if advice.allowing is None else advice.allowing.best]
    longest_s = advice.criteria.max_interval_s
    slowest_s = max((each.slowest_s for each in answers if each is not None), default=0.0)
    if math.isfinite(longest_s) and slowest_s >= (1 - _NEAR) * longest_s:
        yield f"{format_duration(longest_s)} is --max-interval: no model knows {WHY_SAVE}."
    others = sum(TOO_LARGE not in each.why for each in advice.refused)
    if others:
        yield f"Not considered: {others} that lack an input or exceed a limit; see --details."


def _small_table(advice: "Advice", most: int) -> list[str]:
    """A heading and so many policies, in columns of text.

    The best, the second answer and the user's own come before the others.
    """
    first = [advice.best, None if advice.allowing is None else advice.allowing.best]
    first += [advice.runner_up, *(e for e in advice.found if e.candidate.given)]
    names = [each.name for each in (*first, *advice.found) if each is not None]
    shown = list(dict.fromkeys(names))[:most]
    rows: list[tuple[str, ...]] = [_HEADINGS]
    rows += [
        (
            f"{_marked(advice, number)}{textwrap.shorten(each.name, _NAME, placeholder=' ...')}",
            format_duration(each.saves_every_s),
            share_and_half(each.measures["overhead"]),
            percent(each.measures[LOST].mean),
            f"{100 * each.plan.memory_overhead:.3g}",
            each.needs,
        )
        for number, each in enumerate(_found(advice))
        if each.name in shown
    ]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(size) if place == 0 else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]


def _found(advice: "Advice") -> "list[Found]":
    """The candidates; the second answer has the numbers of its sentence, and here a limit."""
    second = None if advice.allowing is None else advice.allowing.best
    return [
        replace(second, feasible=each.feasible) if second and second.name == each.name else each
        for each in advice.found
    ]


def answer_table(advice: "Advice") -> Table:
    """A row a candidate, the best first; those that exceed a limit last. Fits 80 columns."""
    money = advice.scenario.currency
    title = "\n".join([advice.scenario.title or "cprsim advise", _question(advice)])
    table = plain_table(title, close=True)
    table.add_column("policy", min_width=15)
    headings = ["saves\nevery", "over-\nhead %", "\n± 95 %", "PLS\n%"]
    headings += ["updates\nlost %", "machine\ntime %"]
    headings += ["in\nsum %"] * advice.of_fleet + [f"cost\n{money}"] * bool(money)
    headings += ["in\nbounds"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for number, each in enumerate(_found(advice)):
        overhead = each.measures["overhead"]
        cells = [
            f"{_marked(advice, number)}{each.name}{_other_settings(each)}",
            format_duration(each.saves_every_s),
            percent(overhead.mean),
            half_width(overhead),
            *(percent(each.measures[name].mean) for name in ("pls", "updates_lost")),
            percent(each.measures["machine_overhead"].mean),
        ]
        cells += [] if each.in_sum is None else [percent(each.in_sum.mean)]
        cells += [amount(each.measures["cost"].mean)] if money else []
        table.add_row(*cells, {True: "yes", False: "no", None: "?"}[each.feasible])
    return table


def _other_settings(each: "Found") -> str:
    """Settings other than the interval of the nearest tier, on a line of their own."""
    said = [
        f"{key.removesuffix('.interval').replace('_', ' ')} {value}"
        for place, (key, value) in enumerate(each.settings.items())
        if place or not key.endswith("interval")
    ]
    return f"\n    {', '.join(said)}" if said else ""


def _question(advice: "Advice") -> str:
    criteria = advice.criteria
    goal = [_GOALS[criteria.objective], *["no learning lost"] * criteria.assumed]
    goal += map(str, criteria.asked)
    return (
        f"{'; '.join(goal)}; simulated, seed {advice.seed};\n"
        f"{_base(advice)}; * best, = statistically tied"
    )


def _base(advice: "Advice") -> str:
    """Return the noun that overheads are shares of."""
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


def configuration(advice: "Advice") -> str:
    """The TOML block of the recommended policy, to copy into a scenario.

    Of a policy of the scenario the keys that change.
    """
    best = advice.best
    if best is None:
        return ""
    policy, origin = best.candidate.policy, best.candidate.origin
    if origin is None:
        keys = policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        said = policy.model_dump(mode="json", by_alias=True)
        keys |= {key: said[key] for key in best.settings if key in said}
        pairs = _pairs({"system": policy.system} | keys)
        taken = policy.system in advice.scenario.policies
        name = f"{policy.system}-advised" if taken else policy.system
        return "\n".join([f"[policies.{quoted(name)}]", *pairs])
    own, new = (
        dict(leaves(each.model_dump(mode="json", by_alias=True)))
        for each in (advice.scenario.policies[origin], policy)
    )
    changed = {".".join(p): new.get(p) for p in own | new if new.get(p) != own.get(p)}
    lines = [
        f"# remove {key}" if value is None else f"{key} = {_toml(value)}"
        for key, value in changed.items()
    ]
    heading = f"[policies.{quoted(origin)}]   # " + ("these keys change" if lines else "as it is")
    return "\n".join([heading, *lines])


def _toml(value: Any) -> str:
    return tomli_w.dumps({"it": value}).strip().removeprefix("it = ")


def interval(advice: "Advice", steps: bool = False) -> str:
    """The recommended interval alone, for a shell script: whole seconds, or steps of training.

    That of the nearest tier, in useful time; `"never"` where nothing is saved.

    Raises `RunError` if no policy meets the limits, and `UsageError` for steps if the scenario
    doesn't say how many samples a step has.
    """
    best, job, model = advice.best, advice.scenario.job, advice.scenario.model
    if best is None:
        raise RunError("no policy meets the limits, so there is no interval")
    every_s = best.saves_every_s
    if math.isinf(every_s):
        return "never"
    if not steps:
        return f"{max(every_s, 1.0):.0f}"
    batch = None if model is None else model.batch
    if job.samples is None or batch is None:
        raise UsageError("--steps needs job.samples and model.batch, samples of a step")
    return f"{max(every_s / job.useful_time_s * job.samples / batch, 1.0):.0f}"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    """Return lines of `key = value`, a table within as an inline table."""
    found = []
    for key, value in table.items():
        if isinstance(value, dict):
            found.append(f"{key} = {{ {', '.join(_pairs(value))} }}")
        elif value is not None:
            found.append(f"{key} = {_toml(value)}")
    return found
