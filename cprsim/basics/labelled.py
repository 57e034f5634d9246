"""Tables as labelled arrays of xarray, an extra that is imported when it is needed."""

from collections.abc import Mapping
from importlib import util
from typing import TYPE_CHECKING, Any

import pandas as pd

from cprsim.basics.errors import UsageError

if TYPE_CHECKING:
    import xarray


def dataset(
    table: pd.DataFrame, dimensions: Mapping[str, Any], attributes: Mapping[str, Any]
) -> "xarray.Dataset":
    """A variable a column, over the columns that are `dimensions`, each with all its values.

    Not a number where the table has no row.

    Raises
    ------
    UsageError
        Where xarray is not installed.
    """
    if util.find_spec("xarray") is None:
        raise UsageError(
            'xarray is not installed, and to_xarray needs it: pip install "cprsim[xarray]"'
        )
    labelled = table.set_index(list(dimensions)).to_xarray()
    return labelled.reindex(dimensions).assign_attrs(attributes)
