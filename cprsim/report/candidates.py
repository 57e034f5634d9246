"""The candidates of an answer as tables."""

from typing import TYPE_CHECKING

from rich.table import Table

from cprsim.advice.aims import LOST
from cprsim.basics.units import format_duration, percent
from cprsim.report.means import amount, half_width, share_and_half
from cprsim.report.terminal import plain_table

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice, Found

#: Of the table of the screen, after the policy.
_HEADINGS = ("interval", "overhead %", "lost %", "memory %", "trainer")
_NAME = 24
#: What each objective minimises.
_GOALS = {
    "time": "shortest time",
    "machine-time": "least machine time",
    "cost": "lowest cost",
    "retrained": "shortest time with lost updates trained again",
}


def small_table(advice: "Advice", most: int) -> list[str]:
    """A heading and so many policies, in columns of text.

    The best, the second answer and the user's own come before the others.
    """
    first = [advice.best, None if advice.allowing is None else advice.allowing.best]
    first += [advice.runner_up, *(e for e in advice.found if e.candidate.given)]
    names = [each.name for each in (*first, *advice.found) if each is not None]
    shown = list(dict.fromkeys(names))[:most]
    rows = [("* best, = tied, - excluded", *_HEADINGS)]
    rows += [
        (
            f"{_marked(advice, number)}{each.name[:_NAME]}",
            format_duration(each.saves_every_s),
            share_and_half(each.measures["overhead"]),
            percent(each.measures[LOST].mean),
            f"{100 * each.plan.memory_overhead:.3g}",
            each.needs,
        )
        for number, each in enumerate(advice.found)
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
    for number, each in enumerate(advice.found):
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
