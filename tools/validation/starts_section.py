"""The section of docs/validation.md that asks where in a gap a job starts."""

import re
import tempfile
from pathlib import Path

from tools.validation.replayed import Log
from tools.validation.replayed_section import as_it_stands, percent
from tools.validation.starts import AGES, GAPS, LENGTHS, LOGS, MEASURES, Short, Starts, starts

HEADING = "## Where in a gap a job starts"

_TEXT = f"""\
{HEADING}

With `ages = "new"` a gap begins with the job, with `"stationary"` one is under way
([semantics.md](semantics.md), rule 16). Which of them is like a log? Logs with an adequate law that
is not exponential, replayed and by their law, in jobs of 2, 6 and 60 mean gaps; 2 are the regime of
the CPR paper, 56 h at an MTBF of 28 h. Plans are those of the section before; jobs of each length
add up to {GAPS:,} gaps. The cells of a law say how much more it takes than the log, in percent of
what the log takes, and in standard errors (z).

"""

_ARGUED = """\
Jobs of two gaps whose clock starts new take more than under the log, with all logs, by most beyond
chance, and the more so the more the gaps vary. With a clock that is under way they take as much, at
every length and with every log. At 60 gaps the two can't be told apart. So these logs speak for
`stationary`, which is the default.

They can't speak for all failures. A replay starts at random by construction, as a job does whose
nodes have run before and will run after it; a log of nodes doesn't know when jobs began. Failures
that a job brings with it (a wrong setting, memory that runs out) come early in each job, and for
them `new` is right, for the first gap at least.

What the CPR paper measured can be read either way. It counts times to failure of 17,000 jobs in 30
days of a production cluster, from the start of each, and finds failures near the start more likely
than later on (both recalled, not checked against its text). As it stands that is the law of the
first gap of a job that starts new. But jobs that differ in their MTBF show the same curve when they
are put together, though none has a clock: those that fail often fail first. And its equations (E1),
(E2) and (E4), and its emulation of two failures at random instants of 56 h, have time / MTBF
failures in a job, however short: those of a stationary clock.

"""


def section(committed: str) -> str:
    """The section, measured anew where the logs are at hand, else as it stands on the page."""
    if not all(log.there for log in LOGS):
        return as_it_stands(committed, HEADING)
    with tempfile.TemporaryDirectory() as folder:
        found = {log: starts(log, Path(folder)) for log in LOGS}
    lines = "".join(rows(log, each) for log, each in found.items())
    return _TEXT + summary(list(found.values())) + "\n" + _ARGUED + _HEAD + lines


_HEAD = (
    "| log | best law | gaps a job "
    + "".join(f"| {each}, replayed, % | new | stationary " for each in MEASURES)
    + "|\n|"
    + " --- |" * (3 + 3 * len(MEASURES))
    + "\n"
)


def rows(log: Log, found: Starts) -> str:
    """The lines of one log, one for each length."""
    return "".join(
        f"| {log.name} | {found.law} | {gaps} | "
        + " | ".join(_cells(found.jobs[gaps], measure) for measure in MEASURES)
        + " |\n"
        for gaps in LENGTHS
    )


def _cells(jobs: Short, measure: str) -> str:
    laws = (
        f"{100 * jobs.excess(ages, measure):+.1f}, z {jobs.z(ages, measure):+.1f}" for ages in AGES
    )
    return " | ".join((percent(jobs.replayed[measure]), *laws))


def summary(found: list[Starts]) -> str:
    """How far the laws are off by length: all logs and measures together."""
    head = "| gaps a job | ages | least and most above the log, % | root mean square of z |\n"
    return (
        head
        + "| --- | --- | --- | --- |\n"
        + "".join(_off(found, gaps, ages) for gaps in LENGTHS for ages in AGES)
    )


def _off(found: list[Starts], gaps: int, ages: str) -> str:
    jobs = [(each.jobs[gaps], measure) for each in found for measure in MEASURES]
    above = [100 * each.excess(ages, measure) for each, measure in jobs]
    squares = [each.z(ages, measure) ** 2 for each, measure in jobs]
    rms = (sum(squares) / len(squares)) ** 0.5
    return f"| {gaps} | `{ages}` | {min(above):+.1f} to {max(above):+.1f} | {rms:.1f} |\n"


def row_heads(text: str) -> list[str]:
    """Names of the logs in the section, in order, and lengths."""
    return re.findall(r"^\| (.*? \| \w+, \w+ [\d.]+ \| \d+) \|", text, re.MULTILINE)
