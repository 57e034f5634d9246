"""Rows of the machine as records of NumPy's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.sim.tables import Tables

_TYPES = {float: "f8", int: "i8", bool: "?"}


def dtype(kind: Any) -> np.dtype[Any]:
    """Return the type of such records: the columns of the row, in its order."""
    assert not set(kind.__annotations__) & set(dir(np.record))  # which are something else there
    columns = [
        (name, _TYPES.get(column) or f"{column.__metadata__[0]}f8")
        for name, column in kind.__annotations__.items()
    ]
    return np.dtype(columns, align=True)


def records(kind: Any, count: int) -> Any:
    """Return so many of them, all zero."""
    return np.zeros(count, dtype(kind)).view(np.recarray)


def arrays(tables: Tables) -> tuple[NDArray[Any], ...]:
    """Return the tables of plans in the order in which `play` takes them."""
    kinds: Any = tables.of_rows
    rows = (np.array(rows, dtype(kind)).view(np.recarray) for kind, rows in kinds)
    return *rows, np.array(tables.whole, np.int64), np.array(tables.real)
