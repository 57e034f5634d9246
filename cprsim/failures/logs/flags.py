"""The rows of a table that are failures, by a column that the user names or that is known."""

from collections.abc import Collection, Container, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import shown
from cprsim.errors import LogError
from cprsim.failures.logs.columns import plain
from cprsim.failures.logs.polarity import meaning
from cprsim.failures.logs.rules import Cell, Rules
from cprsim.failures.logs.table import LogTable

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


class Flagged:
    """Columns of a table that may say which rows are failures, and which by which nodes leave.

    Parameters
    ----------
    table
        The table.
    free
        Columns that hold nothing else that is known.
    rules
        What its owner says.
    """

    def __init__(self, table: LogTable, free: Sequence[str], rules: Rules) -> None:
        self._table, self._free, self._rules = table, free, rules
        #: Those with but few values, in small letters.
        self._few = {
            name: cells
            for name in free
            if (cells := table[name].str.lower()).nunique() <= _MOST_VALUES
        }
        self._said = self._holds("failure_when", rules.failing)
        self.leaving = self._holds("left_when", rules.leaving)

    def _holds(self, key: str, cell: Cell | None) -> Flags | None:
        """Which rows have a cell that is named; None where none is."""
        if cell is None:
            return None
        names = self._table.names
        name = next((name for name in names if plain(name) == plain(cell.column)), None)
        if name is None:
            raise LogError(
                f"{self._table.path}: {key} names column {shown(cell.column)}, which the table "
                f"lacks; its columns are {shown(', '.join(names))}"
            )
        return self._table[name].map(cell.holds).to_numpy(np.bool_)

    def _values(self, name: str) -> list[str]:
        """The values of a column, as they first come; none if they aren't few."""
        return self._few[name].unique().tolist() if name in self._few else []

    def failing(self) -> FailingRows | None:
        """Return which rows are failures; None where no column says it."""
        cell = self._rules.failing
        if cell is not None and self._said is not None:
            same = (name for name in self._few if plain(name) == plain(cell.column))
            others = self._values(next(same, ""))
            lasts = _lasts(cell.column, (cell.value.lower(),), others)
            return FailingRows(self._said, str(cell), lasts, guessed=False)
        guesses = list[FailingRows]()
        for name, cells in self._few.items():
            bad = _bad_values(name, self._values(name))
            if bad:
                by = f"{name}={' or '.join(value or 'nothing' for value in bad)}"
                lasts = _lasts(name, bad, self._values(name))
                guesses.append(FailingRows(cells.isin(bad).to_numpy(), by, lasts, guessed=True))
        for each in guesses[1:]:
            if not np.array_equal(each.failing, guesses[0].failing):
                raise LogError(
                    f"{guesses[0].by} and {each.by} name different rows as failures; choose with "
                    "--failure-when"
                )
        return guesses[0] if guesses else None

    def rarest(self) -> FailingRows | None:
        """Return the rows with the rarer value of the one column of flags; None without one."""
        found = []
        for name, cells in self._few.items():
            if _is_flag(self._values(name)):
                yes = cells.isin(YES).to_numpy()
                failing, said = (yes, YES) if yes.mean() < _HALF else (~yes, NO)
                by = f"{name}={min({*self._values(name)} & said)}"
                found.append(FailingRows(failing, by, lasting=False, guessed=True))
        return found[0] if len(found) == 1 else None

    def unread(self, used: FailingRows | None, others: Container[str]) -> Iterator[str]:
        """Yield sentences on columns that nothing reads: neither `used` nor among `others`."""
        names = []
        for name in self._free:
            if name in others or (used is not None and used.by.startswith(f"{name}=")):
                continue
            kinds = sorted(filter(None, self._values(name)))
            several = 1 < len(kinds) <= _FEW_VALUES and not {*kinds} <= YES | NO
            names.append(f"{name!r} ({', '.join(kinds)})" if several else repr(name))
            if used is None and _is_flag(kinds):
                yield (
                    f"Column {name!r} holds only {' and '.join(kinds)} and was not used: "
                    f"if it says which rows are failures, give --failure-when {name}=1."
                )
        if names:
            yield f"Columns not used: {', '.join(names)}."


def _is_flag(values: Collection[str]) -> bool:
    """Whether values say yes and no, and nothing else."""
    kinds = {*values}
    return kinds <= YES | NO and bool(kinds & YES and kinds & NO)


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
    if _is_flag(kinds):
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
