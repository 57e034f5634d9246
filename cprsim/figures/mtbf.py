"""How the mean time between failures (MTBF) of a job falls with its number of nodes."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import counted
from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import duration

_LEAST_NODES: Final = 0.85  # there is no job of less than one
_LEAST_SPAN: Final = 6.0  # of an axis: less holds perhaps one tick
_ROOM: Final = 1.25  # beyond the outermost values, on the log axes
_BEYOND: Final = 30.0  # no interval moves the limits farther than this from what was measured

#: How each line looks, its words, and what it assumes.
_LOOKS: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "measured_s": (
        {
            "color": style.INK,
            "linestyle": "none",
            "marker": "o",
            "markersize": 4.0,
            "markeredgewidth": 0,
        },
        "measured",
        "95 % interval",
    ),
    "independent_s": (
        {"color": style.LAW_COLOURS["gamma"], "linewidth": 1.8},
        "independent",
        "step / (1−(1−p)ⁿ), where each node fails in a step with chance p",
    ),
    "linear_s": (
        {
            "color": style.LAW_COLOURS["weibull"],
            "linewidth": 1.2,
            "linestyle": curves.dashed("weibull"),
        },
        "linear",
        "MTBF of one node / n, where no failures coincide",
    ),
}
_NOTE: Final = "Simultaneous failures count as one"


def mtbf_by_nodes(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw MTBF against the number of nodes: measured, and by two models.

    Parameters
    ----------
    table
        A row a number of nodes: `nodes`; `measured_s` with its 95 % interval `low_s` to `high_s`,
        not a number where nothing was measured, `high_s` infinite where nothing bounds it;
        `linear_s`, the MTBF of one node / nodes; `independent_s`, step / (1 - (1 - p)^nodes).
        All but `nodes` in seconds.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes are log, nodes over seconds.
    """
    with style.styled():
        rows = table.sort_values("nodes")
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        limits = _limits(rows)
        low, high = curves.log_limits(rows["nodes"], _LEAST_SPAN)
        axes.set(xscale="log", yscale="log", xlim=(max(low, _LEAST_NODES), high), ylim=limits)
        ticks.numbers(axes.xaxis)
        ticks.durations(axes.yaxis)
        axes.set(xlabel="nodes of the job", ylabel="mean time between its failures")
        axes.grid()
        for name in ("independent_s", "linear_s"):  # the thin one on top
            # A line of one point can't be seen.
            marker = "_" if len(rows) == 1 else ""
            axes.plot(rows["nodes"], rows[name], marker=marker, markersize=12, **_LOOKS[name][0])
        seen = rows[np.isfinite(rows["measured_s"]) & (rows["measured_s"] > 0)]
        # Where the interval is open the whisker leaves the picture.
        ends = seen[["low_s", "high_s"]].clip(limits[0] / _ROOM, limits[1] * _ROOM)
        middle = seen["measured_s"]
        errors = [(middle - ends["low_s"]).fillna(0), (ends["high_s"] - middle).fillna(0)]
        whisker: dict[str, Any] = {"fmt": "none", "elinewidth": 0.9, "capsize": 2.5}
        axes.errorbar(seen["nodes"], middle, yerr=errors, ecolor=style.INK, **whisker)
        axes.plot(seen["nodes"], middle, zorder=4, **_LOOKS["measured_s"][0])
        sheet.key([Entry([look], *words) for look, *words in _LOOKS.values()])
        return sheet.done(_finding(rows), title, [_NOTE])


def _finding(rows: pd.DataFrame) -> str:
    """Say how the measured MTBF falls, and whether 1 / nodes is within its intervals."""
    seen = rows[np.isfinite(rows["measured_s"])]
    if seen.empty:
        return ""
    first, last = seen.iloc[0], seen.iloc[-1]
    few, many = (counted(round(each["nodes"]), "node") for each in (first, last))
    said = f"The MTBF is {duration(last['measured_s'])} on {many}"
    if len(seen) == 1:
        return said
    said += f", {duration(first['measured_s'])} on {few}"
    inside = (seen["low_s"] <= seen["linear_s"]) & (seen["linear_s"] <= seen["high_s"])
    return f"{said}: {'as' if inside.all() else 'not as'} 1 / nodes says"


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Return limits that hold every value, though not all of an interval that nothing bounds."""
    values = rows[[*_LOOKS]].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    ends = rows[["low_s", "high_s"]].clip(values.min() / _BEYOND, values.max() * _BEYOND)
    return curves.log_limits(np.append(values, ends), _LEAST_SPAN)
