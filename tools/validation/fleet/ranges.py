"""Parts of docs/fleets.md on the fleets that fit: their count, numbers and predictions."""

from typing import Final

import pandas as pd

from tools.tables import markdown
from tools.validation.fleet import facts
from tools.validation.fleet.fits import JOBS
from tools.validation.fleet.search import SEEDS
from tools.validation.fleet.sets import FITTED, SHIPPED

#: Predictions, by the columns of the table.
_PREDICTIONS: Final = {
    "removed": "overhead removed, % of full's",
    "removed_retrained": "the same, retrained",
    "overhead": "overhead, %",
    "overhead_retrained": "overhead, retrained, %",
    **{f"overhead_p{p}": f"overhead at P{p}, %" for p in (50, 95)},
    "pls": "PLS, %",
    "given_back_years": "machine-years given back",
}
_POLICIES: Final = ("tuned", "cpr")


def fits_text(table: pd.DataFrame) -> str:
    """Return how many sets there are, and their distance from the facts."""
    others = table["set"].nunique() - 1
    near = table["near"].iloc[0]
    off = table.loc[table["set"] != 0, "distance"]
    shipped = table.loc[table["set"] == 0, "distance"].iloc[0]
    return (
        f"{others} other sets are kept. *As well* means: they miss the first six rows above by at "
        f"most {near:.2f} points together (root of the sum of squares, 0 within a range), as the "
        f"shipped set does on the average of {SEEDS} other seeds; the dominant causes are the "
        f"reported ones; machine-years are within {facts.YEARS_WITHIN:.0f}. By seed 0, to which it "
        f"was fitted, the shipped set is {shipped:.2f} points off, the others {off.min():.2f} to "
        f"{off.max():.2f}. Predictions are of the first {JOBS:,} jobs.\n"
    )


def numbers(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the heads and rows of `NUMBERS`: how wide the facts leave each fitted number."""
    rows: list[tuple[str, ...]] = [("fitted number", "shipped", "least", "most", "drawn between")]
    for each in FITTED:
        shown = SHIPPED[each.name], table[each.name].min(), table[each.name].max()
        drawn = "follows from machine-years"
        if each is not FITTED[-1]:
            drawn = f"{each.low:g} and {each.high:g}{each.unit}"
        cells = (f"{value:,.4g}{each.unit}" for value in shown)
        rows.append((each.key, *cells, drawn))
    return rows


def ranges_table(table: pd.DataFrame) -> str:
    """The shipped set's predictions, and the least and the most of all sets."""
    heads = ["prediction"]
    for policy in _POLICIES:
        heads += [f"{policy}, shipped", f"{policy}, all that fit"]
    rows = []
    for column, words in _PREDICTIONS.items():
        cells = [words]
        for policy in _POLICIES:
            mine = table[table["policy"] == policy]
            shipped = mine.loc[mine["set"] == 0, column].iloc[0]
            places = 0 if mine[column].max() >= 100 or column.startswith("removed") else 1
            cells.append(f"{shipped:,.{places}f}")
            ends = f"{mine[column].min():,.{places}f}", f"{mine[column].max():,.{places}f}"
            cells.append(" to ".join(ends))
        rows.append(cells)
    return markdown(heads, rows)
