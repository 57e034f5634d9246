"""The mean time between failures (MTBF) of a job against its number of nodes."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import counted
from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import duration

_BEYOND: Final = 30.0  # no interval moves the limits farther than this from what was measured
#: The models, what each assumes, and the look of its line; the thin one on top.
_MODELS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "independent_s": (
        "independent: step / (1−(1−p)ⁿ), where each node fails in a step with chance p",
        {"color": style.LAW_COLOURS["gamma"], "linewidth": 1.8},
    ),
    "linear_s": (
        "linear: MTBF of one node / n, where no failures coincide",
        {"color": style.LAW_COLOURS["weibull"], "linestyle": style.LAW_DASHES["weibull"]},
    ),
}


@style.styled()
def mtbf_by_nodes(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw MTBF against the number of nodes: measured, and by two models.

    Its axes are log, nodes over seconds.

    Parameters
    ----------
    table
        A row a number of nodes: `nodes`; `measured_s` with its 95 % interval `low_s` to `high_s`,
        not a number where nothing was measured, `high_s` infinite where nothing bounds it;
        `linear_s`, the MTBF of one node / nodes; `independent_s`, step / (1 - (1 - p)^nodes).
        All but `nodes` in seconds.
    """
    rows = table.sort_values("nodes")
    values = rows[["measured_s", *_MODELS]].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    ends = rows[["low_s", "high_s"]].clip(values.min() / _BEYOND, values.max() * _BEYOND)
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    limits = ticks.log_limits(np.append(values, ends), 6)
    low, high = ticks.log_limits(rows["nodes"], 6)
    axes.set(xscale="log", yscale="log", xlim=(max(low, 0.85), high), ylim=limits)
    ticks.numbers(axes.xaxis)
    ticks.durations(axes.yaxis)
    axes.set(xlabel="nodes of the job", ylabel="mean time between its failures")
    axes.grid()
    marker = "_" if len(rows) == 1 else ""  # a line of one point can't be seen
    for name, (words, look) in _MODELS.items():
        own: dict[str, Any] = {"linewidth": 1.2, "marker": marker, "markersize": 12} | look
        axes.plot(rows["nodes"], rows[name], label=words, **own)
    seen = np.isfinite(rows["measured_s"]) & (rows["measured_s"] > 0)
    measured = rows.loc[seen, ["nodes", "measured_s"]]
    # Where the interval is open the whisker leaves the picture.
    measured[["measured_s_low", "measured_s_high"]] = rows.loc[seen, [*ends]].clip(
        limits[0] / 1.25, limits[1] * 1.25
    )
    look = marks.points("full") | {"clip_on": True, "label": "measured: 95 % interval"}
    marks.with_whiskers(axes, measured, "nodes", "measured_s", look)
    sheet.key()
    return sheet.done(_finding(rows), title, ["Simultaneous failures count as one"])


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
