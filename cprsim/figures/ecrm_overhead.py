"""What erasure coding costs while nothing fails, and what checkpoints do, by size of the model."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import number, percent

_HEADROOM: Final = 1.08


def ecrm_overhead(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the overhead of checkpoints and of erasure coding against the size of the model.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `overhead` as simulated and
        `published` as the paper measured it, shares of the useful time.
    title
        Of what: the first note below.
    ax
        Axes to draw on, instead of a new figure's.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes: gigabytes, log, over overhead as a share.
    """
    with style.styled():
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        size_axis(axes, table)
        axes.set_ylim(0, _HEADROOM * float(table[["overhead", "published"]].to_numpy().max()))
        ticks.shares(axes.yaxis)
        axes.set_ylabel(curves.OVERHEAD)
        for system, nth, _, rows in looks(table):
            axes.plot(rows["size_gb"], rows["overhead"], **curves.line(system, nth))
            axes.plot(rows["size_gb"], rows["published"], **curves.points(system, hollow=True))
        curves.name_ends(axes, _ends(table))
        sheet.key(
            [
                curves.line_means("simulated"),
                curves.point_means("as the paper measured it", hollow=True),
            ],
            "lower left",
        )
        return sheet.done(_finding(table), title)


def _finding(table: pd.DataFrame) -> str:
    """Say which policies take most and least at the largest size."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")["overhead"]
    least, most = there.idxmin(), there.idxmax()
    said = f"At {number(size)} GB, {least} take" + "s" * (not least.endswith("min"))
    said += f" {percent(there[least])} of the time"
    return said if least == most else f"{said}, {most} {percent(there[most])}"


def looks(table: pd.DataFrame) -> list[tuple[str, int, str, pd.DataFrame]]:
    """Return system, which of its policies it is, name and rows of each, in the table's order."""
    seen: dict[str, int] = {}
    found = []
    for policy, system, rows in curves.by_policy(table):
        nth = seen[system] = seen.get(system, -1) + 1
        found.append((system, nth, policy, rows.sort_values("size_gb")))
    return found


def size_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Put sizes of models on x, log."""
    sizes = np.sort(table["size_gb"].unique()).astype(np.float64)
    axes.set_xscale("log", base=2)
    axes.set_xlim(*curves.log_limits(sizes, 2))
    ticks.named(axes.xaxis, {float(size): f"{number(size)} GB" for size in sizes})
    axes.set_xlabel("size of model and optimizer state")
    axes.grid()


def _ends(table: pd.DataFrame) -> list[tuple[float, float, str, str]]:
    """Return where lines end and their names; of lines that cover each other together."""
    lines: list[tuple[list[str], str, pd.DataFrame]] = []
    for system, _, policy, rows in looks(table):
        for names, _, others in lines:
            if np.array_equal(rows["overhead"], others["overhead"]):
                names.append(policy)
                break
        else:
            lines.append(([policy], system, rows))
    return [
        (rows["size_gb"].iloc[-1], rows["overhead"].iloc[-1], " and ".join(names), system)
        for names, system, rows in lines
    ]
