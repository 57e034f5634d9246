"""Updates lost by saving rows by priority, relative to saving everything once an interval."""

import math
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWNBASE

from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import percent, wrapped

#: The fraction of the CPR paper.
_CHOSEN: Final = 0.125
#: Trackers, with their words, which rows they take, and the look of their lines. Later ones lie on
#: top. Those of a policy have its colour, the others are grey.
_TRACKERS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "random": (
        "random",
        "other rows for each save",
        {"color": style.FAINT_INK, "linestyle": style.LAW_DASHES["exponential"]},
    ),
    "round-robin": (
        "round-robin",
        "in turn, whether accessed or not",
        {"color": style.LEARNING_COLOUR, "linestyle": style.LAW_DASHES["weibull"]},
    ),
    "ssu": (
        "SSU",
        "from a bounded list of those that were accessed in a sub-sample of the batches",
        {"color": style.SYSTEM_COLOURS["cpr-ssu"]},
    ),
    "mfu": (
        "MFU",
        "most accessed since their last save",
        {"color": style.SYSTEM_COLOURS["cpr-mfu"], "linewidth": 2.0},
    ),
    # Its dashes show the line of MFU where they cover it.
    "scar": ("SCAR", "most changed since their last save", marks.line("cpr-scar")),
}


@style.styled()
def lost_rows(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw updates lost in a failure under priority saving, against the share of rows of a save.

    Axes for each skew, in the table's order: fractions, log, over shares (1 is 100 %), all with the
    same limits.

    Parameters
    ----------
    table
        A row a point: `skew`, the name of a popularity; `tracker`, one of
        `cprsim.rows.meanfield.TRACKERS`; `fraction` of the rows that a save takes, > 0 and <= 1;
        `relative`, what a failure loses as a share of what it would if everything were saved once
        an interval (CPR-vanilla), over some time or in the long run; not a number for none.
    """
    skews = list(table["skew"].unique())
    sheet = Sheet(len(skews), min(2, len(skews)), sharey=True, sharex=True)
    low, high = ticks.log_limits(table["fraction"], 4.2)  # two doublings and a little
    losses = table["relative"].to_numpy(dtype=np.float64)
    most = float(np.max(losses, initial=1, where=np.isfinite(losses)))
    powers = range(max(0, math.ceil(-math.log2(high))), 1 - math.ceil(math.log2(low)))
    names = {0.5**p: f"1/{2**p}" if p else "1" for p in powers}
    for skew, axes in zip(skews, sheet.axes, strict=True):
        axes.set(title=wrapped(str(skew), 22), xlim=(low, high), ylim=(0, 1.06 * most))
        axes.set_xscale("log", base=2)
        ticks.show(axes.xaxis, names, keep=_CHOSEN)
        ticks.shares(axes.yaxis)
        axes.grid()
        colour = style.SYSTEM_COLOURS["cpr-vanilla"]
        label = "CPR-vanilla: everything once an interval, 100 %"
        axes.axhline(1, color=colour, linewidth=1.0, zorder=1.9, label=label)
        if low <= _CHOSEN <= high:
            look: dict[str, Any] = {"linestyle": "none", "marker": CARETDOWNBASE}
            look |= {"color": style.FAINT_INK, "transform": axes.get_xaxis_transform()}
            label = "1/8 of the rows: the choice of the CPR paper"
            axes.plot(_CHOSEN, 1, markersize=4, markeredgewidth=0, label=label, **look)
        for tracker, (words, takes, look) in _TRACKERS.items():
            rows = table[(table["skew"] == skew) & (table["tracker"] == tracker)]
            rows = rows.sort_values("fraction")
            if len(rows):
                own: dict[str, Any] = {"linewidth": 1.3, "marker": "o", "markersize": 2.8} | look
                label = f"{words}: {takes}"
                axes.plot(rows["fraction"], rows["relative"], label=label, clip_on=False, **own)
    for axes in sheet.first_column:
        axes.set_ylabel("updates lost, % of CPR-vanilla's")
    for axes in sheet.axes[-sheet.columns :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("share of all rows that a save takes")
    sheet.key()
    return sheet.done(_finding(table), title, height_in=1.5 if sheet.rows > 1 else 2.5)


def _finding(table: pd.DataFrame) -> str:
    """Say what the best tracker loses where a save takes as many rows as the CPR paper's."""
    there = table[np.isfinite(table["relative"])]
    if there.empty:
        return ""
    fractions = there["fraction"].unique()
    at = min(fractions, key=lambda each: abs(math.log2(each / _CHOSEN)))
    by_tracker = there[there["fraction"] == at].groupby("tracker")["relative"]
    best = by_tracker.mean().idxmin()
    low, high = (percent(end) for end in (by_tracker.min()[best], by_tracker.max()[best]))
    span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    rows = f"1/{1 / at:.3g}" if at < 1 else "all"
    name = _TRACKERS[best][0]
    return f"Saves of {rows} of the rows by {name} lose {span} of CPR-vanilla's updates"
