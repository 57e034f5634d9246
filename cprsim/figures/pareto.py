"""Time against learning lost, machines or money: the candidates that no other beats."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.figures.answer import columns_of, costs_axis
from cprsim.figures.parts import bars, curves, style, ticks
from cprsim.figures.parts.placing import name_points
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import NOTHING, listed

Floats = NDArray[np.float64]

_HEIGHT_IN: Final = 2.8
_ROOM: Final = 1.6  # beyond the outermost values
#: What x may be.
_WORDS: Final = {
    "pls": "portion of lost samples (PLS)",
    "updates_lost": "updates lost for good",
    "machine_overhead": "overhead of machine time",
    "overhead_retrained": "overhead, lost updates trained again",
}


def pareto(
    table: pd.DataFrame,
    least: str,
    bounds: Mapping[str, float],
    currency: str = "",
    title: str = "",
) -> Figure:
    """Draw overhead against learning lost, and machine time or cost: a point a candidate.

    Parameters
    ----------
    table, least, bounds, currency, title
        As of `cprsim.figures.answer.answer`.

    Returns
    -------
    matplotlib.figure.Figure
        Its axes have overhead over learning lost (PLS, unless updates are bounded; both where some
        candidate loses only one of them), and over cost, or machine time where it isn't the same,
        log; what is 0 is in a strip aside. Points with both 95 % intervals, hollow for those over a
        limit; a line joins those of the others that no other beats in both. Names are at the
        points as far as they have room; a key names the systems.
    """
    with style.styled():
        names = _measures(table, least, bounds, currency)
        sheet = Sheet(len(names), sharey=True)
        fronts = []
        for name, axes in zip(names, sheet.axes, strict=True):
            limit = bounds.get(name, 0.0)
            _scale(axes, "y", table[["overhead", "overhead_high"]])
            if name == "cost":
                costs_axis(axes, table[["cost_low", "cost_high"]].to_numpy(dtype=np.float64))
            else:
                measured = table[[name, f"{name}_high"]].to_numpy(dtype=np.float64)
                _scale(axes, "x", np.append(measured, limit or measured.max()))
            fronts.append(_draw(axes, table, name))
            axes.set_xlabel(_WORDS.get(name) or f"cost, {currency}")
            if limit > NOTHING:
                bars.dashed(axes, limit)
        for axes in sheet.first_column:
            axes.set_ylabel(curves.OVERHEAD)
        sheet.key(_entries(table, any(bounds.get(name, 0) > NOTHING for name in names)))
        figure = sheet.done(_finding(table, names[0]), title, height_in=_HEIGHT_IN)
        chosen = np.flatnonzero(table["standing"] == "chosen")
        origins = np.flatnonzero(~table["origin"].duplicated())
        for name, best, axes in zip(names, fronts, sheet.axes, strict=True):
            at = table[[name, "overhead"]].to_numpy(dtype=np.float64)
            first = dict.fromkeys([*chosen.tolist(), *best.tolist(), *origins.tolist()])
            name_points(figure, axes, at, [(i, str(table.index[i])) for i in first])
    return figure


def front(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Return numbers of the points that no other beats: less in one and not more in the other.

    They are in the order of x. Of points that are alike, the first.
    """
    order = np.lexsort((y, x))
    least = np.minimum.accumulate(np.append(np.inf, y[order]))[:-1]
    return order[y[order] < least]


def _finding(table: pd.DataFrame, measure: str) -> str:
    """Name the candidates that none beats in time and in x of the first panel, by their means."""
    kept = table[table["standing"] != "over"]
    if kept.empty:
        return "No policy is within the limits"
    best = kept.index[front(*kept[[measure, "overhead"]].to_numpy(dtype=np.float64).T)]
    beats = listed([str(name) for name in best], 4)
    if len(best) == 1:
        return f"No policy takes less of both than {beats}"
    return f"Less of one only for more of the other: {beats}"


def _measures(
    table: pd.DataFrame, least: str, bounds: Mapping[str, float], currency: str
) -> list[str]:
    """Return the measures that the panels have as x."""
    columns = {each.title: each.measures for each in columns_of(table, currency, least)}
    lost = columns.pop("Learning lost", ())
    learning = [name for name in lost if name in bounds] or [*lost[:1]]
    if ((table["pls"] > NOTHING) != (table["updates_lost"] > NOTHING)).any():
        learning = [*lost]
    others = [some[0] for some in columns.values()]
    return [*learning, *others[-1:]] or ["pls"]


def _scale(axes: Axes, along: Literal["x", "y"], values: Any) -> None:
    """Make an axis of shares log, with a strip aside for those that are 0."""
    values = np.asarray(values, dtype=np.float64)
    low, high = curves.log_limits(np.where(values > NOTHING, values, 0.0), 10, _ROOM)
    of_x = axes.xaxis, axes.set_xscale, axes.set_xlim, axes.axvspan
    of_y = axes.yaxis, axes.set_yscale, axes.set_ylim, axes.axhspan
    axis, set_scale, set_limits, span = of_x if along == "x" else of_y
    set_scale("log")
    if (values <= NOTHING).any():
        set_scale("symlog", linthresh=low, linscale=0.045 * np.log10(high / low))
        span(-low, low, color=style.TRAINING_COLOUR, linewidth=0, zorder=0)
        low = -low
    set_limits(low, high)
    ticks.shares(axis)


def _draw(axes: Axes, table: pd.DataFrame, measure: str) -> NDArray[np.intp]:
    """Draw a panel; return the numbers of the points that aren't beaten."""
    axes.grid()
    at = table[[measure, "overhead"]].to_numpy(dtype=np.float64)
    kept = np.flatnonzero(table["standing"] != "over")
    best = kept[front(*at[kept].T)]
    axes.plot(*at[best].T, color=style.INK, linewidth=1, drawstyle="steps-post", zorder=2)
    for _, row in table.iterrows():
        x, y = row[measure], row["overhead"]
        look = curves.points(str(row["system"]), hollow=row["standing"] == "over")
        whisker: dict[str, Any] = {"color": look["color"], "linewidth": 0.8, "zorder": 3}
        axes.plot([row[f"{measure}_low"], row[f"{measure}_high"]], [y, y], **whisker)
        axes.plot([x, x], [row["overhead_low"], row["overhead_high"]], **whisker)
        axes.plot([x], [y], zorder=4, **look)
        if row["standing"] == "chosen":
            ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
            axes.plot([x], [y], color=style.INK, clip_on=False, zorder=5, **ring)
    return best


def _entries(table: pd.DataFrame, bounded: bool) -> list[Entry]:
    systems = dict.fromkeys(map(str, table["system"]))
    entries = [Entry([curves.points(system)], system) for system in systems]
    ring: dict[str, Any] = curves.points("full") | {"markersize": 7, "markeredgewidth": 1}
    line: dict[str, Any] = {"color": style.INK, "linewidth": 1}
    standings = {*table["standing"]}
    more = {
        "ring": ([ring | {"markerfacecolor": "white"}], "the chosen one", "chosen" in standings),
        "hollow": ([curves.points("", hollow=True)], "over a limit", "over" in standings),
        "line": ([line], "no other is better in both", standings != {"over"}),
        "dashed": ([line | {"linestyle": (0, (3, 2))}], "the limit", bounded),
    }
    for name, (samples, facts, there) in more.items():
        entries += [Entry(samples, name, facts)] * there
    return entries
