"""The section of docs/validation.md that asks where in a gap a job starts."""

from collections.abc import Iterator, Sequence

from tools.paths import DOCS
from tools.validation import beside
from tools.validation.replayed import AGES, LENGTHS, MEASURES, Compared, Log, Played

HEADING = "## Where in a gap a job starts"
#: Every row, beside the page.
TABLE = DOCS / "starts.csv"
_HEAD = (
    *("log", "gaps"),
    *(
        f"{measure}, {ages}, {of}"
        for measure in MEASURES
        for ages in AGES
        for of in ("% above the log", "z")
    ),
)

_TEXT = f"""\
{HEADING}

With `ages = "new"` a gap begins with the job, with `"stationary"` one is under way
([semantics.md](semantics.md), rule 16). Which of them is like a log? The logs of the section before
that have an adequate law of jobs that is not exponential, in the same jobs. 2 gaps are the regime
of the CPR paper, 56 h at an MTBF of 28 h. z is of the replays alone: each is a start of its own.
[starts.csv](starts.csv) has a row for each log and length.

"""

_ARGUED = """\
Jobs of two gaps whose clock starts new take more than under the log, and the more so the more the
gaps vary. With a clock that is under way they take as much, at every length. At 60 gaps the two
can't be told apart. So these logs speak for `stationary`, which is the default.

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


def section(found: dict[Log, Compared]) -> str:
    """The section, of logs that were played, and their rows written into `TABLE`."""
    clocks = {log: each for log, each in found.items() if each.has_clock}
    beside.write(TABLE, _HEAD, (row for log, each in clocks.items() for row in rows(log, each)))
    return _TEXT + summary(list(clocks.values())) + "\n" + _ARGUED


def rows(log: Log, found: Compared) -> list[Sequence[str]]:
    """The cells of one log, a row for each length."""
    return [
        (log.name, str(gaps), *(cell for told in _cells(jobs) for cell in told))
        for gaps, jobs in found.jobs.items()
    ]


def _cells(jobs: Played) -> Iterator[tuple[str, str]]:
    for measure in MEASURES:
        for ages in AGES:
            above, z = jobs.excess(ages, measure), jobs.z_of_replays(ages, measure)
            yield f"{100 * above:+.1f}", f"{z:+.1f}"


def summary(found: list[Compared]) -> str:
    """How far the laws are off by length: all logs and measures together."""
    head = "| gaps a job | ages | least and most above the log, % | root mean square of z |\n"
    return (
        head
        + "| --- | --- | --- | --- |\n"
        + "".join(_off(found, gaps, ages) for gaps in LENGTHS for ages in AGES)
    )


def _off(found: list[Compared], gaps: int, ages: str) -> str:
    jobs = [(each.jobs[gaps], measure) for each in found for measure in MEASURES]
    above = [100 * each.excess(ages, measure) for each, measure in jobs]
    squares = [each.z_of_replays(ages, measure) ** 2 for each, measure in jobs]
    rms = (sum(squares) / len(squares)) ** 0.5
    return f"| {gaps} | `{ages}` | {min(above):+.1f} to {max(above):+.1f} | {rms:.1f} |\n"
