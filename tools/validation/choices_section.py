"""The section of docs/validation.md that asks how often a verdict on the best is wrong.

`python -m tools.validation.choices_section` measures it alone, in three minutes, and puts it in its
place on the page.
"""

from collections import Counter

from scipy.stats import binomtest

from cprsim.selection.certificate import WITHIN
from cprsim.selection.intervals import LEAST_MET
from cprsim.selection.sequential import FIRST, MOST
from tools.paths import DOCS
from tools.validation.worlds import KINDS, LAWS, Searched, certified, judged, missed

HEADING = "## Which candidate is best"
WORLDS = 1000
#: Replications of a fixed sample.
COUNTS = (10, 30, 100, 300, 1000, 3000)
#: Of a mean of rare failures: runs, how many fail, and samples.
RUNS, FAILURES, SAMPLES = 1000, (10, 30, 100), 4000

_TEXT = f"""\
{HEADING}

`sweep --best`, the report and all else that says which candidate is best (`cprsim/selection/`)
says it with 95 % certainty. Here each kind of made-up candidates is drawn {WORLDS:,} times, with
failures, costs and losses whose true means are known (`tools/validation/worlds.py`). A *wrong best*
is a candidate called best that breaks its bound, or than which another that keeps to it and isn't
the same plan is as good or better: so where means are equal, any best is wrong. In percent of the
worlds: wrong best with its 95 % interval (Clopper and Pearson), and after the comma how many were
undecided. The rest was called rightly, or tied within {100 * WITHIN:g} points, or
tied wrongly, which no more than 1 % were.

| candidates | {" | ".join(f"{count:,} replications" for count in COUNTS)} |
|{" --- |" * (len(COUNTS) + 1)}
"""

_SEARCH = f"""\

The same until it is decided, with {FIRST} replications at first and {MOST:,} at most. *Played* is
the mean number of replications of all candidates of a world together. Beside it Kim and Nelson's KN
on the same replications, with an indifference zone of {100 * WITHIN:g} points: what it plays, and
how often it selects a candidate that is worse by more than that. It always names one, so it has
less to show where candidates are nearly equal. But what it knows of the spread it takes from its
first {FIRST} replications; where failures are that rare, they may not be among them. It knows no
bounds.

| candidates | wrong best, % | tied wrongly, % | undecided, % | played | KN plays | KN wrong, % |
|{" --- |" * 7}
"""

_ENDS = f"""\

The interval was chosen by simulation: here of the mean of {RUNS:,} runs, of which so many meet a
failure as the table says, in the mean, and each failure costs what a law says. How often the mean
lies beyond the worse end, in percent, which should be 2.5: of Student's t, and of the interval that
is used; after the comma how often there is one (from {LEAST_MET} failures on). {SAMPLES:,} samples
each.

| what a failure costs | {" | ".join(f"{each}: Student's t | used" for each in FAILURES)} |
|{" --- |" * (2 * len(FAILURES) + 1)}
"""


def ends_row(law: str) -> str:
    """How often intervals miss where failures cost what a law says, measured."""
    cells = []
    for failures in FAILURES:
        student, ours, there = missed(law, failures, RUNS, SAMPLES)
        cells += [f"{100 * student:.1f}", f"{100 * ours:.1f}, {100 * there:.0f}"]
    return f"| {law} | {' | '.join(cells)} |\n"


def row(kind: str, found: dict[int, Counter[str]]) -> str:
    """The line of a kind, from outcomes by replications."""
    cells = [f"{_wrong(each)}, {_share(each, 'undecided')}" for each in found.values()]
    return f"| {_named(kind)} | {' | '.join(cells)} |\n"


def search_row(kind: str, found: Searched) -> str:
    """The line of a kind that was played until it was decided."""
    outcomes = found.outcomes
    cells = [
        _wrong(outcomes),
        _share(outcomes, "wrong"),
        _share(outcomes, "undecided"),
        f"{found.played:,.0f}",
        *(
            (f"{found.kn_played:,.0f}", f"{100 * found.kn_wrong / outcomes.total():.1f}")
            if found.kn_played
            else ("", "")
        ),
    ]
    return f"| {_named(kind)} | {' | '.join(cells)} |\n"


def judged_row(kind: str) -> str:
    """The line of a kind, measured."""
    return row(kind, {count: judged(kind, count, WORLDS) for count in COUNTS})


def certified_row(kind: str) -> str:
    """The line of a kind that is played until it is decided, measured."""
    return search_row(kind, certified(kind, WORLDS))


def section() -> str:
    """The section, measured."""
    return (
        _TEXT
        + "".join(map(judged_row, KINDS))
        + _SEARCH
        + "".join(map(certified_row, KINDS))
        + _ENDS
        + "".join(map(ends_row, LAWS))
    )


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


def write() -> None:
    """Measure the section and put it in its place on the page."""
    page = DOCS / "validation.md"
    text = page.read_text(encoding="utf-8")
    start = text.index(HEADING) if HEADING in text else len(text) + 1
    before = text[:start] if start <= len(text) else text + "\n"
    page.write_text(before + section(), encoding="utf-8")


if __name__ == "__main__":
    write()
