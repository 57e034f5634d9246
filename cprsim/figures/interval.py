"""Where the best checkpoint interval is, and how flat the bottom around it."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import format_duration
from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import percent

_RING: Final = {"marker": "o", "markersize": 9.0, "markeredgewidth": 1.2, "markerfacecolor": "none"}
_STAR: Final = {"marker": "*", "markersize": 8.0}
_RULES: Final = {
    "full": "Young's interval, sqrt(2 save MTBF)",
    "cpr-vanilla": "CPR's interval, for its target PLS",
}


def interval(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw overhead against the checkpoint interval: closed form, simulated points, choices.

    Parameters
    ----------
    table
        A row an interval and system: `interval_s`, seconds; `system`; `closed_form`, its expected
        overhead; `overhead` as simulated with its 95 % interval `overhead_low` to `overhead_high`,
        not a number where none was simulated; `chosen`, whether that system chooses this interval,
        and `best`, whether it is where full recovery's closed form is least.
        Overheads are shares of the useful time.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes are log: seconds between two saves over overhead as a share.
    """
    with style.styled():
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        rows = table.sort_values("interval_s")
        curves.log_shares([axes], rows[["closed_form", "overhead"]])
        axes.set_xscale("log")
        axes.set_xlim(*curves.log_limits(rows["interval_s"], 6))
        ticks.durations(axes.xaxis)
        axes.set(xlabel="time between two saves", ylabel=curves.OVERHEAD)
        axes.grid()
        entries = []
        for name in table["system"].unique():
            each = rows[rows["system"] == name]
            axes.plot(each["interval_s"], each["closed_form"], **curves.line(name))
            seen = each[each["overhead"].notna()]
            curves.with_whiskers(axes, seen, "interval_s", "overhead", curves.points(name))
            words = "full recovery" if name == "full" else "partial recovery"
            entries.append(Entry([curves.line(name), curves.points(name)], words))
            for _, at in each[each["chosen"]].iterrows():
                ring = curves.points(name) | _RING
                axes.plot(at["interval_s"], at["closed_form"], zorder=5, **ring)
                entries.append(Entry([ring], _RULES[name], format_duration(at["interval_s"])))
        (least,) = rows[rows["best"]].to_dict("records")
        star = curves.points("full") | _STAR
        axes.plot(least["interval_s"], least["closed_form"], zorder=6, **star)
        facts = format_duration(least["interval_s"])
        entries.append(Entry([star], "least of the closed form", facts))
        entries += [
            curves.line_means("closed form; a step: one save less"),
            curves.point_means("simulated, 95 % interval, exponential failures"),
        ]
        sheet.key(entries)
        return sheet.done(_finding(table), title)


def _finding(table: pd.DataFrame) -> str:
    """Say where full recovery has its least, and what the interval that is chosen loses."""
    full = table[table["system"] == "full"]
    (least,) = full[full["best"]].to_dict("records")
    said = (
        f"Full recovery is at its least, {percent(least['closed_form'])}, with a save "
        f"every {format_duration(least['interval_s'])}"
    )
    chosen = full[full["chosen"]].to_dict("records")
    if not chosen:
        return said
    return f"{said}; as chosen, {percent(chosen[0]['closed_form'])}"
