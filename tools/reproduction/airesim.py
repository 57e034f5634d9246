"""AIReSim's default job (arXiv 2603.07041), for which there is no picture."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import cprsim
from cprsim.scenario import load_scenario
from tools.paths import SCENARIOS
from tools.reproduction.lines import Line, Measured

SCENARIO: Final = SCENARIOS / "airesim.toml"
#: Of its configuration: days of training, servers at work and in the pool that they are taken from,
#: all machines; how many of these are bad from the start; failures a day of a good server, and how
#: many times as many a bad one has on top of them.
DAYS: Final = 256.0
SERVERS, POOL, MACHINES, BAD = 4096, 4160, 4360, 654
A_DAY, TIMES_MORE = 0.01, 5.0


class Published(NamedTuple):
    """One of its reports, each over 30 runs: hours, and failures in all or those of bad servers.

    `cured`: the share of repairs that make a bad server good, as it reports. `ettr`: effective
    training time in percent. None for what it does not say.
    """

    name: str
    source: str
    cured: float
    hours: float
    failures: float | None = None
    systematic: float | None = None
    ettr: float | None = None


#: The report of April 2026 (commit 7b139c7), and that of 22 September 2026, of the model restored.
REPORTS: Final = (
    Published(
        "April", "AIReSim's report of April 2026, stated", 0.760, 9865.97, 11145.6, ettr=62.3
    ),
    Published(
        "September",
        "AIReSim's report of 22 September 2026, stated",
        0.760,
        9873.0,
        systematic=684.7,
    ),
)


def failures(cured: float) -> float:
    """How many come on average: those of good servers, and what bad ones add until repaired."""
    return A_DAY * SERVERS * DAYS + systematic(cured)


def systematic(cured: float) -> float:
    """How many bad servers add until they are repaired."""
    return BAD * POOL / MACHINES / cured * TIMES_MORE / (1 + TIMES_MORE)


def mean_life_d(cured: float) -> float:
    """Mean life of a server, in days, that brings as many."""
    return SERVERS * DAYS / failures(cured)


@cache
def played(replications: int = 30) -> dict[str, Any]:
    """A row of a summary for each report."""
    rows = {}
    for report in REPORTS:
        scenario = load_scenario(SCENARIO, [f"failures.mean={mean_life_d(report.cured):.1f} d"])
        (rows[report.name],) = (
            row for _, row in cprsim.run(scenario, replications=replications).summary.iterrows()
        )
    return rows


def lines(found: dict[str, Any]) -> list[Line]:
    """What it publishes, beside what comes out."""
    return [line for report in REPORTS for line in _of(report, found[report.name])]


def _of(report: Published, row: Any) -> Iterator[Line]:
    hours, life = DAYS * 24, f"lives of {mean_life_d(report.cured):.1f} d"
    added = Measured(systematic(report.cured))
    ours = (
        ("time", "h", report.hours, _half(row, "overhead", hours, hours), "it waits some more"),
        ("failures", "", report.failures, _half(row, "failures"), f"{life}, of its rates"),
        ("failures of bad servers", "", report.systematic, added, "of its rates"),
        ("effective", "%", report.ettr, _half(row, "ettr", 100.0), ""),
    )
    for what, unit, published, mine, note in ours:
        if published is not None:
            named = f"{what}, {report.name}"
            role = "prediction" if mine.half else "arithmetic"
            yield Line(named, published, report.source, role, mine, unit, note)


def _half(row: Any, name: str, factor: float = 1.0, more: float = 0.0) -> Measured:
    """Return a measure in other units, and half of its 95 % interval.

    The lower half: the upper one also allows for losses of all copies, which no run has met.
    """
    return Measured(more + factor * row[name], factor * (row[name] - row[f"{name}_low"]))
