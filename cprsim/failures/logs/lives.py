"""Tables of lives: how long each node, or part, lived, and whether it died or was still alive."""

import math
import re
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from cprsim.basics.tabular import csv_cells, delimiter_of, header_cells, number, shown
from cprsim.basics.units import parse_duration
from cprsim.errors import LogError, UnitError
from cprsim.failures.logs.columns import SYNONYMS, plain
from cprsim.failures.logs.flags import NO, YES
from cprsim.failures.logs.rules import UNITS_S, Cell

_LONGEST = 80  # characters that an error shows whole
#: Slurm's 1-15:25:01, pandas' 1 days 15:25:01, Python's 1 day, 15:25:01, and 39:25:01.
CLOCK: Final = re.compile(
    r"(?:([0-9]{1,6})(?:-|\s*days?,?\s+))?([0-9]{1,6}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)"
)
_DAYS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:d|days?)", re.IGNORECASE)
_DAY_S = 86_400.0
#: By what names durations go, the likeliest first; a unit may stand behind: duration_h. `time_s`
#: isn't one: with it a table is of failures, in cprsim's own format.
DURATIONS: Final = (
    *("duration", "lifetime", "life", "survival_time", "survtime", "time_to_event", "tte"),
    *("futime", "t", "time", "tstop", "uptime", "lasted"),
)
#: By what names the flag goes, and whether it says of a life that it was cut short.
FLAGS: Final = {
    **dict.fromkeys(("dead", "died", "death", "event_observed", "observed", "uncensored"), False),
    **dict.fromkeys(("censored", "censor", "cens", "right_censored", "is_censored"), True),
    **dict.fromkeys(("event", "e", "status", "failed", "failure", "fail", "fustat"), False),
}
#: Those that tables of failures have too: there a node comes again.
_OF_FAILURES: Final = ("event", "e", "status", "failed", "failure", "fail", "fustat")
_UNITS: Final = {
    **UNITS_S,
    "sec": 1.0,
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
}
#: Units that are the name of a column of durations by themselves.
_NAMED: Final = ("seconds", "minutes", "hours", "days", "weeks")
#: What survival packages in R write: 1 is censored, 2 is dead.
_CODES: Final = {"1": False, "2": True}
#: By what names the age goes from which a life was watched; a unit may stand behind.
ENTRIES: Final = ("entry", "entry_time", "entered", "late_entry", "truncation", "tstart")
#: Flags that say it themselves, whatever their column is called.
_PLAIN: Final = {"censored": False, "failed": True}
FLAG_WORDS: Final = ("1", "true", "yes", "censored", "0", "false", "no", "failed")
_PEEKED: Final = 50  # lines of a file that are looked at to know a table of lives


def seconds_of(text: str, unit_s: float = 1.0) -> float:
    """Return a duration in seconds; raise `UnitError` if it is none.

    Parameters
    ----------
    text
        A number, a number with a unit, or days and a clock.
    unit_s
        Seconds in a unit of a number that has none.
    """
    value, clock, days = number(text), CLOCK.fullmatch(text), _DAYS.fullmatch(text)
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


def is_duration(text: str) -> bool:
    """Return whether a text is a duration."""
    try:
        seconds_of(text)
    except UnitError:
        return False
    return True


class LifeTable(NamedTuple):
    """What the columns of a table of lives are called.

    `unit_s`: seconds in a unit of its durations. `flag`: the column that says how a life ended;
    None where all did. `dies`: which cell says that one ended; None where the flag does. `entry`,
    `entry_unit_s`: the ages from which lives were watched, and seconds in a unit of them if it
    differs; None where all were from the beginning.
    """

    duration: str
    flag: str | None
    unit_s: float | None = None
    dies: Cell | None = None
    entry: str | None = None
    entry_unit_s: float | None = None

    @property
    def told(self) -> str:
        """What the table was taken for, a sentence."""
        unit = "seconds" if self.unit_s is None else f"units of {self.unit_s:g} s"
        said = (
            f"A table of lives, not of failures by time: {self.duration!r} ({unit}) is how long "
            "each node or part lived"
        )
        late = ""
        if self.entry is not None:
            late = f" {self.entry!r} is the age from which each was watched."
        if self.flag is None:
            return f"{said}; all of them ended.{late}"
        how = "was cut short" if self._cut else "died"
        return f"{said}, {self.flag!r} whether it {how}.{late}"

    @property
    def _cut(self) -> bool:
        return self.dies is None and FLAGS.get(plain(self.flag or ""), False)

    def ended(self, flags: Sequence[str]) -> tuple[list[bool | None], str]:
        """Return whether each life ended, by its flag, and the flags that are known.

        None where a flag is none of these.
        """
        if self.dies is not None:
            return [self.dies.holds(flag) for flag in flags], ""
        if {*flags} == {*_CODES} and not self._cut:
            return [_CODES[flag] for flag in flags], ", ".join(_CODES)
        known = {each: (each in YES) != self._cut for each in (YES | NO) - {""}} | _PLAIN
        return [known.get(flag.lower()) for flag in flags], ", ".join(FLAG_WORDS)


def lives_of(
    header: str, duration: str | None = None, dies: Cell | None = None
) -> LifeTable | None:
    """The lives of a table with this first line; None where it names none.

    A table of lives has a column of durations and a flag of `FLAGS`; a table of failures has times
    and no such flag.

    Parameters
    ----------
    header
        The line.
    duration
        What the column of durations is called, where somebody says it.
    dies
        Which cell says that a life ended, likewise.
    """
    names = {plain(name): name for name in reversed(header_cells(header))}
    found = _duration_of(names, duration)
    flag = next((name for name in FLAGS if name in names), None)
    if dies is not None:
        flag = plain(dies.column)
        if flag not in names:
            return None
    plain_pair = [plain(name) for name in header_cells(header)] == ["duration_s", "censored"]
    said = duration is not None or dies is not None
    if found is None or plain_pair or "time_s" in names or (flag is None and not said):
        return None
    entry = _column_of(names, ENTRIES) or (None, None)
    return LifeTable(found[0], flag and names[flag], found[1], dies, *entry)


def are_lives(head: str) -> bool:
    """Return whether a file begins as a table of lives: by its header, and by its first rows.

    Their durations are no dates; where the header would do for failures too, each node has but one
    row.
    """
    header, _, rest = head.partition("\n")
    lives = lives_of(header)
    if lives is None:
        return False
    names, mark = header_cells(header), delimiter_of(header)
    try:
        rows = [cells for _, cells in csv_cells("", islice(iter(rest.splitlines()), _PEEKED), mark)]
        lasted, flags = (
            [cells[names.index(name)].strip() for cells in rows]
            for name in (lives.duration, lives.flag or lives.duration)
        )
    except (LogError, IndexError):
        return False
    if not rows or not all(is_duration(each) for each in lasted if each):
        return False
    if lives.flag is None:
        return True
    places = [names.index(name) for name in names if plain(name) in SYNONYMS["node"]]
    nodes = [cells[places[0]] for cells in rows] if places else []
    once = plain(lives.flag) not in _OF_FAILURES or len({*nodes}) == len(nodes)
    return once and None not in lives.ended(flags)[0]


def _duration_of(names: dict[str, str], said: str | None) -> tuple[str, float | None] | None:
    """The column of durations, and the unit that its name has; None where none is of them."""
    if said is not None:
        name = names.get(plain(said))
        return None if name is None else (name, _UNITS.get(plain(said).rpartition("_")[2]))
    named = ((names[unit], _UNITS[unit]) for unit in _NAMED if unit in names)
    return _column_of(names, DURATIONS) or next(named, None)


def _column_of(names: dict[str, str], known: Sequence[str]) -> tuple[str, float | None] | None:
    """The column of a known name, and the unit behind that; None where there is none."""
    for name in known:
        for column, written in reversed(names.items()):
            word, _, unit = column.rpartition("_")
            if column == name:
                return written, None
            if word == name and unit in _UNITS and column != "time_s":
                return written, None if _UNITS[unit] == 1 else _UNITS[unit]
    return None
