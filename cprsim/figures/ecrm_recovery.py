"""How long a lost server's recovery takes, from parities and from checkpoints."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.ecrm_overhead import looks, size_axis
from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import duration, number

_BAND: Final[dict[str, Any]] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}


def ecrm_recovery(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the time to recover a lost server against the size of the model.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `best_s`, `recovery_s` and
        `worst_s`, on average and at the ends, and the same as the paper measured them under
        `published_best_s`, `published_s`, `published_worst_s`; seconds.
    title
        Of what: the first note below.

    Returns
    -------
    matplotlib.figure.Figure
        With axes for each policy that loads checkpoints (system `full`), each with all others:
        gigabytes over seconds, both log.
    """
    with style.styled():
        policies = looks(table)
        baselines = [each for each in policies if each[0] == "full"]
        others = [each for each in policies if each[0] != "full"]
        sheet = Sheet(len(baselines), sharey=True)
        seconds = table.filter(regex="_s$").to_numpy(dtype=np.float64).ravel()
        limits = curves.log_limits(seconds, 6)
        for axes, baseline in zip(sheet.axes, baselines, strict=True):
            axes.set(yscale="log", ylim=limits, title=baseline[2].capitalize())
            ticks.durations(axes.yaxis)
            size_axis(axes, table)
            for system, nth, _, rows in (baseline, *others):
                look = curves.line(system, nth if system != "full" else 0)
                x = rows["size_gb"]
                axes.fill_between(x, rows["best_s"], rows["worst_s"], **_BAND)
                axes.plot(x, rows["recovery_s"], **look)
                for column in ("published_best_s", "published_s", "published_worst_s"):
                    axes.plot(x, rows[column], **curves.points(system, hollow=True))
        for axes in sheet.first_column:
            axes.set_ylabel("time to recover a lost server")
        sheet.key(_entries(others), "lower left")
        return sheet.done(_finding(table), title, height_in=2.3)


def _finding(table: pd.DataFrame) -> str:
    """Say which policies are back first and last at the largest size, on average."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")["recovery_s"]
    least, most = there.idxmin(), there.idxmax()
    said = f"At {number(size)} GB, a server is back in {duration(there[least])} by {least}"
    return said if least == most else f"{said}, in {duration(there[most])} by {most}"


def _entries(others: list[tuple[str, int, str, pd.DataFrame]]) -> list[Entry]:
    band = {"color": style.RULE, "linewidth": 7, "solid_capstyle": "butt"}
    return [
        Entry([band, curves.line("full")], "checkpoints, on average", "band: best to worst"),
        *(Entry([curves.line(system, nth)], name) for system, nth, name, _ in others),
        curves.point_means("as the paper measured it", hollow=True),
    ]
