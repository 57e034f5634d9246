"""The section of docs/validation.md on how often a verdict on the best is wrong."""

from collections import Counter
from collections.abc import Sequence

from scipy.stats import binomtest

from cprsim.runs.selection.certificate import FIRST, MOST
from cprsim.runs.selection.intervals import LEAST_MET
from tools.paths import DOCS
from tools.tables import markdown, write_csv
from tools.validation.worlds import KINDS, LAWS, Searched, certified, judged, missed

HEADING = "## Which candidate is best"
WORLDS = 1000
#: Replications of a fixed sample.
COUNTS = (10, 30, 100, 300, 1000, 3000)
#: Of a mean of rare failures: runs, how many fail, and samples.
RUNS, FAILURES, SAMPLES = 1000, (10, 30, 100), 4000

#: CSV file of verdicts after a fixed number of replications; the page links it.
TABLE = DOCS / "choices.csv"
_HEADS = (
    "candidates",
    *(
        f"{of}, {count} replications"
        for count in COUNTS
        for of in ("wrong best, %", "undecided, %")
    ),
)

_TEXT = f"""\
{HEADING}

`sweep --best` and the report name a best candidate with 95 % certainty. Here each kind of made-up
candidates, whose true means are known, is drawn {WORLDS:,} times. A *wrong best* breaks its bound,
or another candidate that meets the bound, and isn't the same plan, is as good or better. Intervals
are Clopper and Pearson's of 95 %.

"""

#: CSV file of verdicts of searches; played is the mean of all candidates together.
SEARCHED = DOCS / "choices-searched.csv"
_SEARCHED_HEADS = (
    *("candidates", "wrong best, %", "tied wrongly, %", "undecided, %"),
    *("replications played", "KN plays", "KN wrong, %"),
)

_FIXED = """\
With a fixed number of replications, {least:,} to {most:,}, a wrong best was named in up to
{wrong} % of the worlds of a kind ([choices.csv](choices.csv)).

"""

_SEARCH = """\
Until it is decided, with {first} replications at first and up to {most:,}, a wrong best was named \
in up to {wrong} %, and a wrong tie in up to {tied} %, of the worlds of a kind; Kim and Nelson's \
KN, whose first {first} replications may hold no failure, was wrong in up to {kn} % \
([choices-searched.csv](choices-searched.csv)).

"""

_ENDS = f"""\

The interval of a mean, in {SAMPLES:,} samples of {RUNS:,} runs of which 10, 30 or 100 meet a
failure on average: how often the mean lies beyond the worse end, in percent (2.5 is right), for
Student's t and for the interval that is used; after the comma how often there is one (from
{LEAST_MET} failures on).

"""
_ENDS_HEADS = (
    "what a failure costs",
    *(f"{each}: {of}" for each in FAILURES for of in ("Student's t", "used")),
)


def ends_row(law: str) -> tuple[str, ...]:
    """Measure how often intervals miss where the cost of a failure has this law."""
    cells = []
    for failures in FAILURES:
        student, ours, there = missed(law, failures, RUNS, SAMPLES)
        cells += [f"{100 * student:.1f}", f"{100 * ours:.1f}, {100 * there:.0f}"]
    return law, *cells


def row(kind: str, found: dict[int, Counter[str]]) -> tuple[str, ...]:
    """Return the cells of a kind in `TABLE`, from outcomes by replications."""
    cells = [(_wrong(each), _share(each, "undecided")) for each in found.values()]
    return _named(kind), *(cell for pair in cells for cell in pair)


def search_row(kind: str, found: Searched) -> tuple[str, ...]:
    """Return the cells of a kind in `SEARCHED`."""
    outcomes = found.outcomes
    wrong = 100 * found.kn_wrong / outcomes.total()
    kn = (f"{found.kn_played:.0f}", f"{wrong:.1f}") if found.kn_played else ("", "")
    shares = _share(outcomes, "wrong"), _share(outcomes, "undecided")
    return _named(kind), _wrong(outcomes), *shares, f"{found.played:.0f}", *kn


def judged_row(kind: str, counts: Sequence[int] = COUNTS) -> tuple[str, ...]:
    """Measure a kind at so many replications, and return its cells in `TABLE`."""
    return row(kind, {count: judged(kind, count, WORLDS) for count in counts})


def certified_row(kind: str) -> tuple[str, ...]:
    """Measure a kind that is played until it is decided, and return its cells in `SEARCHED`."""
    return search_row(kind, certified(kind, WORLDS))


def section() -> str:
    """Measure the section, and write `TABLE` and `SEARCHED`."""
    rows, found = [judged_row(kind) for kind in KINDS], [certified_row(kind) for kind in KINDS]
    write_csv(TABLE, _HEADS, rows)
    write_csv(SEARCHED, _SEARCHED_HEADS, found)
    return (
        _TEXT + fixed(rows) + searched(found) + _ENDS + markdown(_ENDS_HEADS, map(ends_row, LAWS))
    )


def searched(rows: Sequence[Sequence[str]]) -> str:
    """Return the sentence on the largest shares of wrong verdicts in `SEARCHED`."""
    wrong, tied, kn = (
        max((cells[place] for cells in rows if cells[place]), key=_first) for place in (1, 2, -1)
    )
    return _SEARCH.format(first=FIRST, most=MOST, wrong=wrong, tied=tied, kn=kn)


def fixed(rows: Sequence[Sequence[str]]) -> str:
    """Return the sentence on the largest share of wrong bests in `TABLE`."""
    wrong = (cell for cells in rows for cell in cells[1::2])
    return _FIXED.format(least=COUNTS[0], most=COUNTS[-1], wrong=max(wrong, key=_first))


def _first(cell: str) -> float:
    """Return the first number of a cell."""
    return float(cell.split(maxsplit=1)[0])


def _named(kind: str) -> str:
    first, *_ = (KINDS[kind].__doc__ or "").splitlines()
    return first.rstrip(".")


def _wrong(outcomes: Counter[str]) -> str:
    wrong, total = outcomes["wrong best"], outcomes.total()
    interval = binomtest(wrong, total).proportion_ci()
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * wrong / total:.1f} ({low:.1f} to {high:.1f})"


def _share(outcomes: Counter[str], name: str) -> str:
    return f"{100 * outcomes[name] / outcomes.total():.1f}"
