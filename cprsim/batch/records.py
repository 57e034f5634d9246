"""Rows of the machine as NumPy records."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.sim.tables import Tables


@cache
def dtype(kind: Any) -> np.dtype[Any]:
    """Return the record type of a kind of row: its columns, in order."""
    columns = kind.columns()
    assert not columns.keys() & set(dir(np.record))  # names that NumPy's records use
    types = [(name, np.asarray(zero).dtype, np.shape(zero)) for name, zero in columns.items()]
    return np.dtype(types, align=True)


def records(kind: Any, count: int) -> Any:
    """Return `count` new records."""
    return np.full(count, np.array(tuple(kind.columns().values()), dtype(kind))).view(np.recarray)


def arrays(tables: Tables) -> tuple[NDArray[Any], ...]:
    """Return the tables of plans in the order in which `play` takes them."""
    kinds: Any = tables.of_rows
    values = ((kind, [tuple(vars(row).values()) for row in rows]) for kind, rows in kinds)
    rows = (np.array(each, dtype(kind)).view(np.recarray) for kind, each in values)
    return *rows, np.array(tables.whole, np.int64), np.array(tables.real)
