"""Candidates of `advise` as points: overhead against learning lost, machine time and cost."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from cprsim.figures import marks, style, ticks
from cprsim.figures.answer import measures_of
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, listed

Floats = NDArray[np.float64]

#: What x may be.
_AXES: Final = {
    "pls": "portion of lost samples (PLS)",
    "updates_lost": "updates lost for good",
    "machine_overhead": "overhead of machine time",
    "overhead_retrained": "overhead, lost updates trained again",
}
_NEAR: Final = (0.3, 0.07)  # of the axes: a name that is so near to another is in the key alone


@style.styled()
def pareto(
    table: pd.DataFrame,
    least: str,
    bounds: Mapping[str, float],
    currency: str = "",
    title: str = "",
) -> Figure:
    """Draw overhead against learning lost, and machine time or cost: a point a candidate.

    Its axes have overhead over learning lost (PLS, unless updates are bounded; both where some
    candidate loses only one of them), and over cost, or machine time where it isn't the same, log;
    what is 0 is in a strip aside. Points with both 95 % intervals, hollow for those over a limit; a
    line joins those of the others that no other beats in both, which are named. A key names the
    systems.

    Parameters
    ----------
    table, least, bounds, currency, title
        As of `cprsim.figures.answer.answer`.
    """
    names = _measures(table, least, bounds)
    sheet = Sheet(len(names), sharey=True, y=marks.OVERHEAD)
    for name, axes in zip(names, sheet.axes, strict=True):
        limit = bounds.get(name, 0.0)
        _scale(axes, "y", table[["overhead", "overhead_high"]])
        values = table[[name, f"{name}_high"]].to_numpy(dtype=np.float64)
        if name == "cost":
            room = 0.12 * (np.ptp(values) or values.max())
            ticks.scale(axes.xaxis, (values.min() - room, values.max() + room))
        else:
            _scale(axes, "x", np.append(values, limit or values.max()))
        _draw(axes, table, name)
        axes.set_xlabel(_AXES.get(name) or f"cost, {currency}")
        if limit > NOTHING:
            marks.limit(axes, limit)
    sheet.key()
    notes = ["Line: no other is better in both. Ring: the chosen one"]
    notes += ["Hollow: over a limit"] * bool((table["standing"] == "over").any())
    notes += ["Dashed: the limit"] * any(bounds.get(name, 0) > NOTHING for name in names)
    return sheet.done(_front_finding(table, names[0]), title, notes, 2.8)


def front(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Return numbers of the points that no other beats: less in one and not more in the other.

    They are in the order of x. Of points that are alike, the first.
    """
    order = np.lexsort((y, x))
    least = np.minimum.accumulate(np.append(np.inf, y[order]))[:-1]
    return order[y[order] < least]


def _front_finding(table: pd.DataFrame, measure: str) -> str:
    """Name the candidates that none beats in time and in x of the first panel, by their means."""
    kept = table[table["standing"] != "over"]
    if kept.empty:
        return "No policy is within the limits"
    best = kept.index[front(*kept[[measure, "overhead"]].to_numpy(dtype=np.float64).T)]
    beats = listed([str(name) for name in best], 4)
    if len(best) == 1:
        return f"No policy takes less of both than {beats}"
    return f"Less of one only for more of the other: {beats}"


def _measures(table: pd.DataFrame, least: str, bounds: Mapping[str, float]) -> list[str]:
    """Return the measures that the panels have as x."""
    found = measures_of(table, least)
    lost = [name for name in ("pls", "updates_lost") if name in found]
    learning = [name for name in lost if name in bounds] or lost[:1]
    if ((table["pls"] > NOTHING) != (table["updates_lost"] > NOTHING)).any():
        learning = lost
    others = [name for name in found if name not in lost]
    return [*learning, *others[-1:]] or ["pls"]


def _scale(axes: Axes, along: Literal["x", "y"], values: Any) -> None:
    """Make an axis of shares log, with a strip aside for those that are 0."""
    values = np.asarray(values, dtype=np.float64)
    low, high = ticks.log_limits(np.where(values > NOTHING, values, 0.0), 10, 1.6)
    axis = axes.xaxis if along == "x" else axes.yaxis
    ticks.scale(axis, (low, high), "", ticks.shares, log=10)
    if (values <= NOTHING).any():
        at, names = axis.get_majorticklocs(), [each.get_text() for each in axis.get_ticklabels()]
        linear = {"linthresh": low, "linscale": 0.045 * np.log10(high / low)}
        getattr(axes, f"set_{along}scale")("symlog", **linear)
        axes.set(**{f"{along}lim": (-low, high)})
        axis.set_ticks([0.0, *at], ["0 %", *names])
        axis.set_minor_locator(NullLocator())
        strip: dict[str, Any] = {"color": style.TRAINING_COLOUR, "linewidth": 0, "zorder": 0}
        (axes.axvspan if along == "x" else axes.axhspan)(-low, low, **strip)


def _draw(axes: Axes, table: pd.DataFrame, measure: str) -> None:
    """Draw a panel, and name the chosen one and those that no other beats."""
    at = table[[measure, "overhead"]].to_numpy(dtype=np.float64)
    kept = np.flatnonzero(table["standing"] != "over")
    best = kept[front(*at[kept].T)]
    axes.plot(*at[best].T, color=style.INK, linewidth=1, drawstyle="steps-post", zorder=2)
    for (standing, system), rows in table.groupby(["standing", "system"], sort=False):
        look = marks.points(str(system), hollow=standing == "over")
        marks.with_whiskers(axes, rows, measure, "overhead", look | {"label": str(system)})
    place, taken = axes.transScale + axes.transLimits, list[Floats]()
    chosen = np.flatnonzero(table["standing"] == "chosen")
    ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
    axes.plot(*at[chosen].T, color=style.INK, linestyle="none", clip_on=False, zorder=5, **ring)
    for point in dict.fromkeys([*chosen, *best]):
        there = place.transform(at[point])
        if not any((np.abs(there - each) < _NEAR).all() for each in taken):
            taken.append(there)
            right = there[0] < 0.6  # of the axes: a name that begins there ends within them
            axes.annotate(
                str(table.index[point]),
                at[point],
                xytext=(6 if right else -6, 5),
                textcoords="offset points",
                ha="left" if right else "right",
                size=style.small_pt(),
            )
