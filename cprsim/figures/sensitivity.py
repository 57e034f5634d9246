"""How overhead grows with the number of failures, and with how many servers each takes."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.curves import Panel
from cprsim.figures.parts.heading import Heading

#: What a table varies, in the order of the panels.
VARIED: Final = {
    "failures": Panel("More failures", "overhead, % of useful time", "failures in the job"),
    "share": Panel("More servers lost in each", "overhead, % of useful time", "servers lost"),
}
_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.35


def sensitivity(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the number of failures, and against the share of servers that each takes.

    Parameters
    ----------
    table
        A row a point and policy: `varied`, one of `VARIED`; `value` of that, a number of failures
        or a share; the other columns are those of `scaling`.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with two axes over overhead as a share, log: failures, log, and the share
        of servers.
    """
    with style.styled():
        frame = curves.frame(
            Heading.of(_finding(table), title), list(VARIED.values()), _RIGHT_IN, _HEIGHT_IN
        )
        curves.log_shares(frame, table[curves.ESTIMATES].to_numpy(dtype=np.float64).ravel())
        for varied, axes in zip(VARIED, frame.axes, strict=True):
            rows = table[table["varied"] == varied]
            values = rows["value"].unique().astype(np.float64)
            if varied == "failures":
                axes.set_xscale("log")
                axes.set_xlim(*curves.log_limits(values, 2))
                curves.named_ticks(axes, {value: ticks.number(value) for value in values})
            else:
                axes.set_xlim(0, 1.1 * values.max())
                curves.named_ticks(axes, {value: f"{100 * value:g} %" for value in values})
            curves.estimates(axes, rows, "value")
        curves.write_key(frame, curves.estimate_entries(table))
    return frame.figure


def _finding(table: pd.DataFrame) -> str:
    """How the overhead of two policies changes with the failures."""
    rows = table[table["varied"] == "failures"]
    low, high = rows["value"].min(), rows["value"].max()
    if not low < high:
        return ""
    return f"From {low:g} to {high:g} failures, overhead goes {curves.ends_of(rows, 'value')}"
