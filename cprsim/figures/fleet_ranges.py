"""What fleets that fit the same facts predict of each policy: ranges over all of them."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import bars, style
from cprsim.figures.parts.sheet import Sheet

#: Predictions, all in percent, and what they are called; the first are what a policy removes.
LABELS: Final = {
    "removed": "overhead removed",
    "removed_retrained": "the same, retrained",
    "overhead": "overhead, mean",
    **{f"overhead_p{p}": f"overhead at P{p}" for p in (50, 75, 90, 95, 99)},
}
#: The number of the set that is shipped.
SHIPPED: Final = 0
_ROW_IN: Final = 0.27


def fleet_ranges(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the least, most and every value of each prediction, a panel a policy.

    Parameters
    ----------
    table
        A row a set and policy: `set`, 0 for the shipped one; `policy`; the columns of `LABELS`, in
        percent. What a policy removes is of the overhead of the first policy, which has no panel.

    Returns
    -------
    matplotlib.figure.Figure
        With axes for each policy, in the table's order, with the same x, a share, over the places
        of the predictions, 0, 1, ... downwards.
    """
    policies = list(table["policy"].unique())[1:]
    with style.styled():
        sheet = Sheet(len(policies), sharex=True)
        values = table.loc[table["policy"] != table["policy"].iloc[0], [*LABELS]].to_numpy() / 100
        for i, (axes, policy) in enumerate(zip(sheet.axes, policies, strict=True)):
            axes.set_title(str(policy))
            axes.set_ylim(len(LABELS) - 0.5, -0.5)
            named = i == 0 or sheet.narrow
            axes.set_yticks(range(len(LABELS)), [*LABELS.values()] if named else [""] * len(LABELS))
            axes.tick_params(axis="y", length=0, pad=8)
            axes.grid(axis="x")
            bars.reach(axes, float(values.max()))
            axes.set_xlim(min(0.0, float(values.min())), axes.get_xlim()[1])
            _ranges(axes, table[table["policy"] == policy])
        note = (
            f"{table['set'].nunique()} fleets that fit the same facts as well: a stroke each, the "
            "shipped one a diamond. Removed: of the first policy's mean overhead"
        )
        return sheet.done(_finding(table), title, [note], _ROW_IN * len(LABELS))


def _ranges(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw a bar from the least to the most, a stroke for each set, a diamond for the shipped."""
    shipped = rows[rows["set"] == SHIPPED]
    for place, column in enumerate(LABELS):
        values = rows[column] / 100
        low, high = float(values.min()), float(values.max())
        axes.barh(place, high - low, 0.62, low, color=style.TRAINING_COLOUR)
        axes.plot(values, [place] * len(rows), "|", color=style.FAINT_INK, markersize=6, alpha=0.7)
        mine = shipped[column] / 100
        axes.plot(mine, [place] * len(mine), "D", color=style.INK, markersize=4.5, clip_on=False)
        bars.beyond(axes, (high, place), _range(low, high), 7, weight="bold")


def _range(low: float, high: float) -> str:
    places = 1 if high < 0.1 else 0
    return f"{100 * low:.{places}f} to {100 * high:.{places}f} %"


def _finding(table: pd.DataFrame) -> str:
    """Say what share of the first policy's overhead each of the others removes."""
    of_first, *_ = table["policy"].unique()
    removed = table.groupby("policy", sort=False)["removed"].agg(["min", "max"]) / 100
    removed = removed.drop(index=of_first).sort_values("max", ascending=False)
    said = [f"{name} {_range(row['min'], row['max'])}" for name, row in removed.iterrows()]
    return f"Of the overhead of {of_first}, all fleets that fit remove: {', '.join(said)}"
