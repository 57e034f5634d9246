"""What fleets that fit the same facts predict of each policy: ranges over all of them."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import layout, panels, style, ticks
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT, WIDTH_IN

#: Predictions, all in percent, and what they are called; the first are what a policy removes.
LABELS: Final = {
    "removed": "overhead removed",
    "removed_retrained": "the same, retrained",
    "overhead": "overhead, mean",
    **{f"overhead_p{p}": f"overhead at P{p}" for p in (50, 75, 90, 95, 99)},
}
#: The number of the set that is shipped.
SHIPPED: Final = 0

# In inches.
_LEFT: Final = 1.45  # of the first panel: names of predictions
_BETWEEN: Final = 0.2
_NAMES: Final = 0.28
_ROW: Final = 0.27
_TICKS: Final = 0.25
_FOOT: Final = 0.3  # the note
_ROOM: Final = 1.3  # of the longest range: its ends, in figures, stand beyond


def fleet_ranges(table: pd.DataFrame, title: str = "") -> Figure:
    """Least, most and every value of each prediction, a panel a policy.

    Parameters
    ----------
    table
        A row a set and policy: `set`, 0 for the shipped one; `policy`; the columns of `LABELS`, in
        percent. What a policy removes is of the overhead of the first policy, which has no panel.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. It has axes for each policy, in the table's order, with the same x, percent,
        over the places of the predictions, 0, 1, ... downwards.
    """
    policies = list(table["policy"].unique())[1:]
    with style.styled():
        head = Heading.of(_finding(table), title)
        top_in = head.ends_in + MARGIN / 2
        height_in = _ROW * len(LABELS)
        figure = Figure(figsize=(WIDTH_IN, top_in + _NAMES + height_in + _TICKS + _FOOT))
        head.write(figure)
        width_in = (WIDTH_IN - _LEFT - MARGIN + _BETWEEN) / len(policies) - _BETWEEN
        for i, policy in enumerate(policies):
            left_in = _LEFT + i * (width_in + _BETWEEN)
            layout.write(figure, (left_in, top_in), [str(policy)], TEXT_PT, weight="bold")
            at_in, size_in = (left_in, top_in + _NAMES), (width_in, height_in)
            axes = _panel(figure, at_in, size_in, table, named=not i)
            _ranges(axes, table[table["policy"] == policy])
        _explain(figure, table["set"].nunique())
    return figure


def _panel(
    figure: Figure,
    at_in: tuple[float, float],
    size_in: tuple[float, float],
    table: pd.DataFrame,
    *,
    named: bool,
) -> Axes:
    axes = panels.panel(figure, at_in, size_in)
    values = table.loc[table["policy"] != table["policy"].iloc[0], [*LABELS]].to_numpy() / 100
    most = float(values.max())
    axes.set_xlim(min(0.0, float(values.min())), _ROOM * most)
    ticks.number_ticks(axes, "x", size_in[0], 0.01, " %", beyond=most)
    axes.grid(axis="x")
    axes.set_ylim(len(LABELS) - 0.5, -0.5)
    axes.set_yticks(range(len(LABELS)), list(LABELS.values()) if named else [""] * len(LABELS))
    axes.tick_params(axis="y", length=0)
    return axes


def _ranges(axes: Axes, rows: pd.DataFrame) -> None:
    """A bar from the least to the most, a stroke for each set, a diamond for the shipped one."""
    shipped = rows[rows["set"] == SHIPPED]
    for place, column in enumerate(LABELS):
        values = rows[column] / 100
        low, high = float(values.min()), float(values.max())
        axes.barh(place, high - low, 0.62, low, color=style.TRAINING_COLOUR)
        axes.plot(values, [place] * len(rows), "|", color=style.FAINT_INK, markersize=6, alpha=0.7)
        mine = shipped[column] / 100
        axes.plot(mine, [place] * len(mine), "D", color=style.INK, markersize=4.5, clip_on=False)
        axes.annotate(
            _range(low, high),
            (high, place),
            xytext=(1.5 * layout.PAD_PT, 0),
            textcoords="offset points",
            va="center_baseline",
            size=SMALL_PT,
            weight="bold",
        )


def _range(low: float, high: float) -> str:
    places = _places(high)
    return f"{100 * low:.{places}f} to {100 * high:.{places}f} %"


def _finding(table: pd.DataFrame) -> str:
    """What share of the first policy's overhead each of the others removes."""
    of_first, *_ = table["policy"].unique()
    removed = table.groupby("policy", sort=False)["removed"].agg(["min", "max"]) / 100
    removed = removed.drop(index=of_first).sort_values("max", ascending=False)
    said = [f"{name} {_range(row['min'], row['max'])}" for name, row in removed.iterrows()]
    return f"Of the overhead of {of_first}, all fleets that fit remove: {', '.join(said)}"


def _places(share: float) -> int:
    """Decimals of a share in percent: one below 10 %."""
    return 1 if share < 0.1 else 0


def _explain(figure: Figure, sets: int) -> None:
    note = (
        f"{sets} fleets that fit the same facts as well: a stroke each, the shipped one a diamond. "
        "Removed: of the first policy's mean overhead"
    )
    panels.foot(figure, panels.wrapped([note]), figure.get_figheight() + MARGIN / 2)
