"""The section of docs/validation.md that holds replayed logs against their fitted laws."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.paths import DOCS
from tools.validation import beside, starts_section
from tools.validation.replayed import (
    GAPS,
    LENGTHS,
    LOGS,
    MEASURES,
    Compared,
    Log,
    Mean,
    Played,
    compare,
)

HEADING = "## Replayed logs against their fitted laws"
#: Every row, beside the page.
TABLE = DOCS / "replayed-logs.csv"
#: Standard errors from which on a difference is beyond chance.
BEYOND = 3.0

_TEXT = f"""\
{HEADING}

Every log is replayed in jobs of 2, 6 and 60 mean gaps, and the same plans meet failures drawn from
the law that `cprsim fit` finds best: full recovery at Young's interval, and partial recovery at
CPR's for a PLS of 0.1 over 8 servers. Jobs of each length add up to {GAPS:,} gaps, but are no more
than 1,000 (400 of Alibaba's). Titan's GPUs are lives, and drawn from instead of replayed.

[replayed-logs.csv](replayed-logs.csv) has each log and length, in percent with standard errors,
which count as many jobs as fit into the log once. `fit` *says* beforehand whether a law is
adequate, and whether its mean is *a guess* (more than 5 % of it is extrapolated). An adequate law
that is no guess agrees with its log within three standard errors in each row; where no law is
adequate, `--toml` replays the log.

"""
_NAMES = ("full recovery", "partial recovery", "PLS")
_HEAD = (
    *("log", "law", "fit says", "gaps"),
    *(
        f"{name}, {of}"
        for name in _NAMES
        for of in ("log", "error of the log", "law", "error of the law", "z")
    ),
)


def sections(committed: str) -> tuple[str, str]:
    """The section and the one on starts, and their tables written, if all logs are at hand.

    Else both sections as they stand.
    """
    if not all(log.there for log in LOGS):
        return as_it_stands(committed, HEADING), as_it_stands(committed, starts_section.HEADING)
    with tempfile.TemporaryDirectory() as folder:
        found = {log: compare(log, Path(folder)) for log in LOGS}
    beside.write(TABLE, _HEAD, (row for log, each in found.items() for row in rows(log, each)))
    return f"{_TEXT}{summary(found)}\n{_repeated(found)}", starts_section.section(found)


def as_it_stands(committed: str, heading: str) -> str:
    """The section of that heading on a page."""
    start = committed.index(heading)
    end = committed.find("\n## ", start)
    return committed[start : end if end >= 0 else None]


def rows(log: Log, found: Compared) -> list[Sequence[str]]:
    """The cells of one log, a row for each length."""
    return [
        (
            *(log.name, found.law, found.said, str(gaps)),
            *(cell for measure in MEASURES for cell in _cells(found.jobs[gaps], measure)),
        )
        for gaps in LENGTHS
    ]


def _cells(jobs: Played, measure: str) -> tuple[str, ...]:
    told = *percent(jobs.log(measure)), *percent(jobs.law[measure])
    return *told, f"{jobs.z(measure):+.1f}"


def summary(found: dict[Log, Compared]) -> str:
    """How many comparisons are beyond chance, by what was said beforehand."""
    lines = ["| `fit` says | logs | comparisons | beyond 3 standard errors | largest z |\n"]
    lines.append("| --- | --- | --- | --- | --- |\n")
    for said in ("adequate", "a guess", "no law is adequate"):
        mine = [each for each in found.values() if (each.warned or "adequate") == said]
        played = [jobs for each in mine for jobs in each.jobs.values()]
        z = [jobs.z(measure) for jobs in played for measure in MEASURES]
        beyond, largest = sum(abs(each) > BEYOND for each in z), max(z, key=abs)
        lines.append(f"| {said} | {len(mine)} | {len(z)} | {beyond} | {largest:+.1f} |\n")
    return "".join(lines)


def _repeated(found: dict[Log, Compared]) -> str:
    """Of adequate laws, what is beyond chance if every replay counts as new failures."""
    told = [
        f"{log.name}, {gaps} gaps, {name} ({100 * excess:+.0f} %, z {z:+.1f})"
        for log, each in found.items()
        if not each.warned
        for gaps, jobs in each.jobs.items()
        for name, excess, z in _of_replays(jobs)
        if abs(z) > BEYOND
    ]
    listed = f":\n\n- {f'{chr(10)}- '.join(told)}\n" if told else " none.\n"
    return (
        "If every replay counted as new failures, the differences beyond three standard errors\n"
        f"under adequate laws that are no guess would be{listed}"
    )


def _of_replays(jobs: Played) -> Iterator[tuple[str, float, float]]:
    for name, measure in zip(_NAMES, MEASURES, strict=True):
        yield name, jobs.excess("stationary", measure), jobs.z_of_replays("stationary", measure)


def percent(mean: Mean) -> tuple[str, str]:
    """A mean and its standard error in percent, both to the second digit of the latter."""
    decimals = max(0, 1 - math.floor(math.log10(100 * mean.error)))
    return f"{100 * mean.share:.{decimals}f}", f"{100 * mean.error:.{decimals}f}"
