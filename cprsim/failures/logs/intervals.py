"""Durations that somebody else has measured, one a line; some may be right-censored."""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath, check_length, lines, shown
from cprsim.errors import LogError, UnitError
from cprsim.failures.logs.columns import Columns
from cprsim.failures.logs.durations import CLOCK, is_duration, seconds_of
from cprsim.failures.logs.lives import Life, lives_of
from cprsim.failures.logs.log import Rows
from cprsim.failures.logs.rules import Rules

_FLAGS = {
    **dict.fromkeys(("1", "true", "yes", "censored"), True),
    **dict.fromkeys(("0", "false", "no", "failed"), False),
}
_NO_RULES = Rules()
#: Why lives are left out.
_NO_DURATION = "lines without a duration"
_NO_ENTRY = "lines without the age from which a life was watched"
_UNWATCHED = "lives that were over before they were watched"
_HEADERS = (["duration_s"], ["duration_s", "censored"])


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
    durations, observed, entered = array("d"), bytearray(), array("d")
    dropped, read = Counter[str](), 0
    check_length(path)
    with closing(lines(path)) as text:
        start = list(islice(text, 1))
        named = None if columns is None else columns.time
        lives = lives_of("".join(start), named, rules.failing)
        if lives is None and (columns is not None or rules.failing is not None):
            raise LogError(f"{path}: {_lacks(columns, rules)}; the header is {_header(start)}")
        named_s, entry_s = (None, None) if lives is None else (lives.unit_s, lives.entry_unit_s)
        unit_s = rules.unit_s or named_s or 1.0
        whole = chain(start, text)
        for life in _plain(whole) if lives is None else lives.rows(path, whole):
            read += 1
            if not life.duration or not life.entry:
                dropped[_NO_ENTRY if life.duration else _NO_DURATION] += 1
                continue
            try:
                lasted_s = seconds_of(life.duration, unit_s)
                came_s = seconds_of(life.entry, rules.unit_s or entry_s or unit_s)
                failed = not _censored(life.flag)
            except UnitError as error:
                raise LogError(f"{path}:{life.line}: {error}") from None
            if came_s and came_s >= lasted_s:
                dropped[_UNWATCHED] += 1
                continue
            durations.append(lasted_s)
            observed.append(failed)
            entered.append(came_s)
    if not durations:
        told = ", ".join(f"{count:,} {why}" for why, count in dropped.items())
        raise LogError(f"{path}: holds no duration{f'; left out: {told}' if told else ''}")
    return Intervals(
        np.asarray(durations),
        np.frombuffer(observed, np.bool_),
        dict(dropped),
        Rows("lines", read, len(durations)),
        lives is not None,
        () if lives is None else (lives.told,),
        np.asarray(entered),
    )


def _plain(text: Iterator[str]) -> Iterator[Life]:
    """The duration and flag of each line that has some."""
    first = True
    for line, content in enumerate(map(str.strip, text), 1):
        if not content or content.startswith("#"):
            continue
        header = first and content.lower().replace(",", " ").split() in _HEADERS
        first = False
        if not header:
            yield Life(line, *_split(content))


def _split(content: str) -> tuple[str, str]:
    """The duration of a line and its flag, which is "0" where there is none."""
    if CLOCK.fullmatch(content):
        return content, "0"
    if "," in content:
        duration, _, flag = content.partition(",")
        return duration.strip(), flag.strip() or "0"
    words = content.split()
    # "5 h" is one duration, "5 1" is one with a flag; so is "5 h 1", and "5 h x" has a bad one.
    if len(words) > 2 or (len(words) == 2 and words[1].lower() in _FLAGS):
        return " ".join(words[:-1]), words[-1]
    return content, "0"


def is_line(text: str) -> bool:
    """Return whether a line is a duration, with or without a flag."""
    duration, flag = _split(text)
    return flag.lower() in _FLAGS and is_duration(duration)


def _lacks(columns: Columns | None, rules: Rules) -> str:
    named = [] if columns is None or columns.time is None else [columns.time]
    named += [] if rules.failing is None else [rules.failing.column]
    return f"has no columns {' and '.join(map(repr, named))} of durations and how they ended"


def _header(start: list[str]) -> str:
    return shown("".join(start).strip())


def _censored(text: str) -> bool:
    flag = _FLAGS.get(text.lower())
    if flag is None:
        raise UnitError(f"censored is {shown(text)}; known flags: {', '.join(_FLAGS)}")
    return flag
