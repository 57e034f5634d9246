"""Rows of a table that are failures: by the user's word, or by words that are known."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.errors import LogError
from cprsim.failures.logs.options import Cell
from cprsim.failures.logs.table import name_of
from cprsim.failures.logs.words import FLAGS, NO, YES, meaning, plain

#: Names of columns whose words are states.
_STATES: Final = FLAGS["lasting_columns"] | FLAGS["state_columns"]
#: Words of outages that may have been planned: their owner has to say it.
_PLANNED: Final = ("maint", "planned", "drain")
_MOST_VALUES, _FEW_VALUES = 8, 4

Flags = NDArray[np.bool_]
#: Columns with but few values, in small letters.
Few = Mapping[str, "pd.Series[Any]"]


class FailingRows(NamedTuple):
    """The rows that are failures, shape (n,).

    `by`: the cells that they have, as COLUMN=VALUE. `lasting`: whether a node stays so for a while.
    `guessed`: whether the column is known by its name, and not named by the user.
    """

    failing: Flags
    by: str
    lasting: bool
    guessed: bool


def named_rows(table: pd.DataFrame, few: Few, cell: Cell) -> FailingRows:
    """Return the rows that are failures by the user's word: those with a cell."""
    same = [name for name in few if plain(name) == plain(cell.column)]
    lasts = _lasts(cell.column, (cell.value.lower(),), values_of(few, *same[:1]))
    return FailingRows(rows_with(table, "failure_when", cell), str(cell), lasts, guessed=False)


def guessed_rows(few: Few) -> FailingRows | None:
    """Return the rows that are failures by the words of a column; None where no column says it."""
    guesses = list[FailingRows]()
    for name, cells in few.items():
        bad = _bad_values(name, values_of(few, name))
        if bad:
            by = f"{name}={' or '.join(value or 'nothing' for value in bad)}"
            lasts = _lasts(name, bad, values_of(few, name))
            guesses.append(FailingRows(cells.isin(bad).to_numpy(), by, lasts, guessed=True))
    for each in guesses[1:]:
        if not np.array_equal(each.failing, guesses[0].failing):
            raise LogError(
                f"{guesses[0].by} and {each.by} name different rows as failures; choose with "
                "--failure-when"
            )
    return guesses[0] if guesses else None


def rows_with(table: pd.DataFrame, rule: str, cell: Cell) -> Flags:
    """Return whether each row has the cell that a rule of the user names."""
    return table[name_of(table, cell.column, rule)].map(cell.holds).to_numpy(np.bool_)


def few_values(table: pd.DataFrame, names: Sequence[str]) -> Few:
    """Return those of the columns that have but few values."""
    small = {name: table[name].str.lower() for name in names}
    return {name: cells for name, cells in small.items() if cells.nunique() <= _MOST_VALUES}


def unread_columns(names: Sequence[str], few: Few, used: FailingRows | None) -> Iterator[str]:
    """Yield sentences on columns that nothing reads, but for the one that is `used`."""
    told = []
    for name in names:
        if used is not None and used.by.startswith(f"{name}="):
            continue
        kinds = sorted(filter(None, values_of(few, name)))
        several = 1 < len(kinds) <= _FEW_VALUES and not {*kinds} <= YES | NO
        told.append(f"{name!r} ({', '.join(kinds)})" if several else repr(name))
        if used is None and is_flag(kinds):
            yield (
                f"Column {name!r} holds only {' and '.join(kinds)} and was not used: "
                f"if it says which rows are failures, give --failure-when {name}=1."
            )
    if told:
        yield f"Columns not used: {', '.join(told)}."


def values_of(few: Few, name: str = "") -> list[str]:
    """The values of a column, as they first come; none if they aren't few."""
    return few[name].unique().tolist() if name in few else []


def is_flag(values: Collection[str]) -> bool:
    """Return whether values say yes and no, and nothing else."""
    kinds = {*values}
    return kinds <= YES | NO and bool(kinds & YES and kinds & NO)


def _word(name: str) -> str:
    """Return the word of a name without its common prefixes and suffixes."""
    words = [word for word in plain(name).split("_") if word not in FLAGS["around"]]
    return "_".join(words) or plain(name)


def _lasts(column: str, values: Sequence[str], every: Sequence[str]) -> bool:
    """Return whether values of a column are of a state, and not of a moment."""
    if {*every} & FLAGS["back"]:
        return True
    if {*values} <= YES | NO:
        return _word(column) in FLAGS["lasting"]
    return _word(column) in FLAGS["lasting_columns"] or {*values} <= FLAGS["lasting"]


def _bad_values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a column that are of failures, if others are not."""
    word = _word(name)
    if is_flag(values):
        bad = False if word in FLAGS["events"] else None
        bad = (None if "_" in word else meaning(word)) if bad is None else bad
        return () if bad is None else tuple(each for each in values if each in (NO if bad else YES))
    if not {word, plain(name)} & _STATES:
        return ()
    means = {value: meaning(value) for value in values}
    doubtful = any(word in value for value in values for word in _PLANNED)
    if doubtful or {*means.values()} != {True, False}:
        return ()
    return tuple(value for value in values if means[value] is False)
