"""The section of docs/validation.md that holds replayed logs against their fitted laws."""

import math
import re
import tempfile
from pathlib import Path

from tools.validation.replayed import LOGS, MEAN_GAPS, REPLICATIONS, Compared, Log, Mean, compare

HEADING = "## Replayed logs against their fitted laws"

_TEXT = f"""\
{HEADING}

Does it matter whether a job meets the failures of a log, or failures drawn from the law that
`cprsim fit` finds best? For each log, {REPLICATIONS} jobs of {MEAN_GAPS} mean gaps each are
played either way, with the same plans: full recovery at Young's interval, and partial recovery at
CPR's for a PLS of 0.1 over 8 servers. A replayed job runs on random nodes from a random start.
Overheads are in percent of the useful time, with their standard errors; z is the difference in
standard errors.

Where the tool calls a law adequate, the two agree within three standard errors. Where they don't,
it says beforehand that no law is adequate, and its `--toml` replays the log. (It is the stricter
of the two: the law of coalesced Grid'5000 misses the mean, and yet the overheads agree.)
*Clusters* means that it says short gaps follow short ones: the mean overhead then still holds,
but jobs differ more from each other (compare the standard errors). A law that starts anew with
each job has (cv² - 1)/2 failures more than the log in a job: the next section has jobs of few gaps,
where that counts. Lives of nodes (*uptimes*) start at all ages, as the nodes of the log do.

| log | best law | `cprsim fit` says | policy | replayed | law | z |
| --- | --- | --- | --- | --- | --- | --- |
"""


def section(committed: str) -> str:
    """The section, measured anew where the logs are at hand, else as it stands on the page."""
    if not all(log.there for log in LOGS):
        return as_it_stands(committed, HEADING)
    with tempfile.TemporaryDirectory() as folder:
        return _TEXT + "".join(rows(log, compare(log, Path(folder))) for log in LOGS)


def as_it_stands(committed: str, heading: str) -> str:
    """The section of that heading on a page."""
    start = committed.index(heading)
    end = committed.find("\n## ", start)
    return committed[start : end if end >= 0 else None]


def rows(log: Log, found: Compared) -> str:
    """The lines of one log, one for each policy."""
    law = found.fit.best.law.distribution
    return "".join(
        f"| {log.name} | {law} | {found.said} | {policy} "
        f"| {percent(each.replayed)} | {percent(each.fitted)} | {each.z:+.2f} |\n"
        for policy, each in found.overheads.items()
    )


def row_heads(text: str) -> list[str]:
    """Names of the logs in a section, in order."""
    return re.findall(r"^\| (.*?) \| \w+ \|.*\| full \|", text, re.MULTILINE)


def percent(mean: Mean) -> str:
    """A mean with its standard error in percent, both to the second digit of the latter."""
    decimals = max(0, 1 - math.floor(math.log10(100 * mean.error)))
    return f"{100 * mean.share:.{decimals}f} ± {100 * mean.error:.{decimals}f}"
