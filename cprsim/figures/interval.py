"""Where the best checkpoint interval is, and how flat the bottom around it."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.basics.units import format_duration
from cprsim.figures.parts import curves, layout, style, ticks
from cprsim.figures.parts.curves import Entry, Panel
from cprsim.figures.parts.heading import Heading

_PANEL: Final = Panel(
    "Time lost", "overhead, % of useful time, exponential failures", "between two saves"
)
_RIGHT_IN: Final = 4.6
_HEIGHT_IN: Final = 2.5
_RING: Final = {"marker": "o", "markersize": 9.0, "markeredgewidth": 1.2}
_STAR: Final = {"marker": "*", "markersize": 8.0}
_RULES: Final = {
    "full": "Young's interval, sqrt(2 save MTBF): ",
    "cpr-vanilla": "CPR's, for its target PLS: ",
}


def interval(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the checkpoint interval: closed form, simulated points, chosen intervals.

    Parameters
    ----------
    table
        A row an interval and system: `interval_s`, seconds; `system`; `closed_form`, its expected
        overhead; `overhead` as simulated with its 95 % interval `overhead_low` to `overhead_high`,
        not a number where none was simulated; `chosen`, whether that system chooses this interval,
        and `best`, whether it is where full recovery's closed form is least.
        Overheads are shares of the useful time.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. Its axes are log: seconds between two saves over overhead as a share.
    """
    with style.styled():
        frame = curves.frame(Heading.of(_finding(table), title), [_PANEL], _RIGHT_IN, _HEIGHT_IN)
        (axes,) = frame.axes
        rows = table.sort_values("interval_s")
        curves.log_shares(frame, rows[["closed_form", "overhead"]].to_numpy(np.float64).ravel())
        axes.set_xscale("log")
        axes.set_xlim(*curves.log_limits(rows["interval_s"].to_numpy(dtype=np.float64), 6))
        ticks.duration_ticks(axes, "x", frame.width_in)
        entries = []
        for name in table["system"].unique():
            each = rows[rows["system"] == name]
            axes.plot(each["interval_s"], each["closed_form"], **curves.line(name))
            seen = each[each["overhead"].notna()]
            curves.with_whiskers(axes, seen, "interval_s", "overhead", curves.points(name))
            words = "full recovery" if name == "full" else "partial recovery"
            entries.append(Entry([curves.line(name), curves.points(name)], words))
            for _, at in each[each["chosen"]].iterrows():
                ring = curves.points(name, hollow=True) | _RING | {"markerfacecolor": "none"}
                axes.plot(at["interval_s"], at["closed_form"], zorder=5, **ring)
                facts = f"{_RULES[name]}{format_duration(at['interval_s'])}"
                entries.append(Entry([ring], "chosen", facts))
        (least,) = rows[rows["best"]].to_dict("records")
        star = curves.points("full") | _STAR
        axes.plot(least["interval_s"], least["closed_form"], zorder=6, **star)
        facts = f"least of the closed form: {format_duration(least['interval_s'])}"
        entries.append(Entry([star], "optimum", facts))
        entries += [
            curves.line_means("closed form; a step: one save less"),
            curves.point_means("simulated, 95 % interval"),
        ]
        curves.write_key(frame, entries)
    return frame.figure


def _finding(table: pd.DataFrame) -> str:
    """Where full recovery has its least, and what the interval that is chosen loses."""
    full = table[table["system"] == "full"]
    (least,) = full[full["best"]].to_dict("records")
    said = (
        f"Full recovery is at its least, {layout.percent(least['closed_form'])}, with a save "
        f"every {format_duration(least['interval_s'])}"
    )
    chosen = full[full["chosen"]].to_dict("records")
    if not chosen:
        return said
    return f"{said}; as chosen, {layout.percent(chosen[0]['closed_form'])}"
