"""Cells that say where: indices from 0, or names."""

import re
from array import array

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import TableRow
from cprsim.failures.logs.names import Names

Integers = NDArray[np.int64]

_INDEX = re.compile(r"\+?[0-9]{1,18}")  # 18 digits fit in an int64
_NEITHER = re.compile(r"|-[0-9]+|[+-]?[0-9]*\.[0-9]*")  # numbers of no node; 10.0.0.1 is a name


class Places:
    """A column of nodes or racks: indices if all its cells are, else names.

    Parameters
    ----------
    column
        What the column is called.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self._names, self._numbers = Names(), array("q")
        self._indices: array[int] | None = array("q")  # of each name, while all are indices

    def add(self, row: TableRow) -> None:
        """Take the cell of a row; raise `LogError` if it can be neither index nor name."""
        text, known = row[self.column], len(self._names)
        self._numbers.append(self._names.number(text))
        if len(self._names) == known:
            return
        if _NEITHER.fullmatch(text):
            raise row.bad(self.column, "; it is an index from 0, or a name")
        if self._indices is not None and _INDEX.fullmatch(text):
            self._indices.append(int(text))
        else:
            self._indices = None

    @property
    def named(self) -> int:
        """How many names there are; 0 where all are indices."""
        return 0 if self._indices is not None else len(self._names)

    def numbers(self, order: Integers) -> Integers:
        """Of each row, in an order: its index, or that of its name as they first come in it."""
        numbers = np.asarray(self._numbers)[order]
        if self._indices is None:
            return pd.factorize(numbers)[0]
        indices: Integers = np.asarray(self._indices, np.int64)
        return np.take(indices, numbers)


class Causes:
    """A column of the reasons of failures; one that comes again is kept once."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._texts, self._known = list[str | None](), dict[str, str]()

    def add(self, row: TableRow) -> None:
        """Take the cell of a row."""
        text = row[self.column]
        self._texts.append(self._known.setdefault(text, text) if text else None)

    def texts(self, order: Integers) -> tuple[str | None, ...]:
        """Return the reason of each row, in an order; None where it is empty."""
        return tuple(self._texts[row] for row in order)
