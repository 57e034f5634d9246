"""What accuracy each policy keeps at the same failures, seed by seed."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet

_ROOM: Final = 0.06  # beyond the outermost drops, as a share of the largest
_SEED: Final[dict[str, Any]] = {
    "color": style.RULE,
    "linewidth": 0.8,
    "marker": "o",
    "markersize": 2.6,
    "markeredgewidth": 0,
    "markerfacecolor": style.LEARNING_COLOUR,
}


def policy_accuracy(
    runs: pd.DataFrame, points: pd.DataFrame, title: str = "", *, ax: Axes | None = None
) -> Figure:
    """Draw drops of AUC of each policy: a line a seed, means with their intervals on top.

    Parameters
    ----------
    runs
        A row a run: `seed`, `policy`, and its `auc_drop`.
    points
        A row a policy, in the order in which they are drawn: `policy`, its `system`, and the mean
        `auc_drop` with its 95 % interval, `auc_drop_low` to `auc_drop_high`; `pls`, `updates_lost`.
    title
        Of what: the first note below.
    ax
        Axes to draw on, instead of a new figure's.

    Returns
    -------
    matplotlib.figure.Figure
        With one pair of axes: policies 0, 1, ... over drops of AUC.
    """
    order = list(points["policy"])
    by_seed = runs.pivot_table(values="auc_drop", index="seed", columns="policy")[order]
    with style.styled():
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        for drops in by_seed.to_numpy():
            axes.plot(np.arange(len(order)), drops, **_SEED)
        low = min(by_seed.to_numpy().min(), points["auc_drop_low"].min(), 0)
        high = max(by_seed.to_numpy().max(), points["auc_drop_high"].max())
        axes.set_ylim(low - _ROOM * high, (1 + _ROOM) * high)
        ticks.numbers(axes.yaxis)
        axes.set_ylabel("AUC below that without failures")
        axes.set_xlim(-0.5, len(order) - 0.5)
        names = [name.replace("-", "-\n", 1) for name in order]
        axes.set_xticks(range(len(order)), names)
        axes.grid(axis="y")
        entries = []
        for place, (policy, system, rows) in enumerate(curves.by_policy(points)):
            look = curves.points(system) | {"markersize": 6.0}
            curves.with_whiskers(axes, rows.assign(place=place), "place", "auc_drop", look)
            lost = f"{100 * rows['updates_lost'].iloc[0]:.0f} % of updates lost"
            entries.append(Entry([look], policy, f"PLS {rows['pls'].iloc[0]:.2f}, {lost}"))
        entries.append(Entry([_SEED], "line", "one seed: same data, model and failures"))
        entries.append(curves.point_means("mean, 95 % interval"))
        sheet.key(entries)
        return sheet.done(_finding(points), title)


def _finding(points: pd.DataFrame) -> str:
    """Who loses the most and the least AUC, and whether their intervals are apart."""
    order = points.sort_values("auc_drop", kind="stable").to_dict("records")
    least, most = order[0], order[-1]
    said = f"{most['policy']} loses {most['auc_drop']:.2g} of AUC"
    if len(order) == 1:
        return said
    if least["auc_drop_high"] >= most["auc_drop_low"]:
        return "No policy clearly loses the least AUC"
    lossy = [each for each in order[:-1] if each["auc_drop"] > 0]
    told = [f"{each['policy']} {each['auc_drop']:.2g}" for each in lossy[:1]]
    told += [f"{least['policy']} none"] * (least["auc_drop"] <= 0)
    return ", ".join([said, *told])
