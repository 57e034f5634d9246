"""What time a policy saves for what learning it loses."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.curves import Entry, Panel

#: How lost learning is counted, in the order of the panels.
LOSSES: Final = {
    "pls": Panel("Samples lost (PLS)", "overhead, % of useful time", "portion of lost samples"),
    "updates_lost": Panel("Updates lost", "overhead, % of useful time", "updates lost for good"),
}
_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.5
_ROOM: Final = 1.6  # beyond the outermost losses
_NOTHING: Final = 1e-9  # of what was learned


def tradeoff(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the learning lost, a curve a policy, a level for one that loses nothing.

    Parameters
    ----------
    table
        A row a point and policy: `policy`, its `system`; `overhead`, a share of the useful time;
        `pls` and `updates_lost`, shares of what is learned; each of the three with its 95 %
        interval, `_low` to `_high`.
    title
        Stands above, wrapped; none if empty.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with axes for each of `LOSSES`: that share over overhead as a share, log. A
        policy that loses nothing at any point is a dashed level at its least overhead.
    """
    with style.styled():
        frame = curves.frame(title, list(LOSSES.values()), _RIGHT_IN, _HEIGHT_IN)
        curves.log_shares(frame, table["overhead"].to_numpy(dtype=np.float64))
        lossy = table[(table[[*LOSSES]] > _NOTHING).any(axis=1)]
        for loss, axes in zip(LOSSES, frame.axes, strict=True):
            axes.set_xscale("log")
            both = lossy[[*LOSSES]].to_numpy(dtype=np.float64).ravel()
            axes.set_xlim(*curves.log_limits(both, 10, _ROOM))
            ticks.log_ticks(axes, "x", frame.width_in, 0.01, " %")
            for policy, system, rows in curves.by_policy(table):
                there = rows[rows[loss] > _NOTHING].sort_values(loss)
                if policy in set(lossy["policy"]):
                    axes.plot(there[loss], there["overhead"], **curves.line(system))
                    curves.with_whiskers(axes, there, loss, "overhead", curves.points(system))
                else:
                    axes.axhline(rows["overhead"].min(), **curves.line(system, 1))
        curves.write_key(frame, _entries(table, set(lossy["policy"])))
    return frame.figure


def _entries(table: pd.DataFrame, lossy: set[str]) -> list[Entry]:
    entries = []
    for policy, system, _ in curves.by_policy(table):
        if policy in lossy:
            entries.append(Entry([curves.line(system), curves.points(system)], policy))
        else:
            entries.append(Entry([curves.line(system, 1)], policy, "loses nothing"))
    return [*entries, curves.point_means("simulated, 95 % intervals")]
