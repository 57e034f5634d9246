"""How overhead changes with the number of failures, and with the servers that each takes."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import number

#: What a table varies, in the order of the panels: title, and what x is.
VARIED: Final = {
    "failures": ("More failures", "failures in the job"),
    "share": ("More servers lost in each", "servers lost, % of all"),
}


def sensitivity(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the number of failures, and the share of servers that each takes.

    Parameters
    ----------
    table
        A row a point and policy: `varied`, one of `VARIED`; `value` of that, a number of failures
        or a share; the other columns are those of `scaling`.
    title
        Of what: the first note below.

    Returns
    -------
    matplotlib.figure.Figure
        With two axes over overhead as a share, log: failures, log, and the share of servers.
    """
    with style.styled():
        sheet = Sheet(len(VARIED), sharey=True)
        curves.log_shares(sheet.axes, table[curves.ESTIMATES].to_numpy(dtype=np.float64).ravel())
        for varied, axes in zip(VARIED, sheet.axes, strict=True):
            rows = table[table["varied"] == varied]
            values = rows["value"].unique().astype(np.float64)
            if varied == "failures":
                axes.set_xscale("log")
                axes.set_xlim(*curves.log_limits(values, 2))
                ticks.named(axes.xaxis, {float(value): number(value) for value in values})
            else:
                axes.set_xlim(0, 1.1 * values.max())
                ticks.named(axes.xaxis, {float(value): f"{100 * value:g} %" for value in values})
            axes.set(title=VARIED[varied][0], xlabel=VARIED[varied][1])
            axes.grid()
            curves.estimates(sheet, axes, rows, "value")
        for axes in sheet.first_column:
            axes.set_ylabel(curves.OVERHEAD)
        return sheet.done(_finding(table), title, [curves.ESTIMATES_NOTE], 2.3)


def _finding(table: pd.DataFrame) -> str:
    """Say how the overhead of two policies changes with the failures."""
    rows = table[table["varied"] == "failures"]
    low, high = rows["value"].min(), rows["value"].max()
    if not low < high:
        return ""
    return f"From {low:g} to {high:g} failures, overhead goes {curves.ends_of(rows, 'value')}"
