"""What the jobs of a fleet lose at some percentiles of their overhead, by cause and policy."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import key, layout, panels, style, ticks
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.stack import stack
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT, WIDTH_IN

# In inches.
_LEFT: Final = 0.62  # of the first panel: numbers on y and what they are
_BETWEEN: Final = 0.15
_NAMES: Final = 0.28
_HEIGHT: Final = 2.6
_TICKS: Final = 0.25  # names of percentiles
_FOOT: Final = 0.25  # the note
_ROW: Final = _NAMES + _HEIGHT + _TICKS
_BAR: Final = 0.62  # of the room from one bar to the next
_HEADROOM: Final = 1.1  # above the highest bar, for its number
_MOST: Final = 4  # panels side by side


def fleet_breakdown(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead by cause of the jobs at some percentiles, a panel a policy.

    Parameters
    ----------
    table
        A row a policy and percentile, as in `cprsim.fleets.result.FleetResult.percentiles`:
        `percentile` of the policy's jobs by overhead, and causes as shares of useful time, means
        over the jobs around it.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide; its height grows with the number of policies. It has axes for each policy, in
        the table's order, with the same y: shares (1 is 100 %) over the places of the percentiles,
        0, 1, ...
    """
    policies = list(table["policy"].unique())
    with style.styled():
        causes = [cause for cause in CAUSE_LABELS if (table[cause] > 0).any()]
        head = Heading.of(_finding(table, causes), title)
        legend_in = head.ends_in
        panels_in = legend_in + key.causes_height_in(causes)
        rows = -(-len(policies) // _MOST)
        figure = Figure(figsize=(WIDTH_IN, panels_in + rows * _ROW + _FOOT))
        head.write(figure)
        key.causes(figure, causes, (MARGIN, legend_in))
        width_in = (WIDTH_IN - _LEFT - MARGIN + _BETWEEN) / min(len(policies), _MOST) - _BETWEEN
        top = _HEADROOM * float(table[causes].sum(axis=1).max()) or 1.0
        for i, policy in enumerate(policies):
            row, column = divmod(i, _MOST)
            at_in = _LEFT + column * (width_in + _BETWEEN), panels_in + row * _ROW
            name = layout.wrap(str(policy), width_in, TEXT_PT, "bold")[0]
            layout.write(figure, at_in, [name], TEXT_PT, weight="bold")
            axes = _panel(figure, at_in, width_in, top, leftmost=column == 0)
            _bars(axes, table[table["policy"] == policy], causes)
        _explain(figure)
    return figure


def _finding(table: pd.DataFrame, causes: list[str]) -> str:
    """What the jobs of the first policy lose at the lowest percentile and at the highest."""
    rows = table[table["policy"] == table["policy"].iloc[0]].sort_values("percentile")
    first, last = rows["percentile"].iloc[[0, -1]]
    low, high = rows[causes].sum(axis=1).iloc[[0, -1]]
    said = f"Under {rows['policy'].iloc[0]}, the job at P{last:g} loses {layout.percent(high)}"
    return f"{said} of its time" + f", that at P{first:g} {layout.percent(low)}" * bool(
        first < last
    )


def _panel(
    figure: Figure, at_in: tuple[float, float], width_in: float, top: float, *, leftmost: bool
) -> Axes:
    axes = panels.panel(figure, (at_in[0], at_in[1] + _NAMES), (width_in, _HEIGHT))
    axes.set_ylim(0, top)
    ticks.number_ticks(axes, "y", _HEIGHT, 0.01, " %", beyond=top / _HEADROOM)
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0)
    if leftmost:
        axes.set_ylabel("overhead, % of useful training time")
    else:
        axes.tick_params(axis="y", left=False, labelleft=False)
    return axes


def _bars(axes: Axes, rows: pd.DataFrame, causes: list[str]) -> None:
    """A bar for each percentile, its causes one upon the other, their sum above."""
    places = range(len(rows))
    _, ends = stack(axes, rows, causes, places, _BAR, upright=True)
    for place, share in zip(places, ends, strict=True):
        axes.annotate(
            layout.percent(float(share)),
            (place, share),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            size=SMALL_PT,
            weight="bold",
        )
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_xticks(places, [f"P{percentile:g}" for percentile in rows["percentile"]])


def _explain(figure: Figure) -> None:
    note = (
        "P90: the jobs with more overhead than 90 % of all under that policy; means over the jobs "
        "within one percentile of all around"
    )
    panels.foot(figure, [note], figure.get_figheight() + MARGIN / 2)
