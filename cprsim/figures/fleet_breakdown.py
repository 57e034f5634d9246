"""What the jobs of a fleet lose at some percentiles of their overhead, by cause and policy."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import bars, style, texts, ticks
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import percent

_HEIGHT: Final = 2.6
_LOW: Final = 1.5  # where panels are one below the other
_BAR: Final = 0.62  # of the room from one bar to the next
_HEADROOM: Final = 1.12  # above the highest bar, for its number
_MOST: Final = 4  # panels side by side


def fleet_breakdown(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead by cause of the jobs at some percentiles, a panel a policy.

    Parameters
    ----------
    table
        A row a policy and percentile, as in `cprsim.runs.fleet_result.FleetResult.percentiles`:
        `percentile` of the policy's jobs by overhead, and causes as shares of useful time, means
        over the jobs around it.

    Returns
    -------
    matplotlib.figure.Figure
        Its height grows with the number of policies. It has axes for each policy, in the table's
        order, with the same y: shares (1 is 100 %) over the places of the percentiles, 0, 1, ...
    """
    policies = list(table["policy"].unique())
    with style.styled():
        causes = [cause for cause in CAUSE_LABELS if (table[cause] > 0).any()]
        sheet = Sheet(len(policies), min(len(policies), _MOST), sharey=True)
        top = _HEADROOM * float(table[causes].sum(axis=1).max()) or 1.0
        for axes, policy in zip(sheet.axes, policies, strict=True):
            axes.set(ylim=(0, top), title=texts.wrapped(str(policy), 24))
            _bars(axes, table[table["policy"] == policy], causes)
        for axes in sheet.first_column:
            axes.set_ylabel("% of useful training time")
        sheet.causes(causes)
        note = (
            "P90: the jobs with more overhead than 90 % of all under that policy; means over the "
            "jobs within one percentile of all around"
        )
        height_in = _LOW if sheet.narrow else _HEIGHT
        return sheet.done(_finding(table, causes), title, [note], height_in)


def _finding(table: pd.DataFrame, causes: list[str]) -> str:
    """Say what the jobs of the first policy lose at the lowest percentile and the highest."""
    rows = table[table["policy"] == table["policy"].iloc[0]].sort_values("percentile")
    first, last = rows["percentile"].iloc[[0, -1]]
    low, high = rows[causes].sum(axis=1).iloc[[0, -1]]
    said = f"Under {rows['policy'].iloc[0]}, the job at P{last:g} loses {percent(high)}"
    return f"{said} of its time" + f", that at P{first:g} {percent(low)}" * bool(first < last)


def _bars(axes: Axes, rows: pd.DataFrame, causes: list[str]) -> None:
    """Draw a bar for each percentile, its causes one upon the other, their sum above."""
    places = range(len(rows))
    found = bars.stack(axes, rows, causes, places, _BAR, upright=True)
    if found:
        values = [percent(float(share)) for share in rows[causes].sum(axis=1)]
        axes.bar_label(found[-1], values, padding=2, size=style.small_pt(), weight="bold")
    ticks.shares(axes.yaxis)
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_xticks(places, [f"P{percentile:g}" for percentile in rows["percentile"]])
