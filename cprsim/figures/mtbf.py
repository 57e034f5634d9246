"""How the mean time between failures (MTBF) of a job falls with its number of nodes."""

import math
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.basics.units import counted
from cprsim.figures.parts import style, ticks
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
            "linestyle": (0, style.LAW_DASHES["weibull"]),
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
    title
        Of what: the first note below.
    ax
        Axes to draw on, instead of a new figure's.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes are log, nodes over seconds.
    """
    with style.styled():
        rows = table.sort_values("nodes")
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        columns = {name: rows[name].to_numpy(dtype=np.float64) for name in rows.columns}
        _scales(axes, columns)
        for name in ("independent_s", "linear_s"):  # the thin one on top
            look = _LOOKS[name][0]
            # A line of one point can't be seen.
            marker = "_" if len(rows) == 1 else ""
            axes.plot(columns["nodes"], columns[name], marker=marker, markersize=12, **look)
        _measured(axes, columns)
        sheet.key([Entry([look], *words) for look, *words in _LOOKS.values()])
        return sheet.done(_finding(rows), title, notes=[_NOTE], height_in=2.5)


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


def _scales(axes: Axes, columns: dict[str, NDArray[np.float64]]) -> None:
    """Log axes that hold every value, though not all of an interval that nothing bounds."""
    nodes = columns["nodes"]
    values = np.concatenate([columns[name] for name in _LOOKS])
    values = values[np.isfinite(values) & (values > 0)]
    least, most = float(values.min()), float(values.max())
    ends = np.concatenate((columns["low_s"], columns["high_s"]))
    ends = np.clip(ends[~np.isnan(ends)], least / _BEYOND, most * _BEYOND)
    values = np.concatenate((values, ends))
    axes.set(xscale="log", yscale="log", ylim=_limits(values))
    low, high = _limits(nodes)
    axes.set_xlim(max(low, _LEAST_NODES), high)
    ticks.numbers(axes.xaxis)
    ticks.durations(axes.yaxis)
    axes.set(xlabel="nodes of the job", ylabel="mean time between its failures")
    axes.grid()


def _limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """A little beyond the values, and far enough apart for two ticks."""
    low, high = float(values.min()), float(values.max())
    room = max(_ROOM, math.sqrt(_LEAST_SPAN * low / high))
    return low / room, high * room


def _measured(axes: Axes, columns: dict[str, NDArray[np.float64]]) -> None:
    there = np.isfinite(columns["measured_s"]) & (columns["measured_s"] > 0)
    nodes, measured_s, low_s, high_s = (
        columns[name][there] for name in ("nodes", "measured_s", "low_s", "high_s")
    )
    # Where the interval is open the whisker leaves the picture.
    bottom, top = axes.get_ylim()
    low_s = np.where(np.isnan(low_s), measured_s, np.maximum(low_s, bottom / _ROOM))
    high_s = np.where(np.isnan(high_s), measured_s, np.minimum(high_s, top * _ROOM))
    axes.errorbar(
        nodes,
        measured_s,
        yerr=[measured_s - low_s, high_s - measured_s],
        fmt="none",
        ecolor=style.INK,
        elinewidth=0.9,
        capsize=2.5,
    )
    axes.plot(nodes, measured_s, zorder=4, **_LOOKS["measured_s"][0])
