"""What erasure coding costs while nothing fails, beside checkpoints, by the size of the model."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, layout, style, ticks
from cprsim.figures.parts.curves import Entry, Panel
from cprsim.figures.parts.heading import Heading

_PANEL: Final = Panel(
    "Slowdown without failures", "overhead, % of useful time", "model and optimizer state"
)
_RIGHT_IN: Final = 4.6
_HEIGHT_IN: Final = 2.4
_HEADROOM: Final = 1.08


def ecrm_overhead(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead of checkpoints and of erasure coding against the size of the model.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `overhead` as simulated and
        `published` as the paper measured it, shares of the useful time.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. Its axes: gigabytes, log, over overhead as a share.
    """
    with style.styled():
        frame = curves.frame(Heading.of(_finding(table), title), [_PANEL], _RIGHT_IN, _HEIGHT_IN)
        (axes,) = frame.axes
        size_axis(axes, table)
        axes.set_ylim(0, _HEADROOM * float(table[["overhead", "published"]].to_numpy().max()))
        ticks.number_ticks(axes, "y", frame.height_in, 0.01, " %")
        for system, nth, _, rows in looks(table):
            axes.plot(rows["size_gb"], rows["overhead"], **curves.line(system, nth))
            axes.plot(rows["size_gb"], rows["published"], **curves.points(system, hollow=True))
        curves.write_key(frame, entries(table))
    return frame.figure


def _finding(table: pd.DataFrame) -> str:
    """Who takes most and least at the largest size."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")["overhead"]
    least, most = there.idxmin(), there.idxmax()
    said = f"At {ticks.number(size)} GB, {least} take" + "s" * (not least.endswith("min"))
    said += f" {layout.percent(there[least])} of the time"
    return said if least == most else f"{said}, {most} {layout.percent(there[most])}"


def looks(table: pd.DataFrame) -> list[tuple[str, int, str, pd.DataFrame]]:
    """System, which of its policies it is, name and rows of each policy, in the table's order."""
    seen: dict[str, int] = {}
    found = []
    for policy, system, rows in curves.by_policy(table):
        nth = seen[system] = seen.get(system, -1) + 1
        found.append((system, nth, policy, rows.sort_values("size_gb")))
    return found


def size_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Sizes of models on x, log."""
    sizes = np.sort(table["size_gb"].unique()).astype(np.float64)
    axes.set_xscale("log", base=2)
    axes.set_xlim(*curves.log_limits(sizes, 2))
    curves.named_ticks(axes, {size: f"{ticks.number(size)} GB" for size in sizes})


def entries(table: pd.DataFrame) -> list[Entry]:
    """A key of policies whose lines are simulated and whose points are the paper's."""
    lines: list[tuple[list[str], dict[str, Any], Any]] = []
    for system, nth, policy, rows in looks(table):
        values = rows["overhead"].to_numpy(dtype=np.float64)
        for names, _, others in lines:
            if np.array_equal(values, others):  # one line covers the other
                names.append(policy)
                break
        else:
            lines.append(([policy], curves.line(system, nth), values))
    return [
        *(Entry([look], " and ".join(names)) for names, look, _ in lines),
        curves.line_means("simulated"),
        curves.point_means("as the paper measured it", hollow=True),
    ]
