"""What saving rows by priority loses, relative to saving everything once an interval."""

import math
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWNBASE

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.figures.parts import curves, style, texts, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import percent

_HEIGHTS: Final = (2.5, 1.5)  # of panels, inches, if there is one row of them and if there are more
_LEAST_SPAN: Final = 4.2  # of the fractions' axis: two doublings and a little
_HEADROOM: Final = 1.06  # above the largest loss
_EQUAL: Final = 1e-9  # relative: lines closer than that are one
#: The fraction of the CPR paper, r = 0.125, is 2 to the power of minus this.
_CHOSEN: Final = 3

#: How the line of each tracker looks, its words, and which rows it takes. Later ones lie on top.
#: Those of a policy have its colour, the others are grey.
_LOOKS: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "random": (
        {"color": style.FAINT_INK, "linewidth": 1.2, "linestyle": curves.dashed("exponential")},
        "random",
        "drawn anew for each save",
    ),
    "round-robin": (
        {"color": style.LEARNING_COLOUR, "linewidth": 1.2, "linestyle": curves.dashed("weibull")},
        "round-robin",
        "in turn, whether accessed or not",
    ),
    "ssu": (
        {"color": style.SYSTEM_COLOURS["cpr-ssu"], "linewidth": 1.5},
        "SSU",
        "from a bounded list of those that were accessed in a sub-sample of the batches",
    ),
    "mfu": (
        {"color": style.SYSTEM_COLOURS["cpr-mfu"], "linewidth": 2.0},
        "MFU",
        "most accessed since their last save",
    ),
    # Its dashes show the line of MFU where they cover it.
    "scar": (
        curves.line("cpr-scar") | {"linewidth": 1.2},
        "SCAR",
        "most changed since their last save",
    ),
}
_EVERYTHING: Final[dict[str, Any]] = {
    "color": style.SYSTEM_COLOURS["cpr-vanilla"],
    "linewidth": 1.0,
}
_MARK: Final[dict[str, Any]] = {
    "color": style.FAINT_INK,
    "linestyle": "none",
    "marker": CARETDOWNBASE,
    "markersize": 4.0,
    "markeredgewidth": 0,
}


def lost_rows(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw updates lost in a failure under priority saving, against the share of rows of a save.

    Parameters
    ----------
    table
        A row a point: `skew`, the name of a popularity; `tracker`, one of
        `cprsim.rows.meanfield.TRACKERS`; `fraction` of the rows that a save takes, > 0 and <= 1;
        `relative`, what a failure loses as a share of what it would if everything were saved once
        an interval (CPR-vanilla), over some time or in the long run; not a number for none.

    Returns
    -------
    matplotlib.figure.Figure
        Its height grows with the number of skews. It has axes for each skew, in the table's order:
        fractions, log, over shares (1 is 100 %), all with the same limits. Trackers that lose the
        same everywhere share a line.

    Raises
    ------
    UsageError
        If the table is empty, or names an unknown tracker.
    """
    if table.empty:
        raise UsageError("no row in the table of lost rows; it takes one a point")
    for tracker in table["tracker"].unique():
        if tracker not in _LOOKS:
            raise UsageError(f"tracker {tracker!r}: there is none; {nearest(tracker, _LOOKS)}")
    with style.styled():
        skews = list(table["skew"].unique())
        sheet = Sheet(len(skews), min(2, len(skews)), sharey=True, sharex=True)
        lines = _lines(table)
        for skew, axes in zip(skews, sheet.axes, strict=True):
            axes.set_title(texts.wrapped(str(skew), 22))
            _scales(axes, table)
            _draw(axes, table[table["skew"] == skew], lines)
        for axes in sheet.first_column:
            axes.set_ylabel("updates lost, % of CPR-vanilla's")
        for axes in sheet.axes[-sheet.columns :]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("share of all rows that a save takes")
        sheet.key(_entries(lines, _marked(sheet.axes[0])))
        return sheet.done(_finding(table), title, height_in=_HEIGHTS[sheet.rows > 1])


def _finding(table: pd.DataFrame) -> str:
    """Say what the best tracker loses where a save takes as many rows as the CPR paper's."""
    there = table[np.isfinite(table["relative"])]
    if there.empty:
        return ""
    fractions = there["fraction"].unique()
    at = min(fractions, key=lambda each: abs(math.log2(each) + _CHOSEN))
    there = there[there["fraction"] == at]
    by_tracker = there.groupby("tracker")["relative"]
    best = by_tracker.mean().idxmin()
    low, high = (percent(end) for end in (by_tracker.min()[best], by_tracker.max()[best]))
    span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    rows = f"1/{1 / at:.3g}" if at < 1 else "all"
    return f"Saves of {rows} of the rows by {_LOOKS[best][1]} lose {span} of CPR-vanilla's updates"


def _lines(table: pd.DataFrame) -> list[list[str]]:
    """Return trackers, those that lose the same everywhere together, in the order of `_LOOKS`."""
    losses = table.pivot(index=["skew", "fraction"], columns="tracker", values="relative")
    lines: list[list[str]] = []
    for name in (name for name in _LOOKS if name in losses):
        for line in lines:
            pair = losses[line[0]], losses[name]
            if np.allclose(*pair, rtol=_EQUAL, atol=0, equal_nan=True):
                line.append(name)
                break
        else:
            lines.append([name])
    return lines


def _scales(axes: Axes, table: pd.DataFrame) -> None:
    """Set axes that hold the whole table, whatever they show of it."""
    low, high = curves.log_limits(table["fraction"], _LEAST_SPAN)
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    powers = range(max(0, math.ceil(-math.log2(high))), 1 - math.ceil(math.log2(low)))
    names = {0.5**p: f"1/{2**p}" if p else "1" for p in powers}
    ticks.named(axes.xaxis, names, keep=0.5**_CHOSEN)
    losses = table["relative"].to_numpy(dtype=np.float64)
    axes.set_ylim(0, _HEADROOM * float(np.max(losses, initial=1, where=np.isfinite(losses))))
    ticks.shares(axes.yaxis)
    axes.grid()


def _draw(axes: Axes, rows: pd.DataFrame, lines: list[list[str]]) -> None:
    axes.axhline(1, zorder=1.9, **_EVERYTHING)
    if _marked(axes):
        axes.plot(0.5**_CHOSEN, 1, transform=axes.get_xaxis_transform(), **_MARK)
    for first, *_ in lines:
        line = rows[rows["tracker"] == first].sort_values("fraction")
        look = _LOOKS[first][0] | {"marker": "o", "markersize": 2.8, "markeredgewidth": 0}
        axes.plot(line["fraction"], line["relative"], clip_on=False, **look)


def _marked(axes: Axes) -> bool:
    low, high = axes.get_xlim()
    return bool(low <= 0.5**_CHOSEN <= high)


def _entries(lines: list[list[str]], marked: bool) -> list[Entry]:
    """Say what each line is."""
    entries = [
        Entry(
            [_LOOKS[line[0]][0]],
            ", ".join(_LOOKS[name][1] for name in line),
            "; ".join(_LOOKS[name][2] for name in line),
        )
        for line in lines
    ]
    entries.append(Entry([_EVERYTHING], "CPR-vanilla", "everything once an interval, 100 %"))
    facts = "the choice of the CPR paper"
    return entries + [Entry([_MARK], f"1/{2**_CHOSEN} of the rows", facts)] * marked
