"""Erasure coding against checkpoints by size of the model: overhead, and time to recover."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import duration, number, percent

_BAND: Final[dict[str, Any]] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}
_PUBLISHED: Final = curves.point_means("as the paper measured it", hollow=True)


def ecrm_overhead(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the overhead of checkpoints and of erasure coding against the size of the model.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `overhead` as simulated and
        `published` as the paper measured it, shares of the useful time.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes: gigabytes, log, over overhead as a share.
    """
    with style.styled():
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        _size_axis(axes, table)
        axes.set_ylim(0, 1.08 * float(table[["overhead", "published"]].to_numpy().max()))
        ticks.shares(axes.yaxis)
        axes.set_ylabel(curves.OVERHEAD)
        ends: dict[tuple[float, ...], tuple[list[str], str]] = {}  # lines that cover each other
        for system, nth, policy, rows in _looks(table):
            axes.plot(rows["size_gb"], rows["overhead"], **curves.line(system, nth))
            axes.plot(rows["size_gb"], rows["published"], **curves.points(system, hollow=True))
            ends.setdefault(tuple(rows["overhead"]), ([], system))[0].append(policy)
        last_gb = float(table["size_gb"].max())
        curves.name_ends(
            axes,
            [(last_gb, line[-1], " and ".join(ns), system) for line, (ns, system) in ends.items()],
        )
        sheet.key([curves.line_means("simulated"), _PUBLISHED], below=True)
        return sheet.done(_overheads(table), title)


def ecrm_recovery(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the time to recover a lost server against the size of the model.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `best_s`, `recovery_s` and
        `worst_s`, on average and at the ends, and the same as the paper measured them under
        `published_best_s`, `published_s`, `published_worst_s`; seconds.

    Returns
    -------
    matplotlib.figure.Figure
        With axes for each policy that loads checkpoints (system `full`), each with all others:
        gigabytes over seconds, both log.
    """
    with style.styled():
        policies = _looks(table)
        baselines = [each for each in policies if each[0] == "full"]
        others = [each for each in policies if each[0] != "full"]
        sheet = Sheet(len(baselines), sharey=True)
        limits = curves.log_limits(table.filter(regex="_s$"), 6)
        for axes, (_, _, name, own) in zip(sheet.axes, baselines, strict=True):
            axes.set(yscale="log", ylim=limits, title=name.capitalize())
            ticks.durations(axes.yaxis)
            _size_axis(axes, table)
            for system, nth, _, rows in (("full", 0, name, own), *others):
                x = rows["size_gb"]
                axes.fill_between(x, rows["best_s"], rows["worst_s"], **_BAND)
                axes.plot(x, rows["recovery_s"], **curves.line(system, nth))
                for column in ("published_best_s", "published_s", "published_worst_s"):
                    axes.plot(x, rows[column], **curves.points(system, hollow=True))
        for axes in sheet.first_column:
            axes.set_ylabel("time to recover a lost server")
        band = {"color": style.RULE, "linewidth": 7, "solid_capstyle": "butt"}
        checkpoints = [band, curves.line("full")]
        entries = [Entry(checkpoints, "checkpoints, on average", "band: best to worst")]
        entries += [Entry([curves.line(system, nth)], name) for system, nth, name, _ in others]
        sheet.key([*entries, _PUBLISHED], below=True)
        return sheet.done(_recoveries(table), title, height_in=2.3)


def _largest(table: pd.DataFrame, measure: str) -> tuple[str, str, str, "pd.Series[float]"]:
    """Return the largest size, the policies of the least and the most there, and all values."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")[measure]
    return f"At {number(size)} GB", str(there.idxmin()), str(there.idxmax()), there


def _overheads(table: pd.DataFrame) -> str:
    """Say which policies take most and least at the largest size."""
    where, least, most, there = _largest(table, "overhead")
    said = f"{where}, {least} take" + "s" * (not least.endswith("min"))
    said += f" {percent(there[least])} of the time"
    return said if least == most else f"{said}, {most} {percent(there[most])}"


def _recoveries(table: pd.DataFrame) -> str:
    """Say which policies are back first and last at the largest size, on average."""
    where, least, most, there = _largest(table, "recovery_s")
    said = f"{where}, a server is back in {duration(there[least])} by {least}"
    return said if least == most else f"{said}, in {duration(there[most])} by {most}"


def _looks(table: pd.DataFrame) -> list[tuple[str, int, str, pd.DataFrame]]:
    """Return system, which of its policies it is, name and rows of each, in the table's order."""
    seen: dict[str, int] = {}
    found = []
    for policy, system, rows in curves.by_policy(table):
        nth = seen[system] = seen.get(system, -1) + 1
        found.append((system, nth, policy, rows.sort_values("size_gb")))
    return found


def _size_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Put sizes of models on x, log."""
    sizes = np.sort(table["size_gb"].unique()).astype(np.float64)
    axes.set_xscale("log", base=2)
    axes.set_xlim(*curves.log_limits(sizes, 2))
    ticks.named(axes.xaxis, {float(size): f"{number(size)} GB" for size in sizes})
    axes.set_xlabel("size of model and optimizer state")
    axes.grid()
