"""Durations that somebody else has measured: one a line, or tables of lives of nodes or parts."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import Cells, LogPath, csv_cells, number
from cprsim.basics.units import parse_duration
from cprsim.errors import LogError, UnitError, shown
from cprsim.failures.logs.cells import delimiter_of, header_cells, with_header
from cprsim.failures.logs.options import SYNONYMS, UNITS_S, Cell, Columns, Rules
from cprsim.failures.logs.table import parsed, read_table, refuse
from cprsim.failures.logs.words import NO, WORDS, YES, known_by, plain

_LONGEST = 80  # characters that an error shows whole
#: Slurm's 1-15:25:01, pandas' 1 days 15:25:01, Python's 1 day, 15:25:01, and 39:25:01.
_CLOCK: Final = re.compile(
    r"(?:([0-9]{1,6})(?:-|\s*days?,?\s+))?([0-9]{1,6}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)"
)
_DAYS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:d|days?)", re.IGNORECASE)
_DAY_S = 86_400.0
#: Units that are the name of a column of durations by themselves.
_NAMED: Final = {
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
}
_UNITS: Final = {**UNITS_S, "sec": 1.0, **_NAMED}
_WORDS: Final[dict[str, list[str]]] = WORDS["lives"]


def _with_units(names: Sequence[str]) -> list[str]:
    """Names of a column of times, and each with a unit behind it; `time_s` is one of failures."""
    every = (each for name in names for each in (name, *(f"{name}_{unit}" for unit in _UNITS)))
    return [name for name in every if name != "time_s"]


#: By what names the columns of a table of lives go, the likeliest first.
_COLUMNS: Final = {
    "duration": [*_with_units(_WORDS["durations"]), *_NAMED],
    "flag": [*_WORDS["dies"], *_WORDS["cut"], *_WORDS["of_failures"]],
    "entry": _with_units(_WORDS["entries"]),
}
#: What survival packages in R write: 1 is censored, 2 is dead.
_CODES: Final = {"1": False, "2": True}
#: Flags that say it themselves, whatever their column is called.
_PLAIN_FLAGS: Final = {"censored": False, "failed": True}
_FLAG_WORDS: Final = ("1", "true", "yes", "censored", "0", "false", "no", "failed")
_PEEKED: Final = 50  # lines of a file that are looked at to know a table of lives
_NO_RULES = Rules()
_HEADERS = (["duration_s"], ["duration_s", "censored"])


def seconds_of(text: str, unit_s: float = 1.0) -> float:
    """Return a duration in seconds: a number, one with a unit, or days and a clock.

    `unit_s`: seconds in a unit of a number that has none. Raises `UnitError` if it is none.
    """
    value, clock, days = number(text), _CLOCK.fullmatch(text), _DAYS.fullmatch(text)
    if value is not None:
        value *= unit_s
    elif clock is not None:
        value = _DAY_S * int(clock[1] or 0) + 3600 * int(clock[2]) + 60 * int(clock[3])
        value += float(clock[4])
    elif days is not None:
        value = _DAY_S * float(days[1])
    elif len(text) > _LONGEST:
        raise UnitError(f"duration is {shown(text)}, not a duration")
    else:
        value = parse_duration(text)
    if not 0 <= value < math.inf:
        raise UnitError(f"duration is {shown(text)}; durations are finite and 0 s or longer")
    return value


def _is_duration(text: str) -> bool:
    try:
        seconds_of(text)
    except UnitError:
        return False
    return True


class _Lives(NamedTuple):
    """Columns of a table of lives.

    `flag`: the column that says how a life ended; None where all did. `dies`: which cell says that
    one ended; None where the flag does. `entry`: the ages from which lives were watched; None where
    all were from the beginning.
    """

    duration: str
    flag: str | None
    dies: Cell | None = None
    entry: str | None = None

    @property
    def told(self) -> str:
        """Return a sentence on how the table was read."""
        unit_s = _unit_s(self.duration)
        unit = "seconds" if unit_s is None else f"units of {unit_s:g} s"
        how = "; all of them ended"
        if self.flag is not None:
            how = f", {self.flag!r} whether it {'was cut short' if self._cut else 'died'}"
        late = ""
        if self.entry is not None:
            late = f" {self.entry!r} is the age from which each was watched."
        return (
            f"A table of lives, not of failures by time: {self.duration!r} ({unit}) is how long "
            f"each node or part lived{how}.{late}"
        )

    @property
    def _cut(self) -> bool:
        return self.dies is None and plain(self.flag or "") in _WORDS["cut"]

    def ended(self, flags: Sequence[str]) -> tuple[list[bool | None], str]:
        """Return whether each life ended, by its flag, and the flags that are known.

        None where a flag is none of these.
        """
        if self.dies is not None:
            return [self.dies.holds(flag) for flag in flags], ""
        if {*flags} == {*_CODES} and not self._cut:
            return [_CODES[flag] for flag in flags], ", ".join(_CODES)
        known = {each: (each in YES) != self._cut for each in (YES | NO) - {""}} | _PLAIN_FLAGS
        return [known.get(flag.lower()) for flag in flags], ", ".join(_FLAG_WORDS)


#: A file with a duration a line, each with or without a flag.
_PLAIN = _Lives("duration_s", "censored")


def _lives_of(header: str, duration: str | None = None, dies: Cell | None = None) -> _Lives | None:
    """The lives of a table with this first line; None where it names none.

    A table of lives has a column of durations and a flag; a table of failures has times and no such
    flag. `duration`: what the column of durations is called, where somebody says it. `dies`: which
    cell says that a life ended, likewise.
    """
    cells = header_cells(header)
    found = known_by(cells, _COLUMNS)
    for column, name in (("duration", duration), ("flag", dies and dies.column)):
        if name is not None:
            found.pop(column, None)
            found |= known_by(cells, {column: [plain(name)]})
    names = [plain(name) for name in cells]
    if "duration" not in found or "time_s" in names or names == ["duration_s", "censored"]:
        return None
    if "flag" not in found and (dies is not None or duration is None):
        return None
    return _Lives(found["duration"], found.get("flag"), dies, found.get("entry"))


def _unit_s(name: str) -> float | None:
    """Seconds in the unit that the name of a column says; None where it says none, or seconds."""
    unit_s = _UNITS.get(plain(name).rpartition("_")[2], 1.0)
    return None if unit_s == 1 else unit_s


def are_lives(head: str) -> bool:
    """Return whether a file begins as a table of lives: by its header, and by its first rows.

    Their durations are no dates; where the header would do for failures too, each node has but one
    row.
    """
    header, _, rest = head.partition("\n")
    lives = _lives_of(header)
    if lives is None or lives.flag is None:
        return False
    names, mark = header_cells(header), delimiter_of(header)
    try:
        rows = [cells for _, cells in csv_cells("", islice(iter(rest.splitlines()), _PEEKED), mark)]
        lasted, flags = (
            [cells[names.index(name)].strip() for cells in rows]
            for name in (lives.duration, lives.flag)
        )
    except (LogError, IndexError):
        return False
    if not rows or not all(_is_duration(each) for each in lasted if each):
        return False
    places = [names.index(name) for name in names if plain(name) in SYNONYMS["node"]]
    nodes = [cells[places[0]] for cells in rows] if places else []
    once = plain(lives.flag) not in _WORDS["of_failures"] or len({*nodes}) == len(nodes)
    return once and None not in lives.ended(flags)[0]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Durations, in the order of their file."""

    #: How long each lasted, or had lasted when one stopped watching; seconds, shape (n,).
    durations_s: NDArray[np.float64]
    #: Whether it ended by a failure; False for the right-censored ones. Shape (n,).
    observed: NDArray[np.bool_]
    #: Why lines of the file were left out, and how many for each reason.
    dropped: Mapping[str, int] = field(default_factory=dict)
    #: `"lines"`, and how many it had; blank lines and comments are none.
    rows: tuple[str, int] | None = None
    #: Whether each is the life of a node or a part, and not a time between failures of all.
    of_nodes: bool = False
    #: How the file was understood, where that isn't plain, a sentence each.
    notes: tuple[str, ...] = ()
    #: The age from which each was watched, seconds, shape (n,) or one for all.
    entered_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros(()))


def read_intervals(
    path: LogPath, columns: Columns | None = None, rules: Rules = _NO_RULES
) -> Intervals:
    """Durations of a file with one a line, such as `24.2 h` or `87120,1`, or of a table of lives.

    docs/failures.md describes both. `columns`: its `time` is the column of a table that holds
    durations. `rules`: `failure_when` says which cells say that a life ended; `time_unit`. Raises
    `LogError` if the file can't be read, lacks a column that is named, a duration is negative,
    infinite or none, or there is none.
    """
    named = None if columns is None else columns.time
    of = _PLAIN

    def rows(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
        nonlocal of
        first, whole = with_header(text)
        lives = _lives_of(first, named, rules.failing)
        if lives is not None:
            of = lives
            return csv_cells(path, whole, delimiter_of(first))
        lacked = [name for name in (named, rules.failing and rules.failing.column) if name]
        if columns is not None or lacked:
            raise LogError(
                f"{path}: has no columns {' and '.join(map(repr, lacked))} of durations and how "
                f"they ended; the header is {shown(first.strip())}"
            )
        return _lines(whole)

    table = read_table(path, choose=lambda names: (names, ()), split=rows, what="duration")
    lasted = table[of.duration] != ""
    watched = lasted & (of.entry is None or table[of.entry] != "")
    known = table[watched]
    unit_s = rules.unit_s or _unit_s(of.duration) or 1.0
    lasted_s = parsed(known, of.duration, lambda text: seconds_of(text, unit_s))
    entered_s = np.zeros(len(known))
    if of.entry is not None:
        entry_s = rules.unit_s or _unit_s(of.entry) or unit_s
        entered_s = parsed(known, of.entry, lambda text: seconds_of(text, entry_s))
    observed = np.ones(len(table), np.bool_)
    if of.flag is not None:
        ended, flags = of.ended(table[of.flag].tolist())
        wrong = np.array([each is None for each in ended])
        refuse(table, of.flag, wrong & watched, f"; known flags: {flags}")
        observed = np.array(ended, np.bool_)
    seen = (entered_s == 0) | (entered_s < lasted_s)
    counts = {
        "lines without a duration": int((~lasted).sum()),
        "lines without the age from which a life was watched": int((lasted & ~watched).sum()),
        "lives that were over before they were watched": int((~seen).sum()),
    }
    dropped = {why: count for why, count in counts.items() if count}
    if not seen.any():
        told = ", ".join(f"{count:,} {why}" for why, count in dropped.items())
        raise LogError(f"{path}: holds no duration; left out: {told}")
    return Intervals(
        lasted_s[seen],
        observed[watched][seen],
        dropped,
        ("lines", len(table)),
        of is not _PLAIN,
        () if of is _PLAIN else (of.told,),
        entered_s[seen],
    )


def _lines(text: Iterator[str]) -> Iterator[Cells]:
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
    if _CLOCK.fullmatch(content):
        return content, "0"
    if "," in content:
        duration, _, flag = content.partition(",")
        return duration.strip(), flag.strip() or "0"
    words = content.split()
    # "5 h" is one duration, "5 1" is one with a flag; so is "5 h 1", and "5 h x" has a bad one.
    if len(words) > 2 or (len(words) == 2 and words[1].lower() in _FLAG_WORDS):
        return " ".join(words[:-1]), words[-1]
    return content, "0"


def is_line(text: str) -> bool:
    """Return whether a line is a duration, with or without a flag."""
    duration, flag = _split(text)
    return flag.lower() in _FLAG_WORDS and _is_duration(duration)
