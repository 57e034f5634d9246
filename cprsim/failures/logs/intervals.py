"""Durations that somebody else has measured, one a line; some may be right-censored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import Cells, LogPath, csv_cells, delimiter_of, shown, with_header
from cprsim.errors import LogError
from cprsim.failures.logs.columns import Columns
from cprsim.failures.logs.lives import (
    CLOCK,
    FLAG_WORDS,
    LifeTable,
    is_duration,
    lives_of,
    seconds_of,
)
from cprsim.failures.logs.log import Rows
from cprsim.failures.logs.rules import Rules
from cprsim.failures.logs.table import read_table

_NO_RULES = Rules()
#: Why lives are left out.
_NO_DURATION = "lines without a duration"
_NO_ENTRY = "lines without the age from which a life was watched"
_UNWATCHED = "lives that were over before they were watched"
_HEADERS = (["duration_s"], ["duration_s", "censored"])
#: A file with a duration a line, each with or without a flag.
_PLAIN = LifeTable("duration_s", "censored")


@dataclass(frozen=True, eq=False)
class Intervals:
    """Durations, in the order of their file.

    Parameters
    ----------
    durations_s
        How long each lasted, or had lasted when one stopped watching; seconds, shape (n,).
    observed
        Whether it ended by a failure; False for the right-censored ones. Shape (n,).
    dropped
        Why lines of the file were left out, and how many for each reason.
    rows
        How many lines it had, and how many are durations; blank lines and comments are none.
    of_nodes
        Whether each is the life of a node or a part, and not a time between failures of all.
    notes
        How the file was understood, where that isn't plain, a sentence each.
    entered_s
        The age from which each was watched, seconds, shape (n,) or one for all.
    """

    durations_s: NDArray[np.float64]
    observed: NDArray[np.bool_]
    dropped: Mapping[str, int] = field(default_factory=dict)
    rows: Rows | None = None
    of_nodes: bool = False
    notes: tuple[str, ...] = ()
    entered_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros(()))


def read_intervals(
    path: LogPath, columns: Columns | None = None, rules: Rules = _NO_RULES
) -> Intervals:
    """Durations of a file with one a line, such as `24.2 h` or `87120,1`.

    A duration is in seconds or the unit that `rules` gives, or has a unit, or is as Slurm's
    `1-15:25:01` and pandas' `1 days 15:25:01`. After it, behind a comma or white space, may stand
    whether it is right-censored: 1, true, yes or censored; or 0, false, no or failed, which is
    what it is without. The first line may be a header, `duration_s` or `duration_s,censored`.
    Blank lines and those that begin with `#` are skipped. A line with a flag but no duration is
    dropped and counted. A table of lives of nodes, or of parts, is known by its header; see
    `cprsim.failures.logs.lives`. Lives that were over by the age from which they were watched are
    dropped and counted, too.

    Parameters
    ----------
    path
        The file; plain, or compressed with a name that ends in `.gz` or `.xz`.
    columns
        `time`: which column of a table holds durations.
    rules
        `failure_when`: which cells say that a life ended. `time_unit`.

    Raises
    ------
    LogError
        If the file can't be read, lacks a column that is named, a duration is negative, infinite or
        none, or there is none.
    """
    named = None if columns is None else columns.time
    of = _PLAIN

    def rows(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
        nonlocal of
        first, whole = with_header(text)
        lives = lives_of(first, named, rules.failing)
        if lives is not None:
            of = lives
            return csv_cells(path, whole, delimiter_of(first))
        lacked = [name for name in (named, rules.failing and rules.failing.column) if name]
        if columns is not None or lacked:
            raise LogError(
                f"{path}: has no columns {' and '.join(map(repr, lacked))} of durations and how "
                f"they ended; the header is {shown(first.strip())}"
            )
        return _plain(whole)

    table = read_table(path, choose=lambda names: (names, ()), split=rows, what="duration")
    lasted = table[of.duration] != ""
    watched = lasted & (of.entry is None or table[of.entry] != "")
    dropped = {_NO_DURATION: int((~lasted).sum()), _NO_ENTRY: int((lasted & ~watched).sum())}
    known = table.of_rows(watched)
    unit_s = rules.unit_s or of.unit_s or 1.0
    lasted_s = known.parsed(of.duration, lambda text: seconds_of(text, unit_s))
    entered_s = np.zeros(len(known))
    if of.entry is not None:
        entry_s = rules.unit_s or of.entry_unit_s or unit_s
        entered_s = known.parsed(of.entry, lambda text: seconds_of(text, entry_s))
    observed = np.ones(len(table), np.bool_)
    if of.flag is not None:
        ended, flags = of.ended(table[of.flag].tolist())
        wrong = np.array([each is None for each in ended])
        table.refuse(of.flag, wrong & watched, f"; known flags: {flags}")
        observed = np.array([bool(each) for each in ended])
    seen = (entered_s == 0) | (entered_s < lasted_s)
    dropped[_UNWATCHED] = int((~seen).sum())
    dropped = {why: count for why, count in dropped.items() if count}
    if not seen.any():
        told = ", ".join(f"{count:,} {why}" for why, count in dropped.items())
        raise LogError(f"{path}: holds no duration; left out: {told}")
    return Intervals(
        lasted_s[seen],
        observed[watched][seen],
        dropped,
        Rows("lines", len(table), int(seen.sum())),
        of is not _PLAIN,
        () if of is _PLAIN else (of.told,),
        entered_s[seen],
    )


def _plain(text: Iterator[str]) -> Iterator[Cells]:
    """A header, then the duration and flag of each line that has some."""
    yield 0, ["duration_s", "censored"]
    first = True
    for line, content in enumerate(map(str.strip, text), 1):
        if not content or content.startswith("#"):
            continue
        header = first and content.lower().replace(",", " ").split() in _HEADERS
        first = False
        if not header:
            yield line, [*_split(content)]


def _split(content: str) -> tuple[str, str]:
    """The duration of a line and its flag, which is "0" where there is none."""
    if CLOCK.fullmatch(content):
        return content, "0"
    if "," in content:
        duration, _, flag = content.partition(",")
        return duration.strip(), flag.strip() or "0"
    words = content.split()
    # "5 h" is one duration, "5 1" is one with a flag; so is "5 h 1", and "5 h x" has a bad one.
    if len(words) > 2 or (len(words) == 2 and words[1].lower() in FLAG_WORDS):
        return " ".join(words[:-1]), words[-1]
    return content, "0"


def is_line(text: str) -> bool:
    """Return whether a line is a duration, with or without a flag."""
    duration, flag = _split(text)
    return flag.lower() in FLAG_WORDS and is_duration(duration)
