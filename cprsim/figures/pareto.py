"""Time against learning lost, and against what machines or money it takes: who isn't beaten."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.beside import columns_of
from cprsim.figures.parts.curves import Entry, Frame, Panel
from cprsim.figures.parts.heading import Heading, listed
from cprsim.figures.parts.placing import name_points
from cprsim.figures.parts.value_axis import ValueAxis

Floats = NDArray[np.float64]

_RIGHT_IN: Final = 5.35
_HEIGHT_IN: Final = 2.6
_ENTRY_IN: Final = 0.178  # of the key, about
_NOTHING: Final = 1e-9
_ROOM: Final = 1.6  # beyond the outermost values
_ASIDE: Final = 0.09  # share of a panel for those that have nothing of what x counts
_TIME: Final = "overhead, % of useful time"
#: What x may be: of `parts.beside.Column`.
_WORDS: Final = {
    "pls": Panel("Samples lost (PLS)", _TIME, "portion of lost samples"),
    "updates_lost": Panel("Updates lost", _TIME, "updates lost for good"),
    "machine_overhead": Panel("Machine time", _TIME, "overhead of machine time"),
    "overhead_retrained": Panel("Retrained", _TIME, "overhead, retrained"),
}


def pareto(
    table: pd.DataFrame,
    least: str,
    bounds: Mapping[str, float],
    currency: str = "",
    title: str = "",
) -> Figure:
    """Overhead against learning lost, and against machine time or cost: a point a candidate.

    Parameters
    ----------
    table, least, bounds, currency, title
        As of `cprsim.figures.answer.answer`.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. Its axes have overhead over learning lost (PLS, unless updates are bounded;
        both where some candidate loses only one of them), and over cost, or machine time where it
        isn't the same, log; what is 0 stands in a strip aside. Points with both 95 % intervals,
        hollow for those over a bound; a line joins those of the others that no other beats in both,
        with their names.
    """
    with style.styled():
        names = _measures(table, least, bounds, currency)
        words = _WORDS | {"cost": Panel("Cost", _TIME, currency)}
        entries = _entries(table, any(bounds.get(name, 0) > _NOTHING for name in names))
        height_in = max(_HEIGHT_IN, _ENTRY_IN * len(entries))
        head = Heading.of(_finding(table, names[0]), title)
        frame = curves.frame(head, [words[name] for name in names], _RIGHT_IN, height_in)
        _time_axis(frame, table)
        for name, axes in zip(names, frame.axes, strict=True):
            bound = bounds.get(name, 0.0)
            _draw(axes, frame, table, name, bound)
            if bound > _NOTHING:
                axes.axvline(bound, color=style.INK, linewidth=1, linestyle=(0, (3, 2)))
        curves.write_key(frame, entries)
    return frame.figure


def front(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Numbers of the points than which no other is less in one and not more in the other, by x.

    Of points that are alike, the first.
    """
    order = np.lexsort((y, x))
    least = np.minimum.accumulate(np.append(np.inf, y[order]))[:-1]
    return order[y[order] < least]


def _finding(table: pd.DataFrame, measure: str) -> str:
    """Whom nobody beats both in time and in what the first panel counts, by their means."""
    kept = table[table["standing"] != "over"]
    if kept.empty:
        return "No policy keeps to the bounds"
    best = kept.index[front(*kept[[measure, "overhead"]].to_numpy(dtype=np.float64).T)]
    beats = listed([str(name) for name in best], 4)
    if len(best) == 1:
        return f"No policy takes less of both than {beats}"
    return f"Less of one only for more of the other: {beats}"


def _measures(
    table: pd.DataFrame, least: str, bounds: Mapping[str, float], currency: str
) -> list[str]:
    """What the panels have as x."""
    columns = {each.what: each.measures for each in columns_of(table, currency, least)}
    lost = columns.pop("Learning lost", ())
    learning = [name for name in lost if name in bounds] or [*lost[:1]]
    if ((table["pls"] > _NOTHING) != (table["updates_lost"] > _NOTHING)).any():
        learning = [*lost]
    others = [measures[0] for measures in columns.values()]
    return [*learning, *others[-1:]] or ["pls"]


def _time_axis(frame: Frame, table: pd.DataFrame) -> None:
    y = table[["overhead", "overhead_high"]].to_numpy(dtype=np.float64).ravel()
    low, high = _limits(y)
    frame.axes[0].set(yscale="log", ylim=(low, high))
    ticks.number_ticks(frame.axes[0], "y", frame.height_in, 0.01, " %")
    if (table["overhead"] <= _NOTHING).any():
        _aside(frame.axes, "y", low)


def _limits(values: Floats) -> tuple[float, float]:
    """Of a log axis, with room for a strip aside where something is 0."""
    low, high = curves.log_limits(np.where(values > _NOTHING, values, 0.0), 10, _ROOM)
    if (values <= _NOTHING).any():
        low *= (low / high) ** (_ASIDE / (1 - _ASIDE))
    return low, high


def _aside(some: list[Axes], which: ticks.Which, low: float) -> None:
    """A tick for those that are 0, in the middle of their strip."""
    axis = some[0].yaxis if which == "y" else some[0].xaxis
    end = axis.get_view_interval()[1]
    middle, edge = (low * (end / low) ** (_ASIDE * share) for share in (0.5, 1.0))
    there = [
        (at, text.get_text())
        for at, text in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        if at > edge * (end / low) ** _ASIDE
    ]
    axis.set_ticks([middle, *(at for at, _ in there)], ["0", *(text for _, text in there)])
    for axes in some:
        draw = axes.axhspan if which == "y" else axes.axvspan
        draw(low, edge, color=style.TRAINING_COLOUR, linewidth=0, zorder=0)


def _shown(values: Floats, limits: tuple[float, float]) -> Floats:
    """Where values stand: those that are 0 in the middle of the strip."""
    low, high = limits
    return np.where(values > _NOTHING, values, low * (high / low) ** (_ASIDE / 2))


def _draw(axes: Axes, frame: Frame, table: pd.DataFrame, measure: str, bound: float) -> None:
    ends = [f"{measure}_low", measure, f"{measure}_high"]
    x = table[ends].to_numpy(dtype=np.float64)
    if measure == "cost":
        ValueAxis.around(x).apply(axes, frame.width_in)
    else:
        low, high = _limits(np.append(x[:, 1:], bound or x.max()))
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        ticks.number_ticks(axes, "x", frame.width_in, 0.01, " %")
        if (table[measure] <= _NOTHING).any():
            _aside([axes], "x", low)
    at = _places(axes, table, measure)
    kept = np.flatnonzero((table["standing"] != "over").to_numpy(dtype=bool))
    best = kept[front(*table[[measure, "overhead"]].to_numpy(dtype=np.float64)[kept].T)]
    axes.plot(*at[best].T, color=style.INK, linewidth=1, drawstyle="steps-post", zorder=2)
    for i in range(len(table)):
        _point(axes, table.iloc[i], measure, at[i])
    chosen = np.flatnonzero((table["standing"] == "chosen").to_numpy(dtype=bool))
    named = dict.fromkeys([*chosen.tolist(), *best.tolist()])
    name_points(
        axes,
        (frame.width_in, frame.height_in),
        at,
        [(i, str(table.index[i])) for i in named],
    )


def _places(axes: Axes, table: pd.DataFrame, measure: str) -> Floats:
    x, y = (table[name].to_numpy(dtype=np.float64) for name in (measure, "overhead"))
    return np.stack([_shown(x, axes.get_xlim()), _shown(y, axes.get_ylim())], axis=1)


def _point(axes: Axes, row: "pd.Series[Any]", measure: str, at: Floats) -> None:
    look = curves.points(str(row["system"]), hollow=row["standing"] == "over")
    for name, mean, which in ((measure, at[0], 0), ("overhead", at[1], 1)):
        up, down = row[f"{name}_high"] - row[name], row[name] - row[f"{name}_low"]
        if row[name] > _NOTHING and up > 0:
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
        "hollow": ([curves.points("", hollow=True)], "over a bound", "over" in standings),
        "line": ([line], "no other is better in both", standings != {"over"}),
        "dashed": ([line | {"linestyle": (0, (3, 2))}], "the bound", bounded),
    }
    for name, (samples, facts, there) in more.items():
        entries += [Entry(samples, name, facts)] * there
    return entries
