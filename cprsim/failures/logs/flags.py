"""The rows of a table that are failures, by a column that the user names or that is known."""

from array import array
from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath, shown
from cprsim.errors import LogError
from cprsim.failures.logs.columns import plain
from cprsim.failures.logs.polarity import meaning
from cprsim.failures.logs.rules import Cell

#: Words that say yes or no.
YES: Final = frozenset(("1", "1.0", "true", "yes", "y", "t"))
NO: Final = frozenset(("0", "0.0", "false", "no", "n", "f", ""))
#: What may stand before or behind the word in the name of such a column.
_AROUND: Final = frozenset(
    (
        *("is", "has", "had", "was", "node", "host", "machine", "gpu", "server", "flag"),
        *("occurred", "event"),
    )
)
#: Names of flags whose 1 is a failure, though the words are neither good nor bad.
_EVENTS: Final = frozenset(
    ("event", "label", "target", "broke", "died", "death", "observed", "failure_event")
)
#: Names of columns whose words are states.
_STATES: Final = frozenset(
    ("state", "status", "health", "condition", "event", "event_type", "result", "phase")
)
_LASTING_COLUMNS: Final = frozenset(("state", "status", "health", "condition", "phase"))
#: What a node is while it is so; other flags are of a moment.
_LASTING: Final = frozenset(
    (
        *("down", "up", "offline", "online", "unhealthy", "healthy", "unavailable", "available"),
        *("unreachable", "reachable", "broken", "faulty", "dead", "alive", "degraded", "ok"),
        *("ready", "working", "operational"),
    )
)
#: By which a node is up again.
_BACK: Final = frozenset(
    ("repair", "repaired", "recovered", "resolved", "restored", "fixed", "returned", "cleared")
)
#: Words of outages that may have been planned: their owner has to say it.
_PLANNED: Final = ("maint", "planned", "drain")
_MOST_VALUES, _FEW_VALUES, _HALF = 8, 4, 0.5

Flags = NDArray[np.bool_]


class FailingRows(NamedTuple):
    """The rows that are failures, shape (n,).

    `by`: the cells that they have, as COLUMN=VALUE. `lasting`: whether a node stays so for a while.
    `guessed`: whether the column is known by its name, and not named by the user.
    """

    failing: Flags
    by: str
    lasting: bool
    guessed: bool

    def sorted(self, order: NDArray[np.int64]) -> "FailingRows":
        """Return the same of the rows in an order."""
        return self._replace(failing=self.failing[order])


class _Values:
    """The cells of a column, as long as they have but few values."""

    def __init__(self) -> None:
        self._codes, self._numbers = array("b"), dict[str, int]()
        self.few = True

    def add(self, text: str) -> None:
        if not self.few:
            return
        code = self._numbers.setdefault(text.lower(), len(self._numbers))
        self.few = code < _MOST_VALUES
        if self.few:
            self._codes.append(code)
        else:
            self._codes, self._numbers = array("b"), {}

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def among(self, chosen: Sequence[str]) -> Flags:
        codes = [code for value, code in self._numbers.items() if value in chosen]
        return np.isin(np.asarray(self._codes), codes)


class Flagged:
    """Columns of a table that may say which rows are failures, and which by which nodes leave.

    Parameters
    ----------
    path
        The table, for faults.
    header
        All its columns.
    free
        Those that hold nothing else that is known.
    failing, leaving
        What its owner says; None where nothing is said.
    """

    def __init__(
        self,
        path: LogPath,
        header: Sequence[str],
        free: Sequence[str],
        failing: Cell | None,
        leaving: Cell | None,
    ) -> None:
        places = {plain(name): place for place, name in reversed([*enumerate(header)])}
        self._said = dict[str, tuple[int, Cell, bytearray]]()
        for key, cell in (("failure_when", failing), ("left_when", leaving)):
            place = None if cell is None else places.get(plain(cell.column))
            if cell is not None and place is None:
                raise LogError(
                    f"{path}: {key} names column {shown(cell.column)}, which the table lacks; its "
                    f"columns are {shown(', '.join(header))}"
                )
            if cell is not None and place is not None:
                self._said[key] = (place, cell, bytearray())
        self._guesses = {name: (places[plain(name)], _Values()) for name in free}

    def add(self, cells: Sequence[str]) -> None:
        """Take the cells of one more row."""
        for place, cell, found in self._said.values():
            found.append(cell.holds(_cell(cells, place)))
        for place, values in self._guesses.values():
            values.add(_cell(cells, place))

    def failing(self) -> FailingRows | None:
        """Return which rows are failures; None where no column says it."""
        if "failure_when" in self._said:
            _, cell, found = self._said["failure_when"]
            others = self._values_of(cell.column)
            lasts = _lasts(cell.column, (cell.value.lower(),), others)
            return FailingRows(np.frombuffer(found, np.bool_), str(cell), lasts, guessed=False)
        guesses = {}
        for name, (_, values) in self._guesses.items():
            bad = _bad_values(name, values.values) if values.few else ()
            if bad:
                lasts = _lasts(name, bad, values.values)
                by = f"{name}={' or '.join(value or 'nothing' for value in bad)}"
                guesses[name] = FailingRows(values.among(bad), by, lasts, guessed=True)
        first = next(iter(guesses.values()), None)
        for each in guesses.values():
            if first is not None and not np.array_equal(each.failing, first.failing):
                raise LogError(
                    f"{first.by} and {each.by} name different rows as failures; choose with "
                    "--failure-when"
                )
        return first

    def rarest(self) -> FailingRows | None:
        """Return the rows with the rarer value of the one column of flags; None without one."""
        found = []
        for name, (_, values) in self._guesses.items():
            kinds = {*values.values}
            if values.few and kinds <= YES | NO and kinds & YES and kinds & NO:
                yes = values.among(tuple(YES))
                failing, said = (yes, YES) if yes.mean() < _HALF else (~yes, NO)
                by = f"{name}={min(kinds & said)}"
                found.append(FailingRows(failing, by, lasting=False, guessed=True))
        return found[0] if len(found) == 1 else None

    def _values_of(self, column: str) -> tuple[str, ...]:
        for name, (_, values) in self._guesses.items():
            if plain(name) == plain(column) and values.few:
                return values.values
        return ()

    def leaving(self) -> Flags | None:
        """Return which rows say that a node has left; None where nobody said how they do."""
        if "left_when" not in self._said:
            return None
        return np.frombuffer(self._said["left_when"][2], np.bool_)

    def unread(self, used: FailingRows | None, others: Container[str]) -> Iterator[str]:
        """Yield sentences on columns that nothing reads: neither `used` nor among `others`."""
        names = []
        for name, (_, values) in self._guesses.items():
            if name in others or (used is not None and used.by.startswith(f"{name}=")):
                continue
            kinds = sorted(filter(None, values.values)) if values.few else []
            several = 1 < len(kinds) <= _FEW_VALUES and not {*kinds} <= YES | NO
            names.append(f"{name!r} ({', '.join(kinds)})" if several else repr(name))
            if used is None and {*kinds} <= YES | NO and {*kinds} & YES and {*kinds} & NO:
                yield (
                    f"Column {name!r} holds only {' and '.join(kinds)} and was not used: "
                    f"if it says which rows are failures, give --failure-when {name}=1."
                )
        if names:
            yield f"Columns not used: {', '.join(names)}."


def _cell(cells: Sequence[str], place: int) -> str:
    return cells[place].strip() if place < len(cells) else ""


def _words(name: str) -> str:
    """The word of a name without what may stand around it."""
    return "_".join(word for word in plain(name).split("_") if word not in _AROUND) or plain(name)


def _lasts(column: str, values: Sequence[str], every: Sequence[str]) -> bool:
    """Whether values of a column are of a state, and not of a moment."""
    word = _words(column)
    if {*every} & _BACK:
        return True
    if {*values} <= YES | NO:
        return word in _LASTING
    return word in _LASTING_COLUMNS or {*values} <= _LASTING


def _bad_values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Which values of a column are of failures, if it says that of some rows and not of others."""
    word, kinds = _words(name), {*values}
    if kinds <= YES | NO and kinds & YES and kinds & NO:
        bad = None if "_" in word else meaning(word)
        if bad is None and word in _EVENTS:
            bad = False
        if bad is None:
            return ()
        return tuple(value for value in values if value in (NO if bad else YES))
    if word in _STATES or plain(name) in _STATES:
        means = {value: meaning(value) for value in values}
        doubtful = any(word in value for value in values for word in _PLANNED)
        if {*means.values()} == {True, False} and not doubtful:
            return tuple(value for value in values if means[value] is False)
    return ()
