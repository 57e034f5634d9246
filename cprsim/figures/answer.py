"""Candidates of `advise`: their overhead by cause, and against learning lost, machines and cost."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from cprsim.figures import marks, style, ticks
from cprsim.figures.bars import causes_in
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, listed, number, percent

Floats = NDArray[np.float64]

#: What the measures are shares of, and what is said to be least of the chosen one.
_OF: Final = {
    "overhead": ("of the time", "the least time"),
    "overhead_retrained": (
        "of the time, retrained",
        "the least time with lost updates trained again",
    ),
    "machine_overhead": ("of the machine time", "the least machine time"),
    "cost": ("", "the least cost"),
}
#: Panels: what is above bars, what x is there, and what it is among points.
_PANELS: Final = {
    "overhead": ("Time lost", "% of useful training time, by cause", ""),
    "pls": ("Samples lost", "PLS, %", "portion of lost samples (PLS)"),
    "updates_lost": ("Updates lost", "% for good", "updates lost for good"),
    "machine_overhead": ("Machine time", "% overhead", "overhead of machine time"),
    "overhead_retrained": ("Retrained", "% overhead", "overhead, lost updates trained again"),
    "cost": ("Cost", "", ""),
}
#: What is written with a name, by its standing, and what that means.
_MARKS: Final = {
    "chosen": ("best", "{} within the limits"),
    "same": ("same", "differs from the best in no replication"),
    "tied": ("tied", "not surely worse"),
    "open": ("undecided", "more replications may decide"),
    "unsure": ("limit?", "may be over a limit"),
    "over": ("over a limit", ""),
}
_MOST_ROWS: Final = 16
_FEW_ROWS: Final = 8  # of a narrow figure
_PALE_OVER: Final = 0.65  # white in the bars of those over a limit
_NEAR: Final = (0.3, 0.07)  # of the axes: a name that is so near to another is in the key alone
_WITHIN_NO_LIMIT: Final = "No policy is within the limits"


@style.styled()
def answer(
    table: pd.DataFrame,
    least: str,
    bounds: Mapping[str, float],
    currency: str = "",
    title: str = "",
) -> Figure:
    """Draw overhead by cause of each candidate, and what else it loses and takes.

    16 rows at most: the chosen one, those tied with it, the best of each origin, then those that
    were given. Its axes are overhead, then learning lost, machine time and cost as far as there is
    something of them, over candidates 0, 1, ... downwards. A narrow figure has 8 rows at most, and
    the overhead alone.

    `table`: a row a candidate, in order, as in `cprsim.advice.advice.Advice.table`; shares of the
    useful time, of what is learned, and costs in `currency`. `least`: the measure that was to be
    least. `bounds`: the most that a mean may be, by measure.
    """
    narrow = style.is_narrow()
    kept = chosen(table, _FEW_ROWS if narrow else _MOST_ROWS)
    order = table["standing"].map({"chosen": 0, "over": 2}).fillna(1)
    shown = table[kept].iloc[np.argsort(order[kept], kind="stable")]
    more = [] if narrow else measures_of(shown, least)
    sheet = Sheet(1 + len(more), width_ratios=[2.2] + [1.0] * len(more))
    marked = zip(map(str, shown.index), _marks(shown), strict=True)
    names = [f"{name} ({_MARKS[mark][0]})" if mark else name for name, mark in marked]
    over, rows = shown["standing"] == "over", range(len(shown))
    row_in = marks.name_rows(sheet.axes[0], names, [*shown["settings"]], 0.38)
    for measure, axes in zip(("overhead", *more), sheet.axes, strict=True):
        ends = shown[[measure, f"{measure}_low", f"{measure}_high"]].to_numpy(dtype=np.float64)
        most = max(float(ends.max()), bounds.get(measure, 0.0))
        if measure == "cost":
            ticks.scale(axes.xaxis, (0, most))
        else:
            marks.reach(axes, most)
        if measure == "overhead":
            pale = np.where(over, _PALE_OVER, 0.0).tolist()
            marks.stack(axes, shown, causes_in(shown), 0.42, pale=pale)
            values = [_mean(*each) for each in ends]
        else:
            marks.name_rows(axes, [""] * len(shown))
            colours = [style.RULE if each else style.LEARNING_COLOUR for each in over]
            axes.barh(rows, shown[measure], 0.42, color=colours)
            text = number if measure == "cost" else percent
            values = [text(mean) if mean > NOTHING else "none" for mean in shown[measure]]
        marks.write(axes, rows, shown[measure], values, marks.errors(shown, measure))
        if measure in bounds:
            axes.axvline(bounds[measure], **marks.LIMIT)
        heading, words, _ = _PANELS[measure]
        axes.set(title=heading, xlabel=words or currency)
    notes = _notes(table, kept, least, any(each in bounds for each in ("overhead", *more)))
    finding = _finding(table, least, currency)
    return sheet.done(finding, title, notes, row_in * len(shown), "above")


def _finding(table: pd.DataFrame, least: str, currency: str) -> str:
    """Say which candidate is chosen, what it takes, and which others may take no more."""
    standing = table["standing"]
    best = table[standing == "chosen"]
    if best.empty:
        return _WITHIN_NO_LIMIT
    name, mean, lost = best.index[0], best[least].iloc[0], best["updates_lost"].iloc[0]
    if least == "cost":
        takes = f"{number(mean)} {currency}".strip()
    else:
        takes = f"{percent(mean) if mean > NOTHING else '0 %'} {_OF[least][0]}"
    takes += f", but loses {percent(lost)} of the updates" if lost > NOTHING else ""
    near = [str(each) for each in table.index[standing.isin(["open", "tied", "same"])]]
    if near:
        return f"{name} takes {takes}; {listed(near)} may take no more"
    return f"{name} takes least: {takes}"


def chosen(table: pd.DataFrame, most: int = _MOST_ROWS) -> NDArray[np.bool_]:
    """Return which candidates are shown where there are more than that.

    The chosen one and the next, those tied with it, the best of each origin, then those that were
    given, and the least of the others.
    """
    standing, place = table["standing"], pd.Series(range(len(table)), table.index)
    ranks = np.select(
        [
            (standing == "chosen") | (place < 2),
            standing.isin(["same", "tied", "open"]),
            ~table["origin"].duplicated(),
            table["given"],
        ],
        [0, 1, 2, 3],
        4,
    )
    return np.isin(place, np.argsort(ranks, kind="stable")[:most])


def measures_of(table: pd.DataFrame, least: str) -> list[str]:
    """Return the measures to show, overhead left out; `least`: the measure that was to be least."""
    found = [name for name in ("pls", "updates_lost") if (table[name] > NOTHING).any()]
    machine = table["machine_overhead"].to_numpy(dtype=np.float64)
    if not np.allclose(machine, table["overhead"], rtol=1e-6, atol=NOTHING):
        found.append("machine_overhead")
    if least == "overhead_retrained":
        found.append(least)
    if "cost" in table and table["cost"].notna().any():
        found.append("cost")
    return found


def _marks(table: pd.DataFrame) -> list[str]:
    """Return the key of what is written with each name; empty for most."""
    pairs = zip(table["standing"], table["sure"], strict=True)
    return [each if each in _MARKS else "" if sure else "unsure" for each, sure in pairs]


def _mean(mean: float, low: float, high: float) -> str:
    """Return it with its interval, which reaches farther up where no rare loss was met."""
    if mean <= NOTHING:
        return "0 %"
    half = high - mean
    if half > mean - low + NOTHING:
        return f"{percent(mean)} + {100 * half:.2g}"
    return percent(mean, half if half > NOTHING else math.nan)


def _notes(table: pd.DataFrame, kept: NDArray[np.bool_], least: str, bounded: bool) -> list[str]:
    """Say how to read it, and which candidates are left out."""
    there, shown = {*_marks(table[kept])} - {"over"}, table[kept]
    words = [f"{_MARKS[mark][0]}: {_MARKS[mark][1]}" for mark in _MARKS if mark in there]
    means = "Whiskers and ±: 95 % intervals of means"
    ends = shown[["overhead_low", "overhead", "overhead_high"]].to_numpy(dtype=np.float64)
    if (np.diff(ends, 2) > NOTHING).any():  # farther up than down
        means += "; +: upwards alone, for a rare loss that no replication met"
    said = ["; ".join(words).format(_OF[least][1]), means + "; dashed: limits" * bounded]
    if not (shown[["pls", "updates_lost"]] > NOTHING).any(axis=None):
        said.append("No candidate loses any learning")
    if not kept.all():
        said.append(f"And {(~kept).sum()} more: {listed([*map(str, table.index[~kept])], 4)}")
    return said


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

    `table`, `least`, `bounds`, `currency`, `title`: as of `answer`.
    """
    names = _measures(table, least, bounds)
    sheet = Sheet(len(names), sharey=True, y=marks.OVERHEAD)
    for name, axes in zip(names, sheet.axes, strict=True):
        limit = bounds.get(name, 0.0)
        _log_with_zero(axes.yaxis, table[["overhead", "overhead_high"]])
        values = table[[name, f"{name}_high"]].to_numpy(dtype=np.float64)
        if name == "cost":
            room = 0.12 * (np.ptp(values) or values.max())
            ticks.scale(axes.xaxis, (values.min() - room, values.max() + room))
        else:
            _log_with_zero(axes.xaxis, np.append(values, limit or values.max()))
        _points(axes, table, name)
        axes.set_xlabel(_PANELS[name][2] or f"cost, {currency}")
        if limit > NOTHING:
            axes.axvline(limit, **marks.LIMIT)
    notes = ["Line: no other is better in both. Ring: the chosen one"]
    notes += ["Hollow: over a limit"] * bool((table["standing"] == "over").any())
    notes += ["Dashed: the limit"] * any(bounds.get(name, 0) > NOTHING for name in names)
    kept = table[table["standing"] != "over"]
    best = [*map(str, kept.index[front(kept[names[0]], kept["overhead"])])]
    finding = f"Less of one only for more of the other: {listed(best, 4)}"
    if len(best) < 2:
        finding = f"No policy takes less of both than {best[0]}" if best else _WITHIN_NO_LIMIT
    return sheet.done(finding, title, notes, 2.8)


def front(x: Any, y: Any) -> NDArray[np.intp]:
    """Return numbers of the points that no other beats: less in one and not more in the other.

    They are in the order of x. Of points that are alike, the first.
    """
    order, y = np.lexsort((y, x)), np.asarray(y)
    least = np.minimum.accumulate(np.append(np.inf, y[order]))[:-1]
    best: NDArray[np.intp] = order[y[order] < least]
    return best


def _measures(table: pd.DataFrame, least: str, bounds: Mapping[str, float]) -> list[str]:
    """Return the measures that the panels have as x."""
    found = measures_of(table, least)
    lost = [name for name in ("pls", "updates_lost") if name in found]
    learning = [name for name in lost if name in bounds] or lost[:1]
    if ((table["pls"] > NOTHING) != (table["updates_lost"] > NOTHING)).any():
        learning = lost
    others = [name for name in found if name not in lost]
    return [*learning, *others[-1:]] or ["pls"]


def _log_with_zero(axis: Axis, values: Any) -> None:
    """Make an axis of shares log, with a strip aside for those that are 0."""
    values = np.asarray(values, dtype=np.float64)
    low, high = ticks.log_limits(np.where(values > NOTHING, values, 0.0), 10, 1.6)
    ticks.scale(axis, (low, high), "", ticks.shares, log=10)
    if (values <= NOTHING).any():
        axes: Any = axis.axes
        at, names = axis.get_majorticklocs(), [each.get_text() for each in axis.get_ticklabels()]
        linear = {"linthresh": low, "linscale": 0.045 * np.log10(high / low)}
        (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("symlog", **linear)
        (axes.set_xlim if axis is axes.xaxis else axes.set_ylim)(-low, high)
        axis.set_ticks([0.0, *at], ["0 %", *names])
        axis.set_minor_locator(NullLocator())
        strip = axes.axvspan if axis is axes.xaxis else axes.axhspan
        strip(-low, low, color=style.TRAINING_COLOUR, linewidth=0, zorder=0)


def _points(axes: Axes, table: pd.DataFrame, measure: str) -> None:
    """Draw a panel, and name the chosen one and those that no other beats."""
    at = table[[measure, "overhead"]].to_numpy(dtype=np.float64)
    kept = np.flatnonzero(table["standing"] != "over")
    best = kept[front(*at[kept].T)]
    axes.plot(*at[best].T, color=style.INK, linewidth=1, drawstyle="steps-post", zorder=2)
    for (standing, system), rows in table.groupby(["standing", "system"], sort=False):
        look = marks.points(str(system), hollow=standing == "over") | {"label": str(system)}
        marks.with_whiskers(axes, rows, measure, "overhead", look)
    chosen_one = np.flatnonzero(table["standing"] == "chosen")
    ring: style.Look = {"markersize": 9, "markerfacecolor": "none", "clip_on": False, "zorder": 5}
    axes.plot(*at[chosen_one].T, "o", color=style.INK, **ring)
    place, taken = axes.transScale + axes.transLimits, list[Floats]()
    for point in dict.fromkeys([*chosen_one, *best]):
        there = place.transform(at[point])
        if not any((np.abs(there - each) < _NEAR).all() for each in taken):
            taken.append(there)
            # A name right of a point in the left part ends within the axes.
            shift, side = (6, "left") if there[0] < 0.6 else (-6, "right")
            look = {"xytext": (shift, 5), "textcoords": "offset points", "ha": side}
            axes.annotate(str(table.index[point]), at[point], size="small", **look)
