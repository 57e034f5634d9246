"""Tables of lives: how long each node, or part, lived, and whether it died or was still alive."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from cprsim.basics.tabular import (
    Cells,
    LogPath,
    csv_cells,
    delimiter_of,
    header_cells,
    shown,
)
from cprsim.errors import LogError
from cprsim.failures.logs.columns import SYNONYMS, plain
from cprsim.failures.logs.flags import NO, YES
from cprsim.failures.logs.rules import UNITS_S, Cell

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
_CODES: Final = frozenset(("1", "2"))
#: By what names the age goes from which a life was watched; a unit may stand behind.
ENTRIES: Final = ("entry", "entry_time", "entered", "late_entry", "truncation", "tstart")
_TOLD: Final = ("1", "true", "yes", "0", "false", "no")
_PEEKED: Final = 1000


class Life(NamedTuple):
    """A row, or a line: its number, how long a life lasted, and how it ended, as the file has it.

    `entry`: the age from which it was watched.
    """

    line: int
    duration: str
    flag: str
    entry: str = "0"


class LifeTable(NamedTuple):
    """Where in a table the lives stand; `names` are all its columns, as its header has them.

    `unit_s`: seconds in a unit of its durations. `dies`: which cell says that a life ended; None
    where the flag does. `entry`, `entry_unit_s`: where the ages stand from which lives were
    watched, and seconds in a unit of them if it differs; None where all were from the beginning.
    """

    names: list[str]
    delimiter: str
    duration: int
    flag: int | None
    unit_s: float | None = None
    dies: Cell | None = None
    entry: int | None = None
    entry_unit_s: float | None = None

    @property
    def told(self) -> str:
        """What the table was taken for, a sentence."""
        duration = self.names[self.duration]
        unit = "seconds" if self.unit_s is None else f"units of {self.unit_s:g} s"
        said = (
            f"A table of lives, not of failures by time: {duration!r} ({unit}) is how long each "
            "node or part lived"
        )
        late = ""
        if self.entry is not None:
            late = f" {self.names[self.entry]!r} is the age from which each was watched."
        if self.flag is None:
            return f"{said}; all of them ended.{late}"
        flag = self.names[self.flag]
        return f"{said}, {flag!r} whether it {'was cut short' if self._cut else 'died'}.{late}"

    @property
    def _cut(self) -> bool:
        return self.dies is None and FLAGS.get(plain(self.names[self.flag or 0]), False)

    def rows(self, path: LogPath, text: Iterator[str]) -> Iterator[Life]:
        """The life of each row; its flag is `"censored"` or `"failed"`."""
        rows = csv_cells(path, text, self.delimiter)
        next(rows)
        start = list(islice(rows, _PEEKED))
        said = self._said(start)
        for line, cells in chain(start, rows):
            if len(cells) <= max(self.duration, self.flag or 0, self.entry or 0):
                raise LogError(
                    f"{path}:{line}: the row has {len(cells)} cells, the header has "
                    f"{len(self.names)}"
                )
            entry = "0" if self.entry is None else cells[self.entry].strip()
            if self.flag is None:
                yield Life(line, cells[self.duration].strip(), "failed", entry)
                continue
            flag = cells[self.flag].strip()
            died = self.dies.holds(flag) if self.dies is not None else said.get(flag.lower())
            if died is None:
                raise LogError(
                    f"{path}:{line}: {self.names[self.flag]} is {shown(flag)}; known flags: "
                    f"{', '.join(_TOLD if len(said) > len(_CODES) else said)}"
                )
            flag = "failed" if died else "censored"
            yield Life(line, cells[self.duration].strip(), flag, entry)

    def _said(self, start: list[Cells]) -> dict[str, bool]:
        """Whether a life ended, by the flag in small letters."""
        place = self.flag or 0
        codes = {cells[place].strip() for _, cells in start if len(cells) > place}
        if codes == _CODES and not self._cut:
            return {"1": False, "2": True}
        return {each: (each in YES) != self._cut for each in (YES | NO) - {""}}

    def is_of_lives(self, start: list[Cells]) -> bool:
        """Return whether rows of a table with such a header can be of lives.

        Where the header would do for failures too, each node has but one row.
        """
        if self.flag is None or plain(self.names[self.flag]) not in _OF_FAILURES:
            return True
        places = [place for place, name in enumerate(self.names) if plain(name) in SYNONYMS["node"]]
        nodes = [cells[places[0]] for _, cells in start] if places else []
        return len({*nodes}) == len(nodes)


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
    names = header_cells(header)
    plain_names = [plain(name) for name in names]
    found = _duration_of(plain_names, duration)
    flag = next((plain_names.index(name) for name in FLAGS if name in plain_names), None)
    if dies is not None:
        flag = _place(plain_names, dies.column)
        if flag is None:
            return None
    plain_pair = plain_names == ["duration_s", "censored"]  # as lines of their own, with units
    said = duration is not None or dies is not None
    if found is None or plain_pair or "time_s" in plain_names or (flag is None and not said):
        return None
    entry = _column_of(plain_names, ENTRIES)
    return LifeTable(names, delimiter_of(header), found[0], flag, found[1], dies, *(entry or ()))


def _place(names: list[str], name: str) -> int | None:
    return names.index(plain(name)) if plain(name) in names else None


def _duration_of(names: list[str], said: str | None) -> tuple[int, float | None] | None:
    """Where durations stand, and the unit that their name has; None where no column is of them."""
    if said is not None:
        place = _place(names, said)
        return None if place is None else (place, _UNITS.get(plain(said).rpartition("_")[2]))
    named = ((names.index(unit), _UNITS[unit]) for unit in _NAMED if unit in names)
    return _column_of(names, DURATIONS) or next(named, None)


def _column_of(names: list[str], known: Sequence[str]) -> tuple[int, float | None] | None:
    """Where a column of a known name stands, and the unit behind that; None where there is none."""
    for name in known:
        for place, column in enumerate(names):
            word, _, unit = column.rpartition("_")
            if column == name:
                return place, None
            if word == name and unit in _UNITS and column != "time_s":
                return place, None if _UNITS[unit] == 1 else _UNITS[unit]
    return None
