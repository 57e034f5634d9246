"""How long a lost server's recovery takes, from parities and from checkpoints."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.ecrm_overhead import looks, size_axis
from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.curves import Entry, Panel
from cprsim.figures.parts.heading import Heading

_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.4
_X: Final = "model and optimizer state"
_BAND: Final[dict[str, Any]] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}


def ecrm_recovery(table: pd.DataFrame, title: str = "") -> Figure:
    """Time to recover a lost server against the size of the model.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `best_s`, `recovery_s` and
        `worst_s`, on average and at the ends, and the same as the paper measured them under
        `published_best_s`, `published_s`, `published_worst_s`; seconds.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with axes for each policy that loads checkpoints (system `full`) and all
        others beside it: gigabytes over seconds, both log.
    """
    with style.styled():
        policies = looks(table)
        baselines = [each for each in policies if each[0] == "full"]
        others = [each for each in policies if each[0] != "full"]
        panels = [
            Panel(name.capitalize(), "time to recover a lost server", _X)
            for _, _, name, _ in baselines
        ]
        frame = curves.frame(Heading.of(_finding(table), title), panels, _RIGHT_IN, _HEIGHT_IN)
        seconds = table.filter(regex="_s$").to_numpy(dtype=np.float64).ravel()
        frame.axes[0].set(yscale="log", ylim=curves.log_limits(seconds, 6))
        ticks.duration_ticks(frame.axes[0], "y", frame.height_in)
        for axes, baseline in zip(frame.axes, baselines, strict=True):
            size_axis(axes, table)
            for system, nth, _, rows in (baseline, *others):
                look = curves.line(system, nth if system != "full" else 0)
                x = rows["size_gb"]
                axes.fill_between(x, rows["best_s"], rows["worst_s"], **_BAND)
                axes.plot(x, rows["recovery_s"], **look)
                for column in ("published_best_s", "published_s", "published_worst_s"):
                    axes.plot(x, rows[column], **curves.points(system, hollow=True))
        curves.write_key(frame, _entries(others))
    return frame.figure


def _finding(table: pd.DataFrame) -> str:
    """Who is back first and last at the largest size, on average."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")["recovery_s"]
    least, most = there.idxmin(), there.idxmax()
    said = f"At {ticks.number(size)} GB, a server is back in {ticks.duration(there[least])} by"
    said = f"{said} {least}"
    return said if least == most else f"{said}, in {ticks.duration(there[most])} by {most}"


def _entries(others: list[tuple[str, int, str, pd.DataFrame]]) -> list[Entry]:
    band = {"color": style.RULE, "linewidth": 7, "solid_capstyle": "butt"}
    return [
        Entry([band, curves.line("full")], "checkpoints", "line: on average; band: best to worst"),
        *(Entry([curves.line(system, nth)], name) for system, nth, name, _ in others),
        curves.point_means("as the paper measured it", hollow=True),
    ]
