"""What each lever gives back of a job's time, by cause: one after the other, and each alone."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import bars, style
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import NOTHING, percent

_BAR: Final = 0.36  # of a row
_BELOW: Final = 0.32  # from the middle of a bar to what is written below it, in rows
_TITLES: Final = {
    "together": "One after the other",
    "alone": "Each alone",
}
_NOTE: Final = (
    "In bold: effective training, the rest of the wall clock, and by how many points it is more "
    "than in the row above; each alone: than as it is (dashed)"
)


def ladder(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the time lost with each lever, by cause, in a row a lever.

    Parameters
    ----------
    table
        A row a lever and `way` of pulling it: `"together"`, after all levers above it, first the
        job without any, and `"alone"`, but for that. `lever` is its name, `sets` what it sets;
        `ett` is the share of the wall clock that is training that counts, a column a cause that
        which is lost, `updates_lost` the share of all updates.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes are the levers one after the other, and each alone; x as a share of the wall clock
        (1 is 100 %), y the levers 0, 1, ... downwards, 0 being the job as it is.
    """
    with style.styled():
        together = table[table["way"] == "together"]
        alone = table[table["way"] == "alone"]
        causes = [cause for cause in CAUSE_LABELS if (table[cause] > NOTHING).any()]
        sheet = Sheet(2)
        names, sets = [*together["lever"]], [*together["sets"]]
        first, row_in = together["ett"].iloc[0], 0.42
        panels = (together, together["ett"].diff()), (alone, alone["ett"] - first)
        for i, (axes, (shown, gains)) in enumerate(zip(sheet.axes, panels, strict=True)):
            named = i == 0 or sheet.narrow
            row_in = bars.name_rows(
                axes, names if named else [""] * len(names), sets if named else (), row_in
            )
            at = range(i, len(names))
            bars.stack(axes, shown, causes, at, _BAR)
            bars.reach(axes, float(1 - table["ett"].min()))
            _label(axes, shown, gains.tolist(), at)
            axes.set(title=_TITLES[shown["way"].iloc[0]], xlabel="time lost, % of the wall clock")
        bars.dashed(sheet.axes[1], 1 - first)
        sheet.causes(causes)
        return sheet.done(finding(table), title, [_NOTE], row_in * len(names))


def finding(table: pd.DataFrame) -> str:
    """Say how effective training rises, and which lever gives back most by itself."""
    together, alone = (table[table["way"] == way] for way in ("together", "alone"))
    first, last = together["ett"].iloc[0], together["ett"].iloc[-1]
    most = alone.iloc[int(alone["ett"].argmax())]
    said = f"Effective training goes from {percent(first)} to {percent(last)}"
    if most["ett"] <= first:
        return said
    gain = 100 * (most["ett"] - first)
    return f"{said}; alone, {most['lever']} gives back most: {gain:.1f} points"


def _label(axes: Axes, shown: pd.DataFrame, gains: list[float], at: range) -> None:
    """Write effective training and points beyond each bar, and the updates it loses below it."""
    for y, gain, ett, lost in zip(at, gains, shown["ett"], shown["updates_lost"], strict=True):
        points = "" if np.isnan(gain) else f"  {100 * gain:+.1f}"
        bars.beyond(axes, (1 - ett, y), percent(ett) + points, weight="bold")
        if lost > NOTHING:
            text = f"loses {percent(lost)} of the updates"
            bars.beyond(axes, (0, y + _BELOW), text, color=style.FAINT_INK)
