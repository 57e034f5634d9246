"""Rows of the machine as NumPy records."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.sim.tables import Tables

_TYPES = {float: "f8", int: "i8", bool: "?"}


@cache
def dtype(kind: Any) -> np.dtype[Any]:
    """Return the record type of a kind of row: its columns, in order."""
    assert not set(kind.__annotations__) & set(dir(np.record))  # names that NumPy's records use
    columns = [
        (name, _TYPES.get(column) or f"{column.__metadata__[0]}f8")
        for name, column in kind.__annotations__.items()
    ]
    return np.dtype(columns, align=True)


def records(kind: Any, count: int) -> Any:
    """Return `count` records, all zero."""
    return np.zeros(count, dtype(kind)).view(np.recarray)


def arrays(tables: Tables) -> tuple[NDArray[Any], ...]:
    """Return the tables of plans in the order in which `play` takes them."""
    kinds: Any = tables.of_rows
    values = ((kind, [tuple(vars(row).values()) for row in rows]) for kind, rows in kinds)
    rows = (np.array(each, dtype(kind)).view(np.recarray) for kind, each in values)
    return *rows, np.array(tables.whole, np.int64), np.array(tables.real)
