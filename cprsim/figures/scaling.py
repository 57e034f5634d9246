"""How overhead grows with the number of servers, if the MTBF falls with it."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Sheet

#: The MTBF models of a table, in the order of the panels, and what each assumes.
MODELS: Final = {
    "linear": "MTBF falls as 1 / servers",
    "independent": "Each fails with chance p an hour",
}


def scaling(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the number of servers under two MTBF models, a curve a policy.

    Parameters
    ----------
    table
        A row a model, number of servers and policy: `model`, one of `MODELS`; `servers`; `policy`
        and its `system`; `first_order`, the overhead in closed form; `overhead` as simulated, with
        its 95 % interval `overhead_low` to `overhead_high`. All three are shares of the useful
        time.
    title
        Of what: the first note below.

    Returns
    -------
    matplotlib.figure.Figure
        With axes for each model: servers over overhead as a share, both log.
    """
    with style.styled():
        sheet = Sheet(len(MODELS), sharey=True)
        curves.log_shares(sheet.axes, table[curves.ESTIMATES].to_numpy(dtype=np.float64).ravel())
        sizes = sorted(table["servers"].unique())
        for (model, assumes), axes in zip(MODELS.items(), sheet.axes, strict=True):
            axes.set_xscale("log", base=2)
            axes.set_xlim(*curves.log_limits(np.asarray(sizes, dtype=np.float64), 2))
            ticks.named(axes.xaxis, {float(size): f"{size:,}" for size in sizes})
            axes.set(title=assumes, xlabel="parameter servers")
            axes.grid()
            curves.estimates(sheet, axes, table[table["model"] == model], "servers")
        for axes in sheet.first_column:
            axes.set_ylabel(curves.OVERHEAD)
        return sheet.done(_finding(table), title, [curves.ESTIMATES_NOTE], 2.3)


def _finding(table: pd.DataFrame) -> str:
    """Say how the overhead of two policies grows, under the first model of the table."""
    rows = table[table["model"] == table["model"].iloc[0]]
    low, high = rows["servers"].min(), rows["servers"].max()
    if low == high:
        return ""
    return f"From {low:,} to {high:,} servers, overhead goes {curves.ends_of(rows, 'servers')}"
