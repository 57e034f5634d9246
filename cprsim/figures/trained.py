"""Real training: what accuracy failures cost, and seconds predicted against those measured."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet

_ROOM: Final = 1.06  # beyond the outermost points
#: How points look by how many servers fail at once, the least first.
_MARKERS: Final[tuple[dict[str, Any], ...]] = (
    {"marker": "o", "markerfacecolor": "white", "markeredgewidth": 0.9},
    {"marker": "s", "markersize": 4.5},
    {"marker": "X", "markersize": 6.0},
    {"marker": "*", "markersize": 7.0},
)
_SEED: Final[dict[str, Any]] = {
    "color": style.RULE,
    "linewidth": 0.8,
    "marker": "o",
    "markersize": 2.6,
    "markeredgewidth": 0,
    "markerfacecolor": style.LEARNING_COLOUR,
}
_AUC: Final = "AUC below that without failures"
_MEANS: Final = "Means over the seeds, with 95 % intervals"


@style.styled()
def pls_accuracy(
    points: pd.DataFrame, slopes: Mapping[str, tuple[float, float]], title: str = ""
) -> Figure:
    """Draw drops of AUC against the portion of lost samples, with lines through the origin.

    The first axes have the points at which one server fails at a time, and the lines. The second,
    which are there if there is something to see in them, those of one policy at which several do at
    once, and its others.

    Parameters
    ----------
    points
        A row a point: `policy`, its `system`; `servers_hit` by a failure, out of `servers`; means
        `pls` and `auc_drop`, each with its 95 % interval, `_low` to `_high`.
    slopes
        By system the drop of AUC for each unit of PLS, and the largest PLS it was fitted to.
    """
    one = points[points["servers_hit"] == 1]
    several = points[points["policy"].isin(points.loc[points["servers_hit"] > 1, "policy"])]
    sheet = Sheet(1 + (not several.empty), sharey=True)
    low, high = points["auc_drop_low"].min(), points["auc_drop_high"].max()
    headings = ("One server at a time", "Several at once, under one policy")
    for axes, heading in zip(sheet.axes, headings, strict=False):
        axes.set(xlim=(0, _ROOM * points["pls_high"].max()), title=heading)
        axes.set(ylim=(min(0, _ROOM * low), _ROOM * high), xlabel="PLS, share of all samples")
        ticks.numbers(axes.xaxis)
        ticks.numbers(axes.yaxis)
        axes.grid()
    for axes in sheet.first_column:
        axes.set_ylabel(_AUC)
    for policy, system, rows in marks.by_policy(one):
        look, label = marks.points(system), policy
        if system in slopes:
            slope, up_to = slopes[system]
            label += f": slope {slope:.4f}"
            sheet.axes[0].plot([0.0, up_to], [0.0, slope * up_to], **marks.line(system))
        look["label"] = label
        marks.with_whiskers(sheet.axes[0], rows, "pls", "auc_drop", look)
    # By servers that fail at once, the fewest first.
    for marker, (hit, rows) in zip(cycle(_MARKERS), several.groupby("servers_hit")):
        look = marks.points(str(rows["system"].iloc[0])) | marker
        look["label"] = f"{hit} of {rows['servers'].iloc[0]}: at once"
        marks.with_whiskers(sheet.axes[-1], rows, "pls", "auc_drop", look)
    sheet.key()
    return sheet.done(_steepest(one, slopes), title, [_MEANS])


def _steepest(one: pd.DataFrame, slopes: Mapping[str, tuple[float, float]]) -> str:
    """Name the steepest slope and the flattest."""
    names = {system: policy for policy, system, _ in marks.by_policy(one)}
    order = sorted((slopes[system][0], names[system]) for system in names if system in slopes)
    if not order:
        return ""
    (least, best), (most, worst) = order[0], order[-1]
    said = f"A tenth of PLS takes {most / 10:.2g} of AUC under {worst}"
    return said if len(order) == 1 else f"{said}, {least / 10:.2g} under {best}"


@style.styled()
def policy_accuracy(
    runs: pd.DataFrame, points: pd.DataFrame, title: str = "", *, ax: Axes | None = None
) -> Figure:
    """Draw drops of AUC of each policy: a line a seed, means with their intervals on top.

    With one pair of axes: policies 0, 1, ... over drops of AUC.

    Parameters
    ----------
    runs
        A row a run: `seed`, `policy`, and its `auc_drop`.
    points
        A row a policy, in the order in which they are drawn: `policy`, its `system`, and the mean
        `auc_drop` with its 95 % interval, `auc_drop_low` to `auc_drop_high`; `pls`, `updates_lost`.
    """
    order = list(points["policy"])
    by_seed = runs.pivot_table(values="auc_drop", index="seed", columns="policy")[order]
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    label = "line: one seed: same data, model and failures"
    for drops in by_seed.to_numpy():
        axes.plot(range(len(order)), drops, label=label, **_SEED)
    low = min(by_seed.min(axis=None), points["auc_drop_low"].min(), 0)
    high = max(by_seed.max(axis=None), points["auc_drop_high"].max())
    axes.set(ylim=(low - 0.06 * high, 1.06 * high), xlim=(-0.5, len(order) - 0.5))
    ticks.numbers(axes.yaxis)
    axes.set_ylabel(_AUC)
    axes.set_xticks(range(len(order)), [name.replace("-", "-\n", 1) for name in order])
    axes.grid(axis="y")
    for place, (policy, system, rows) in enumerate(marks.by_policy(points)):
        lost = f"{100 * rows['updates_lost'].iloc[0]:.0f} % of updates lost"
        label = f"{policy}: PLS {rows['pls'].iloc[0]:.2f}, {lost}"
        look = marks.points(system) | {"markersize": 6.0, "label": label}
        marks.with_whiskers(axes, rows.assign(place=place), "place", "auc_drop", look)
    sheet.key()
    return sheet.done(_least_and_most(points), title, [_MEANS])


def _least_and_most(points: pd.DataFrame) -> str:
    """Say who loses the most and the least AUC, and whether their intervals are apart."""
    order = points.sort_values("auc_drop", kind="stable")
    least, most = order.iloc[0], order.iloc[-1]
    said = f"{most['policy']} loses {most['auc_drop']:.2g} of AUC"
    if len(order) == 1:
        return said
    if least["auc_drop_high"] >= most["auc_drop_low"]:
        return "No policy clearly loses the least AUC"
    lost = f"{least['auc_drop']:.2g}" if least["auc_drop"] > 0 else "none"
    return f"{said}, {least['policy']} {lost}"


#: What a cause may be off by: the larger of a share and so many seconds.
SHARE: Final = 0.25
SECONDS: Final = 0.05


@style.styled()
def predicted_measured(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw predicted seconds against measured ones, a point a run and cause, on log axes.

    With one pair of axes: measured over predicted seconds, the line on which both are equal, and a
    band of `SHARE` or `SECONDS` about it, whichever is wider.

    Parameters
    ----------
    table
        A row a run and cause: `cause`, one of `cprsim.contract.ledger.OVERHEAD_CAUSES` or
        `"overhead"`, all of them together; `predicted` and `measured`, seconds. Rows in which
        either is 0 are left out.
    """
    shown = table[(table[["predicted", "measured"]] > 0).all(axis=1)]
    room = np.maximum(SHARE * shown["measured"], SECONDS)
    near = int(((shown["predicted"] - shown["measured"]).abs() <= room).sum())
    finding = f"{near} of {len(shown)} predictions are within {100 * SHARE:g} % or {SECONDS:g} s"
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    limits = ticks.log_limits(shown[["predicted", "measured"]], 10)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    axes.set(xlabel="measured, s", ylabel="predicted, s")
    axes.grid()
    for axis in (axes.xaxis, axes.yaxis):
        ticks.numbers(axis)
    for cause, rows in shown.groupby("cause", sort=False):
        look: dict[str, Any] = {"color": style.cause_colour(str(cause)), "linestyle": "none"}
        look |= {"marker": "o" if cause in CAUSE_LABELS else "D", "markersize": 4.5}
        look |= {"markeredgecolor": style.INK, "markeredgewidth": 0.4}
        label = CAUSE_LABELS.get(str(cause), "all overhead")
        axes.plot(rows["measured"], rows["predicted"], label=label, **look)
    along = np.geomspace(*limits, 200)
    off = np.maximum(SHARE * along, SECONDS)
    low = np.maximum(along - off, limits[0])
    label = f"off by {100 * SHARE:g} % or {1e3 * SECONDS:g} ms at most"
    axes.fill_between(along, low, along + off, color=style.TRAINING_COLOUR, zorder=0.5, label=label)
    axes.plot(limits, limits, color=style.FAINT_INK, linewidth=0.8, zorder=0.6)
    sheet.key()
    return sheet.done(finding, title, height_in=3.2)
