"""AIReSim's default job (arXiv 2603.07041), for which there is no picture."""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import cprsim
from cprsim.scenario import load_scenario
from tools.paths import SCENARIOS
from tools.reproduction.lines import Line, Measured

SCENARIO: Final = SCENARIOS / "airesim.toml"
#: Of its configuration: days of training, servers at work and in the pool that they are taken from.
DAYS: Final = 256.0
SERVERS, POOL = 4096, 4160
#: What is played: the job as shipped, without bad servers, and with repairs that cure nobody, of
#: which one retires a server at its first repair.
PLAYED: Final[dict[str, tuple[str, ...]]] = {
    "shipped": (),
    "all good": ("failures.offenders.share=0",),
    "never cured": ("failures.offenders.cured=0",),
    "retired": ("failures.offenders.cured=0", "failures.offenders.retired_after=1"),
}
_NORMAL: Final = 1.96  # half of a 95 % interval, in standard errors


class Published(NamedTuple):
    """One of its reports, each over 30 runs: hours, and failures in all or those of bad servers.

    `ettr`: effective training time in percent. None for what it does not say.
    """

    name: str
    source: str
    hours: float
    failures: float | None = None
    systematic: float | None = None
    ettr: float | None = None


#: The report of April 2026 (commit 7b139c7), and that of 22 September 2026, of the model restored.
REPORTS: Final = (
    Published("April", "AIReSim's report of April 2026, stated", 9865.97, 11145.6, ettr=62.3),
    Published(
        "September", "AIReSim's report of 22 September 2026, stated", 9873.0, systematic=684.7
    ),
)
#: What retiring saves at most where repairs do not cure, % of the time (September).
RETIRING: Final = 19.0


@cache
def played(replications: int = 30) -> dict[str, Any]:
    """The replications of each of `PLAYED`."""
    return {
        name: cprsim.run(load_scenario(SCENARIO, keys), replications=replications).replications
        for name, keys in PLAYED.items()
    }


def lines(found: dict[str, Any]) -> list[Line]:
    """Return its published numbers with ours."""
    return [
        *(line for report in REPORTS for line in _of(report, found)),
        Line(
            "saved by retiring where no repair cures",
            RETIRING,
            f"{REPORTS[1].source} as the most",
            "prediction",
            _saved(found["never cured"], found["retired"]),
            "%",
            "retired at the first repair; here 15 % of new servers are bad as well",
        ),
    ]


def _of(report: Published, found: dict[str, Any]) -> Iterator[Line]:
    shipped, plain = found["shipped"], found["all good"]
    hours = DAYS * 24
    added = _mean(shipped["failures"] - plain["failures"])
    ours = (
        ("time", "h", report.hours, _mean(hours * (1 + shipped["overhead"])), ""),
        ("failures", "", report.failures, _mean(shipped["failures"]), ""),
        ("failures of bad servers", "", report.systematic, added, "more than with none"),
        ("effective", "%", report.ettr, _mean(100 / (1 + shipped["overhead"])), ""),
    )
    for what, unit, published, mine, note in ours:
        if published is not None:
            named = f"{what}, {report.name}"
            yield Line(named, published, report.source, "prediction", mine, unit, note)


def _saved(before: Any, after: Any) -> Measured:
    """Return the percent of the time that is saved in the mean, and half of its 95 % interval."""
    wall = [_mean(1 + each["overhead"]) for each in (before, after)]
    ratio = float(wall[1].value) / float(wall[0].value)
    half = ratio * math.hypot(*(each.half / float(each.value) for each in wall))
    return Measured(100 * (1 - ratio), 100 * half)


def _mean(values: Any) -> Measured:
    """Return the mean of runs, and half of its 95 % interval."""
    return Measured(float(values.mean()), _NORMAL * float(values.std()) / math.sqrt(len(values)))
