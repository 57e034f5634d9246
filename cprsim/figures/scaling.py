"""How overhead grows with the number of servers, if the MTBF falls with it."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style
from cprsim.figures.parts.curves import Panel
from cprsim.figures.parts.heading import Heading

#: The MTBF models of a table, in the order of the panels, and what each assumes.
MODELS: Final = {
    "linear": Panel("MTBF falls as 1 / servers", "overhead, % of useful time", "servers"),
    "independent": Panel("Servers fail independently", "each with chance p in an hour", "servers"),
}
_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.35


def scaling(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the number of servers under two MTBF models, a curve a policy.

    Parameters
    ----------
    table
        A row a model, number of servers and policy: `model`, one of `MODELS`; `servers`; `policy`
        and its `system`; `first_order`, the overhead in closed form; `overhead` as simulated, with
        its 95 % interval `overhead_low` to `overhead_high`. All three are shares of the useful
        time.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with axes for each model: servers over overhead as a share, both log.
    """
    with style.styled():
        frame = curves.frame(
            Heading.of(_finding(table), title), list(MODELS.values()), _RIGHT_IN, _HEIGHT_IN
        )
        curves.log_shares(frame, table[curves.ESTIMATES].to_numpy(dtype=np.float64).ravel())
        sizes = sorted(table["servers"].unique())
        for model, axes in zip(MODELS, frame.axes, strict=True):
            axes.set_xscale("log", base=2)
            axes.set_xlim(*curves.log_limits(np.asarray(sizes, dtype=np.float64), 2))
            curves.named_ticks(axes, {size: f"{size:,}" for size in sizes})
            curves.estimates(axes, table[table["model"] == model], "servers")
        curves.write_key(frame, curves.estimate_entries(table))
    return frame.figure


def _finding(table: pd.DataFrame) -> str:
    """How the overhead of two policies grows, under the first model of the table."""
    rows = table[table["model"] == table["model"].iloc[0]]
    low, high = rows["servers"].min(), rows["servers"].max()
    if low == high:
        return ""
    return f"From {low:,} to {high:,} servers, overhead goes {curves.ends_of(rows, 'servers')}"
