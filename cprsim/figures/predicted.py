"""Seconds that a simulation predicted of real runs, against those that these took."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet

_HEIGHT_IN: Final = 3.2
#: What a cause may be off by: the larger of a share and so many seconds.
SHARE: Final = 0.10
SECONDS: Final = 0.05


def predicted_measured(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw predicted seconds against measured ones, a point a run and cause, on log axes.

    Parameters
    ----------
    table
        A row a run and cause: `cause`, one of `cprsim.contract.ledger.OVERHEAD_CAUSES` or
        `"overhead"`, all of them together; `predicted` and `measured`, seconds. Rows in which
        either is 0 are left out.

    Returns
    -------
    matplotlib.figure.Figure
        With one pair of axes: measured over predicted seconds, the line on which both are equal,
        and a band of `SHARE` or `SECONDS` about it, whichever is wider.
    """
    shown = table[(table[["predicted", "measured"]] > 0).all(axis=1)]
    with style.styled():
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        limits = curves.log_limits(shown[["predicted", "measured"]], 10)
        axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
        axes.set(xlabel="measured, s", ylabel="predicted, s")
        axes.grid()
        for axis in (axes.xaxis, axes.yaxis):
            ticks.numbers(axis)
        for cause, rows in shown.groupby("cause", sort=False):
            axes.plot(rows["measured"], rows["predicted"], **_points(str(cause)))
        along = np.geomspace(*limits, 200)
        room = np.maximum(SHARE * along, SECONDS)
        low = np.maximum(along - room, limits[0])
        axes.fill_between(along, low, along + room, color=style.TRAINING_COLOUR, zorder=0.5)
        axes.plot(limits, limits, color=style.FAINT_INK, linewidth=0.8, zorder=0.6)
        sheet.key(_entries(shown))
        return sheet.done(_finding(shown), title, height_in=_HEIGHT_IN)


def _finding(shown: pd.DataFrame) -> str:
    """Say how many predictions are within the band."""
    measured = shown["measured"]
    room = np.maximum(SHARE * measured, SECONDS)
    near = int(((shown["predicted"] - measured).abs() <= room).sum())
    return f"{near} of {len(shown)} predictions are within {100 * SHARE:g} % or {SECONDS:g} s"


def _points(cause: str) -> dict[str, Any]:
    return {
        "color": style.cause_colour(cause),
        "linestyle": "none",
        "marker": "o" if cause in style.CAUSE_COLOURS else "D",
        "markersize": 4.5,
        "markeredgecolor": style.INK,
        "markeredgewidth": 0.4,
    }


def _entries(shown: pd.DataFrame) -> list[Entry]:
    words = {cause: CAUSE_LABELS.get(cause, "all overhead") for cause in shown["cause"]}
    points = [Entry([_points(cause)], label) for cause, label in words.items()]
    band = {"color": style.TRAINING_COLOUR, "linewidth": 6}
    return [*points, Entry([band], "off by 10 % or 50 ms at most")]
