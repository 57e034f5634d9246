"""Time against learning lost, machines or money: the candidates that no other beats."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.figures.parts import curves, measures, style, ticks
from cprsim.figures.parts.placing import name_points
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import NOTHING, listed

Floats = NDArray[np.float64]

_HEIGHT_IN: Final = 2.8
_ROOM: Final = 1.6  # beyond the outermost values
_ASIDE: Final = 0.09  # share of a panel for those that have nothing of what x counts
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
        low, high = _limits(table[["overhead", "overhead_high"]].to_numpy(np.float64).ravel())
        placed = []
        for name, axes in zip(names, sheet.axes, strict=True):
            axes.set(yscale="log", ylim=(low, high))
            ticks.shares(axes.yaxis)
            if (table["overhead"] <= NOTHING).any():
                _aside(axes, axes.yaxis)
            limit = bounds.get(name, 0.0)
            placed.append(_draw(axes, table, name, limit))
            axes.set_xlabel(_WORDS.get(name) or f"cost, {currency}")
            if limit > NOTHING:
                measures.dashed(axes, limit)
        for axes in sheet.first_column:
            axes.set_ylabel(curves.OVERHEAD)
        sheet.key(_entries(table, any(bounds.get(name, 0) > NOTHING for name in names)))
        figure = sheet.done(_finding(table, names[0]), title, height_in=_HEIGHT_IN)
        origins = np.flatnonzero(~table["origin"].duplicated().to_numpy(dtype=bool))
        for (at, best), axes in zip(placed, sheet.axes, strict=True):
            chosen = np.flatnonzero((table["standing"] == "chosen").to_numpy(dtype=bool))
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
    columns = {each.title: each.measures for each in measures.columns_of(table, currency, least)}
    lost = columns.pop("Learning lost", ())
    learning = [name for name in lost if name in bounds] or [*lost[:1]]
    if ((table["pls"] > NOTHING) != (table["updates_lost"] > NOTHING)).any():
        learning = [*lost]
    others = [some[0] for some in columns.values()]
    return [*learning, *others[-1:]] or ["pls"]


def _limits(values: Floats) -> tuple[float, float]:
    """Return limits of a log axis, with room for a strip aside where something is 0."""
    low, high = curves.log_limits(np.where(values > NOTHING, values, 0.0), 10, _ROOM)
    if (values <= NOTHING).any():
        low *= (low / high) ** (_ASIDE / (1 - _ASIDE))
    return low, high


def _aside(axes: Axes, axis: Axis) -> None:
    """Set a strip aside at the lower end of a log axis, with a tick for those that are 0."""
    low, end = axis.get_view_interval()
    middle, edge = (low * (end / low) ** (_ASIDE * share) for share in (0.5, 1.0))
    axis.set_major_locator(ticks.WithStrip(axis.get_major_locator(), middle, edge))
    axis.set_major_formatter(ticks.with_zero(axis.get_major_formatter(), middle))
    draw = axes.axhspan if axis is axes.yaxis else axes.axvspan
    draw(low, edge, color=style.TRAINING_COLOUR, linewidth=0, zorder=0)


def _shown(values: Floats, limits: tuple[float, float]) -> Floats:
    """Return where values are drawn: those that are 0 in the middle of the strip."""
    low, high = limits
    return np.where(values > NOTHING, values, low * (high / low) ** (_ASIDE / 2))


def _draw(
    axes: Axes, table: pd.DataFrame, measure: str, limit: float
) -> tuple[Floats, NDArray[np.intp]]:
    """Draw a panel; returns where points are, and the numbers of those that aren't beaten."""
    ends = [f"{measure}_low", measure, f"{measure}_high"]
    x = table[ends].to_numpy(dtype=np.float64)
    if measure == "cost":
        room = 0.12 * (x.max() - x.min() or x.max())
        axes.set_xlim(x.min() - room, x.max() + room)
        ticks.numbers(axes.xaxis)
    else:
        axes.set_xscale("log")
        axes.set_xlim(*_limits(np.append(x[:, 1:], limit or x.max())))
        ticks.shares(axes.xaxis)
        if (table[measure] <= NOTHING).any():
            _aside(axes, axes.xaxis)
    axes.grid()
    at = _places(axes, table, measure)
    kept = np.flatnonzero((table["standing"] != "over").to_numpy(dtype=bool))
    best = kept[front(*table[[measure, "overhead"]].to_numpy(dtype=np.float64)[kept].T)]
    axes.plot(*at[best].T, color=style.INK, linewidth=1, drawstyle="steps-post", zorder=2)
    for i in range(len(table)):
        _point(axes, table.iloc[i], measure, at[i])
    return at, best


def _places(axes: Axes, table: pd.DataFrame, measure: str) -> Floats:
    x, y = (table[name].to_numpy(dtype=np.float64) for name in (measure, "overhead"))
    return np.stack([_shown(x, axes.get_xlim()), _shown(y, axes.get_ylim())], axis=1)


def _point(axes: Axes, row: "pd.Series[Any]", measure: str, at: Floats) -> None:
    look = curves.points(str(row["system"]), hollow=row["standing"] == "over")
    for name, mean, which in ((measure, at[0], 0), ("overhead", at[1], 1)):
        up, down = row[f"{name}_high"] - row[name], row[name] - row[f"{name}_low"]
        if row[name] > NOTHING and up > 0:
            low = max(mean - down, axes.get_xlim()[0] if which == 0 else axes.get_ylim()[0])
            ends = [low, mean + up]
            along = (ends, [at[1]] * 2) if which == 0 else ([at[0]] * 2, ends)
            axes.plot(*along, color=look["color"], linewidth=0.8, zorder=3)
    axes.plot(*at[:, None], zorder=4, **look)
    if row["standing"] == "chosen":
        ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
        axes.plot(*at[:, None], color=style.INK, clip_on=False, zorder=5, **ring)


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
