"""How the mean time between failures (MTBF) of a job falls with its number of nodes."""

import math
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from cprsim.basics.units import counted
from cprsim.figures.parts import key, panels, style, ticks
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import WIDTH_IN

# All in inches.
_PANEL: Final = (0.62, 3.55)  # left edge and width
_HEIGHT: Final = 2.6
_KEY_IN: Final = 4.45
_HEADINGS: Final = 0.38
_AXIS: Final = 0.5  # tick labels and what the axis is

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
        "measured, 95 % interval",
        "time in the log for each failure of jobs of n nodes; simultaneous ones are one failure",
    ),
    "independent_s": (
        {"color": style.LAW_COLOURS["gamma"], "linewidth": 1.8},
        "independent: step / (1−(1−p)ⁿ)",
        "n nodes, each of which fails in a step with chance p, whatever the others do; those that "
        "fail in the same step are one failure",
    ),
    "linear_s": (
        {
            "color": style.LAW_COLOURS["weibull"],
            "linewidth": 1.2,
            "linestyle": (0, style.LAW_DASHES["weibull"]),
        },
        "linear: MTBF of one node / n",
        "each node adds its failures, and none coincide",
    ),
}


def mtbf_by_nodes(table: pd.DataFrame, title: str = "") -> Figure:
    """MTBF against the number of nodes: measured, and by two models.

    Parameters
    ----------
    table
        A row a number of nodes: `nodes`; `measured_s` with its 95 % interval `low_s` to `high_s`,
        not a number where nothing was measured, `high_s` infinite where nothing bounds it;
        `linear_s`, the MTBF of one node / nodes; `independent_s`, step / (1 - (1 - p)^nodes).
        All but `nodes` in seconds.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. Its axes are log, nodes over seconds.
    """
    with style.styled():
        rows = table.sort_values("nodes")
        head = Heading.of(_finding(rows), title)
        top_in = head.ends_in + MARGIN
        figure = Figure(figsize=(WIDTH_IN, top_in + _HEADINGS + _HEIGHT + _AXIS))
        head.write(figure)
        left_in, width_in = _PANEL
        measure = ["mean time between failures of a job, by its size"]
        panels.head(figure, (left_in, top_in), ["MTBF"], measure)
        axes = panels.panel(figure, (left_in, top_in + _HEADINGS), (width_in, _HEIGHT))
        columns = {name: rows[name].to_numpy(dtype=np.float64) for name in rows.columns}
        _scales(axes, columns)
        for name in ("independent_s", "linear_s"):  # the thin one on top
            look = _LOOKS[name][0]
            # A line of one point can't be seen.
            marker = "_" if len(rows) == 1 else ""
            axes.plot(columns["nodes"], columns[name], marker=marker, markersize=12, **look)
        _measured(axes, columns)
        _key(figure, top_in + _HEADINGS)
    return figure


def _finding(rows: pd.DataFrame) -> str:
    """From what to what the measured MTBF falls, and whether 1 / nodes is within its intervals."""
    seen = rows[np.isfinite(rows["measured_s"])]
    if seen.empty:
        return ""
    first, last = seen.iloc[0], seen.iloc[-1]
    few, many = (counted(round(each["nodes"]), "node") for each in (first, last))
    said = f"The MTBF is {ticks.duration(last['measured_s'])} on {many}"
    if len(seen) == 1:
        return said
    said += f", {ticks.duration(first['measured_s'])} on {few}"
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
    ticks.number_ticks(axes, "x", _PANEL[1])
    ticks.duration_ticks(axes, "y", _HEIGHT)
    axes.set_xlabel("nodes")
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


def _key(figure: Figure, top_in: float) -> None:
    """What each line is, beside the panel."""
    for look, words, assumed in _LOOKS.values():
        line = Line2D([], [], **look)
        top_in = key.entry(figure, (_KEY_IN, top_in), [line], words, assumed, bold=True)
