"""What the failures of each cause cost under one policy, a bar a cause."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.basics.units import format_percent
from cprsim.contract.ledger import FAILURE_COSTS
from cprsim.figures.parts import key, layout, panels, style
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.labels import Label, LabelledRows
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.stack import stack
from cprsim.figures.parts.style import WIDTH_IN

# All in inches.
_NAMES: Final = (MARGIN, 2.0)  # left edge and width
_TIME: Final = (2.2, 4.6)
_BAR: Final = 0.24
_HEADINGS: Final = 0.42
_FOOT: Final = 0.48


def failures_by_cause(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw what failures cost by cause, under the first policy of a table.

    Parameters
    ----------
    table
        As `cprsim.runs.by_cause.by_cause` has it; shares of the useful time.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide; its height grows with the number of causes. A bar a cause, the dearest first:
        until its failures are noticed, waiting, starts, loads, and lost training.
    """
    policy = str(table["policy"].iloc[0])
    rows = table[table["policy"] == policy]
    first = rows.iloc[0]
    finding = (
        f"Under {policy}, the cause that takes most is {first['cause']}: "
        f"{format_percent(first['overhead'])} of the time"
    )
    with style.styled():
        head = Heading.of(finding, title)
        told = [part for part in FAILURE_COSTS if (rows[part] > 0).any()]
        labels = [
            Label.of(str(row["cause"]), _NAMES[1], [f"{row['failures']:.3g} failures in a job"])
            for _, row in rows.iterrows()
        ]
        labelled = LabelledRows(labels, 0.0)
        rows_in = head.ends_in + key.causes_height_in(told) + _HEADINGS
        figure = Figure(figsize=(WIDTH_IN, rows_in + labelled.height_in + _FOOT))
        head.write(figure)
        key.causes(figure, told, (MARGIN, head.ends_in))
        at_in = (_TIME[0], rows_in - _HEADINGS)
        panels.head(figure, at_in, ["What failures cost"], ["% of useful training time"])
        labelled.write(figure, (sum(_NAMES), rows_in))
        axes = labelled.panel(figure, _TIME, _FOOT)
        stack(axes, rows, told, labelled.middles_in, _BAR)
        nothing = np.full(len(rows), np.nan)
        shares = rows["overhead"].to_numpy(dtype=np.float64)
        layout.label_bars(axes, _TIME[1], labelled.middles_in, shares, nothing, "0 %")
    return figure
