"""What accuracy failures cost: AUC against PLS, and of each policy at the same failures."""

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet

_HEADINGS: Final = ("One server at a time", "Several at once, under one policy")
_ROOM: Final = 1.06  # beyond the outermost points
#: How points look by how many servers fail at once, the least first.
_MARKERS: Final[tuple[dict[str, Any], ...]] = (
    {"marker": "o", "markerfacecolor": "white", "markeredgewidth": 0.9},
    {"marker": "s", "markersize": 4.5},
    {"marker": "X", "markersize": 6.0},
    {"marker": "*", "markersize": 7.0},
)

_BEYOND: Final = 0.06  # the outermost drops, as a share of the largest
_SEED: Final[dict[str, Any]] = {
    "color": style.RULE,
    "linewidth": 0.8,
    "marker": "o",
    "markersize": 2.6,
    "markeredgewidth": 0,
    "markerfacecolor": style.LEARNING_COLOUR,
}
_AUC: Final = "AUC below that without failures"


def pls_accuracy(
    points: pd.DataFrame, slopes: Mapping[str, tuple[float, float]], title: str = ""
) -> Figure:
    """Draw drops of AUC against the portion of lost samples, with lines through the origin.

    Parameters
    ----------
    points
        A row a point: `policy`, its `system`; `servers_hit` by a failure, out of `servers`; means
        `pls` and `auc_drop`, each with its 95 % interval, `_low` to `_high`.
    slopes
        By system the drop of AUC for each unit of PLS, and the largest PLS it was fitted to.

    Returns
    -------
    matplotlib.figure.Figure
        The first axes have the points at which one server fails at a time, and the lines. The
        second, which are there if there is something to see in them, those of one policy at which
        several do at once, and its others.
    """
    one = points[points["servers_hit"] == 1]
    several = points[points["policy"].isin(points.loc[points["servers_hit"] > 1, "policy"])]
    with style.styled():
        sheet = Sheet(1 + (not several.empty), sharey=True)
        low, high = points["auc_drop_low"].min(), points["auc_drop_high"].max()
        for axes, heading in zip(sheet.axes, _HEADINGS, strict=False):
            axes.set(xlim=(0, _ROOM * points["pls_high"].max()), title=heading)
            axes.set(ylim=(min(0, _ROOM * low), _ROOM * high), xlabel="PLS, share of all samples")
            ticks.numbers(axes.xaxis)
            ticks.numbers(axes.yaxis)
            axes.grid()
        for axes in sheet.first_column:
            axes.set_ylabel(_AUC)
        for _, system, rows in curves.by_policy(one):
            curves.with_whiskers(sheet.axes[0], rows, "pls", "auc_drop", curves.points(system))
            if system in slopes:
                slope, up_to = slopes[system]
                sheet.axes[0].plot([0.0, up_to], [0.0, slope * up_to], **curves.line(system))
        for rows, look in _by_share(several):
            curves.with_whiskers(sheet.axes[-1], rows, "pls", "auc_drop", look)
        sheet.key([*_policies(one, slopes), *_shares(several)])
        return sheet.done(_steepest(one, slopes), title)


def _steepest(one: pd.DataFrame, slopes: Mapping[str, tuple[float, float]]) -> str:
    """Name the steepest slope and the flattest."""
    names = {system: policy for policy, system, _ in curves.by_policy(one)}
    order = sorted((slopes[system][0], names[system]) for system in names if system in slopes)
    if not order:
        return ""
    (least, best), (most, worst) = order[0], order[-1]
    said = f"A tenth of PLS takes {most / 10:.2g} of AUC under {worst}"
    return said if len(order) == 1 else f"{said}, {least / 10:.2g} under {best}"


def _by_share(points: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
    """Yield rows by servers that fail at once, the fewest first, and how they look."""
    for marker, (_, rows) in zip(cycle(_MARKERS), points.groupby("servers_hit"), strict=False):
        yield rows, curves.points(str(rows["system"].iloc[0])) | marker


def _policies(one: pd.DataFrame, slopes: Mapping[str, tuple[float, float]]) -> list[Entry]:
    return [
        Entry(
            [curves.line(system), curves.points(system)]
            if system in slopes
            else [curves.points(system)],
            policy,
            f"slope {slopes[system][0]:.4f}" if system in slopes else "",
        )
        for policy, system, _ in curves.by_policy(one)
    ]


def _shares(several: pd.DataFrame) -> list[Entry]:
    entries = [
        Entry([look], f"{rows['servers_hit'].iloc[0]} of {rows['servers'].iloc[0]}", "at once")
        for rows, look in _by_share(several)
    ]
    return [*entries, curves.point_means("means over the seeds, 95 % intervals")]


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
        axes.set_ylim(low - _BEYOND * high, (1 + _BEYOND) * high)
        ticks.numbers(axes.yaxis)
        axes.set_ylabel(_AUC)
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
        return sheet.done(_least_and_most(points), title)


def _least_and_most(points: pd.DataFrame) -> str:
    """Say who loses the most and the least AUC, and whether their intervals are apart."""
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
