"""The section of docs/validation.md that compares replayed logs with their fitted laws."""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tools.paths import DOCS
from tools.tables import markdown, write_csv
from tools.validation import starts_section
from tools.validation.replayed import (
    GAPS,
    LENGTHS,
    LOGS,
    MEASURES,
    Compared,
    Log,
    Played,
    compare,
)
from tools.validation.systems.mean import Mean

HEADING = "## Replayed logs against their fitted laws"
#: CSV file of every row; the page links it.
TABLE = DOCS / "replayed-logs.csv"
#: Standard errors from which on a difference is beyond chance.
BEYOND = 3.0
#: What `fit` says of laws that need not agree with their log.
WARNINGS = ("a guess", "no law is adequate")

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
    """Return this section and the one on starts, and write their tables, if all logs are there.

    If a log is missing, return both sections of the `committed` page.
    """
    if not all(log.there for log in LOGS):
        return section_of(committed, HEADING), section_of(committed, starts_section.HEADING)
    with tempfile.TemporaryDirectory() as folder:
        found = {log: compare(log, Path(folder)) for log in LOGS}
    write_csv(TABLE, _HEAD, (row for log in LOGS for row in rows(log, found[log])))
    clocks = [log for log in LOGS if found[log].has_clock]
    starts = (row for log in clocks for row in starts_section.rows(log, found[log]))
    write_csv(starts_section.TABLE, starts_section.HEAD, starts)
    return f"{_TEXT}{summary()}\n{_beyond()}\n{_repeated()}", starts_section.section()


def section_of(page: str, heading: str) -> str:
    """Return the section of a page that has this heading."""
    start = page.index(heading)
    end = page.find("\n## ", start)
    return page[start : end if end >= 0 else None]


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


def _said(fit_says: str) -> str:
    """Return the finding of `fit` on a law, in short."""
    return next((each for each in WARNINGS if fit_says.startswith(each)), "adequate")


def _z() -> pd.DataFrame:
    """A row a comparison: `log`, `said`, `gaps`, `name` of what is compared, and `z`."""
    table = pd.read_csv(TABLE)
    wide = table.assign(said=table["fit says"].map(_said))
    z = wide.melt(["log", "said", "gaps"], [f"{name}, z" for name in _NAMES], "name", "z")
    return z.assign(name=z.name.str.removesuffix(", z"))


def summary() -> str:
    """Return a table: comparisons beyond chance, by the finding of `fit`."""
    found, lines = _z(), []
    for said in ("adequate", *WARNINGS):
        mine = found[found.said == said]
        beyond, largest = int((mine.z.abs() > BEYOND).sum()), max(mine.z, key=abs)
        lines.append((said, mine.log.nunique(), len(mine), beyond, f"{largest:+.1f}"))
    heads = ("`fit` says", "logs", "comparisons", "beyond 3 standard errors", "largest z")
    return markdown(heads, lines)


def _beyond() -> str:
    """The logs that differ from their laws, and where."""
    found = _z()
    found = found[found.z.abs() > BEYOND]
    if found.empty:
        return "No law is farther from its log than three standard errors.\n"
    told = []
    for (log, said), mine in found.groupby(["log", "said"], sort=False):
        of_each = (
            f"{name} at {', '.join(map(str, each.gaps))} gaps (z {max(each.z, key=abs):+.1f})"
            for name, each in mine.groupby("name", sort=False)
        )
        told.append(f"- {log} ({said}): {'; '.join(of_each)}\n")
    return f"Law and log differ by more than three standard errors in:\n\n{''.join(told)}"


def _repeated() -> str:
    """Return the differences under adequate laws that would be beyond chance for new failures."""
    table = pd.read_csv(starts_section.TABLE)
    surer = pd.read_csv(TABLE).set_index("log")["fit says"].map(_said) == "adequate"
    table = table[table.log.isin(surer[surer].index)]
    told = []
    for name, measure in zip(_NAMES, MEASURES, strict=True):
        of_law = [f"{measure}, stationary, {each}" for each in ("% above the log", "z")]
        mine = table[["log", "gaps", *of_law]].itertuples(index=False, name=None)
        told += [
            f"{log}, {gaps} gaps, {name} ({above:+.0f} %, z {z:+.1f})"
            for log, gaps, above, z in mine
            if abs(z) > BEYOND
        ]
    listed = f":\n\n- {f'{chr(10)}- '.join(told)}\n" if told else " none.\n"
    return (
        "If every replay counted as new failures, the differences beyond three standard errors\n"
        f"under adequate laws that are no guess would be{listed}"
    )


def percent(mean: Mean) -> tuple[str, str]:
    """A mean and its standard error in percent, both to the second digit of the latter."""
    decimals = max(0, 1 - math.floor(math.log10(100 * mean.error)))
    return f"{100 * mean.value:.{decimals}f}", f"{100 * mean.error:.{decimals}f}"
