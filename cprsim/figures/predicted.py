"""Seconds that a simulation predicted of real runs, against those that these took."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.curves import Entry, Frame, Panel
from cprsim.figures.parts.heading import Heading

_PANEL: Final = Panel("Predicted against measured", "predicted, s", "measured, s")
_RIGHT_IN: Final = 4.6
_HEIGHT_IN: Final = 3.4
#: What a cause may be off by: the larger of a share and so many seconds.
SHARE: Final = 0.10
SECONDS: Final = 0.05


def predicted_measured(table: pd.DataFrame, title: str = "") -> Figure:
    """Predicted seconds against measured ones, a point a run and cause, on log axes.

    Parameters
    ----------
    table
        A row a run and cause: `cause`, one of `cprsim.contract.ledger.OVERHEAD_CAUSES` or
        `"overhead"`, all of them together; `predicted` and `measured`, seconds. Rows in which
        either is 0 are left out.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with one pair of axes: measured over predicted, the line on which both are
        equal, and a band of `SHARE` or `SECONDS` about it, whichever is wider.
    """
    shown = table[(table[["predicted", "measured"]] > 0).all(axis=1)]
    with style.styled():
        frame = curves.frame(Heading.of(_finding(shown), title), [_PANEL], _RIGHT_IN, _HEIGHT_IN)
        (axes,) = frame.axes
        limits = _limits(frame, shown)
        for cause, rows in shown.groupby("cause", sort=False):
            axes.plot(rows["measured"], rows["predicted"], **_points(str(cause)))
        along = np.geomspace(*limits, 200)
        room = np.maximum(SHARE * along, SECONDS)
        low = np.maximum(along - room, limits[0])
        axes.fill_between(along, low, along + room, color=style.TRAINING_COLOUR, zorder=0.5)
        axes.plot(limits, limits, color=style.FAINT_INK, linewidth=0.8, zorder=0.6)
        curves.write_key(frame, _entries(shown))
    return frame.figure


def _finding(shown: pd.DataFrame) -> str:
    """How many predictions are within the band."""
    measured = shown["measured"]
    room = np.maximum(SHARE * measured, SECONDS)
    near = int(((shown["predicted"] - measured).abs() <= room).sum())
    return f"{near} of {len(shown)} predictions are within {100 * SHARE:g} % or {SECONDS:g} s"


def _limits(frame: Frame, shown: pd.DataFrame) -> tuple[float, float]:
    """The same on both axes."""
    (axes,) = frame.axes
    both = shown[["predicted", "measured"]].to_numpy(dtype=np.float64).ravel()
    limits = curves.log_limits(both, 10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*limits)
    axes.set_ylim(*limits)
    ticks.number_ticks(axes, "x", frame.width_in, 1.0, " s")
    ticks.number_ticks(axes, "y", frame.height_in, 1.0, " s")
    return limits


def _points(cause: str) -> dict[str, Any]:
    colour = style.CAUSE_COLOURS.get(cause, style.SYSTEM_COLOURS["full"])
    return {
        "color": colour,
        "linestyle": "none",
        "marker": "o" if cause in style.CAUSE_COLOURS else "D",
        "markersize": 4.5,
        "markeredgecolor": style.SYSTEM_COLOURS["full"],
        "markeredgewidth": 0.4,
    }


def _entries(shown: pd.DataFrame) -> list[Entry]:
    words = {cause: CAUSE_LABELS.get(cause, "all overhead") for cause in shown["cause"]}
    points = [Entry([_points(cause)], label) for cause, label in words.items()]
    band = {"color": style.TRAINING_COLOUR, "linewidth": 6}
    return [*points, Entry([band], "10 % or 50 ms", "off at most")]
