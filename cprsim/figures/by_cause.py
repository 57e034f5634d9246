"""What the failures of each cause cost under one policy, a bar a cause."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import format_percent
from cprsim.contract.ledger import FAILURE_COSTS
from cprsim.figures.parts import bars, style
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import percent

_BAR: Final = 0.5  # of a row


def failures_by_cause(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw what failures cost by cause, under the first policy of a table.

    Parameters
    ----------
    table
        As `cprsim.runs.by_cause.by_cause` has it; shares of the useful time.

    Returns
    -------
    matplotlib.figure.Figure
        Its height grows with the number of causes. A bar a cause, the dearest first: until its
        failures are noticed, waiting, starts, loads, and lost training.
    """
    policy = str(table["policy"].iloc[0])
    rows = table[table["policy"] == policy]
    first = rows.iloc[0]
    finding = (
        f"Under {policy}, the cause that takes most is {first['cause']}: "
        f"{format_percent(first['overhead'])} of the time"
    )
    with style.styled():
        costs = [part for part in FAILURE_COSTS if (rows[part] > 0).any()]
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        facts = [f"{count:.3g} failures a job" for count in rows["failures"]]
        names = [str(each) for each in rows["cause"]]
        row_in = bars.name_rows(axes, names, facts)
        bars.stack(axes, rows, costs, range(len(rows)), _BAR)
        bars.reach(axes, float(rows["overhead"].max()))
        for row, share in enumerate(rows["overhead"]):
            bars.beyond(axes, (share, row), percent(share), weight="bold")
        axes.set_xlabel("what failures cost, % of useful training time")
        sheet.causes(costs)
        return sheet.done(finding, title, height_in=row_in * len(rows))
