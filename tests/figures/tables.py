"""Made-up tables."""

from collections.abc import Iterable
from typing import Any

import pandas as pd


def grid(**values: Iterable[Any]) -> pd.DataFrame:
    """Return a row for each combination of values, the first column the slowest."""
    return pd.MultiIndex.from_product(values.values(), names=values).to_frame(index=False)


def with_ends(
    table: pd.DataFrame, *measures: str, low: float = 0.9, high: float = 1.1
) -> pd.DataFrame:
    """Return the table with intervals of these measures, from and to so many times each mean."""
    for name in measures:
        ends = {f"{name}_low": low * table[name], f"{name}_high": high * table[name]}
        table = table.assign(**ends)
    return table
