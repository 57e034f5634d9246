"""The section of docs/validation.md that asks where in a gap a job starts."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tools.paths import DOCS
from tools.tables import markdown
from tools.validation.replayed import AGES, LENGTHS, MEASURES, Compared, Log, Played

HEADING = "## Where in a gap a job starts"
#: CSV file of every row; the page links it.
TABLE = DOCS / "starts.csv"
HEAD = (
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
([semantics.md](semantics.md), rule 16). The same jobs, for logs with an adequate law that is not
exponential; z counts each replay as a start. [starts.csv](starts.csv) has a row for each log and
length.

"""

_ARGUED = """\
Short jobs with a new clock take more time than under the log, with a stationary one as much. So
`stationary` is the default. Replays start at random, so they say nothing of failures that a job
brings with it (a wrong setting, memory that runs out): for these `new` is right. The CPR paper's
finding that failures near a job's start are more likely (recalled) fits `new`, and also jobs that
differ in their MTBF.

"""


def section() -> str:
    """The section, by the rows of its table."""
    return _TEXT + summary() + "\n" + _ARGUED


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


def summary() -> str:
    """Return a table: distances of the laws from the logs by length, over all logs and measures."""
    table = pd.read_csv(TABLE)
    heads = ("gaps a job", "ages", "least and most above the log, %", "root mean square of z")
    lines = []
    for gaps in LENGTHS:
        for ages in AGES:
            mine = table[table.gaps == gaps]
            above = mine.filter(regex=f", {ages}, % above the log$").to_numpy()
            rms = float((mine.filter(regex=f", {ages}, z$").to_numpy() ** 2).mean() ** 0.5)
            ends = f"{above.min():+.1f} to {above.max():+.1f}"
            lines.append((gaps, f"`{ages}`", ends, f"{rms:.1f}"))
    return markdown(heads, lines)
