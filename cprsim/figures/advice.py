"""Pictures of an answer of `advise`: candidates, their trade-offs, and other inputs."""

import math
from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import marks, style, texts, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, listed, number, percent

_BAR: Final = 0.42  # of a row
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
#: Panels: what is above them, and what x is.
_PANELS: Final = {
    "overhead": ("Time lost", "% of useful training time, by cause"),
    "pls": ("Samples lost", "PLS, %"),
    "updates_lost": ("Updates lost", "% for good"),
    "machine_overhead": ("Machine time", "% overhead"),
    "overhead_retrained": ("Retrained", "% overhead"),
    "cost": ("Cost", ""),
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

    Parameters
    ----------
    table
        A row a candidate, in order, as in `cprsim.advice.advice.Advice.table`; shares of the useful
        time, of what is learned, and costs in `currency`.
    least
        The measure that was to be least.
    bounds
        The most that a mean may be, by measure.
    """
    narrow = style.is_narrow()
    kept = chosen(table, _FEW_ROWS if narrow else _MOST_ROWS)
    shown = table[kept].sort_values(
        "standing", key=lambda each: each.map({"chosen": 0, "over": 2}).fillna(1), kind="stable"
    )
    more = [] if narrow else measures_of(shown, least)
    sheet = Sheet(1 + len(more), width_ratios=[2.2] + [1.0] * len(more))
    signs = [_MARKS[mark][0] if (mark := _mark(row)) else "" for _, row in shown.iterrows()]
    pairs = zip(map(str, shown.index), signs, strict=True)
    names = [f"{name} ({sign})" if sign else name for name, sign in pairs]
    over, rows = shown["standing"] == "over", range(len(shown))
    row_in = 0.38
    for measure, axes in zip(("overhead", *more), sheet.axes, strict=True):
        ends = shown[[measure, f"{measure}_low", f"{measure}_high"]].to_numpy(dtype=np.float64)
        most = max(ends.max(), bounds.get(measure, 0.0))
        if measure == "cost":
            axes.set_xlim(0, most)
            ticks.numbers(axes.xaxis)
        else:
            marks.reach(axes, most)
        if measure == "overhead":
            row_in = marks.name_rows(axes, names, [*shown["settings"]], row_in)
            causes = [cause for cause in CAUSE_LABELS if (shown[cause] > NOTHING).any()]
            pale = np.where(over, _PALE_OVER, 0.0).tolist()
            marks.stack(axes, shown, causes, _BAR, pale=pale)
            values = [_mean(*each) for each in ends]
        else:
            marks.name_rows(axes, [""] * len(shown))
            colours = [style.RULE if each else style.LEARNING_COLOUR for each in over]
            axes.barh(rows, shown[measure], _BAR, color=colours)
            text = number if measure == "cost" else percent
            values = [text(mean) if mean > NOTHING else "none" for mean in shown[measure]]
        marks.write(axes, rows, ends[:, 0], values, (ends[:, 1], ends[:, 2]), weight="bold")
        if measure in bounds:
            marks.limit(axes, bounds[measure])
        heading, words = _PANELS[measure]
        axes.set(title=heading, xlabel=words or currency)
    sheet.key("above")
    notes = _answer_notes(table, kept, least, any(each in bounds for each in ("overhead", *more)))
    return sheet.done(_answer_finding(table, least, currency), title, notes, row_in * len(shown))


def _answer_finding(table: pd.DataFrame, least: str, currency: str = "") -> str:
    """Say which candidate is chosen, what it takes, and which others may take no more."""
    standing = table["standing"]
    chosen_one = table[standing == "chosen"]
    if chosen_one.empty:
        return "No policy is within the limits"
    name = str(chosen_one.index[0])
    mean, lost = (float(chosen_one[each].iloc[0]) for each in (least, "updates_lost"))
    if least == "cost":
        takes = f"{number(mean)} {currency}".strip()
    else:
        takes = f"{percent(mean) if mean > NOTHING else '0 %'} {_OF[least][0]}"
    but = f", but loses {percent(lost)} of the updates" if lost > NOTHING else ""
    near = [str(each) for each in table.index[standing.isin(["open", "tied", "same"])]]
    if near:
        return f"{name} takes {takes}{but}; {listed(near)} may take no more"
    return f"{name} takes least: {takes}{but}"


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


def _mark(row: "pd.Series[str]") -> str:
    """Return the key of what is written with a name; empty for most."""
    standing = str(row["standing"])
    return standing if standing in _MARKS else "" if row["sure"] else "unsure"


def _mean(mean: float, low: float, high: float) -> str:
    """Return it with its interval, which reaches farther up where no rare loss was met."""
    if mean <= NOTHING:
        return "0 %"
    half = high - mean
    if half > mean - low + NOTHING:
        return f"{percent(mean)} + {100 * half:.2g}"
    return percent(mean, half if half > NOTHING else math.nan)


def _answer_notes(
    table: pd.DataFrame, kept: NDArray[np.bool_], least: str, bounded: bool
) -> list[str]:
    """Say how to read it, and which candidates are left out."""
    marks = {_mark(row) for _, row in table[kept].iterrows()} - {"over"}
    words = [
        f"{word}: {means.format(_OF[least][1])}"
        for mark, (word, means) in _MARKS.items()
        if mark in marks
    ]
    means = "Whiskers and ±: 95 % intervals of means"
    ends = table.loc[kept, ["overhead_low", "overhead", "overhead_high"]].to_numpy(dtype=np.float64)
    if (np.diff(ends, 2) > NOTHING).any():  # farther up than down
        means += "; +: upwards alone, for a rare loss that no replication met"
    said = ["; ".join(words), means + "; dashed: limits" * bounded]
    if not (table.loc[kept, ["pls", "updates_lost"]] > NOTHING).any(axis=None):
        said.append("No candidate loses any learning")
    if not kept.all():
        said.append(f"And {(~kept).sum()} more: {listed([*map(str, table.index[~kept])], 4)}")
    return said


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
        As of `answer`.
    """
    names = _measures(table, least, bounds)
    sheet = Sheet(len(names), sharey=True)
    for name, axes in zip(names, sheet.axes, strict=True):
        limit = bounds.get(name, 0.0)
        _scale(axes, "y", table[["overhead", "overhead_high"]])
        values = table[[name, f"{name}_high"]].to_numpy(dtype=np.float64)
        if name == "cost":
            room = 0.12 * (np.ptp(values) or values.max())
            axes.set_xlim(values.min() - room, values.max() + room)
            ticks.numbers(axes.xaxis)
        else:
            _scale(axes, "x", np.append(values, limit or values.max()))
        _draw(axes, table, name)
        axes.set_xlabel(_AXES.get(name) or f"cost, {currency}")
        if limit > NOTHING:
            marks.limit(axes, limit)
    for axes in sheet.first_column:
        axes.set_ylabel(marks.OVERHEAD)
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
    axes.set(**{f"{along}scale": "log", f"{along}lim": (low, high)})
    ticks.shares(axis)
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
    axes.grid()
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


_FACTORS: Final = {0.25: "× 1/4", 0.5: "× 1/2", 1: "as it is"}
_PALE_CELL: Final = 0.45  # white in the colour of a policy
_NO_ONE: Final = "#EDEDED"


@style.styled()
def robust(
    table: pd.DataFrame,
    choice: str,
    within: float,
    systems: Mapping[str, str],
    title: str = "",
    base: str = "the useful time",
    *,
    ax: Axes | None = None,
) -> Figure:
    """Draw what the choice loses where one input is another, and which policy is the best there.

    A row an input, a cell for each factor, with the colour of the best policy there. In the cell is
    the value of the input and what the choice loses, in points, unless that is nothing.

    Parameters
    ----------
    table
        As `cprsim.advice.robustness.Robustness.table` has it; losses are shares of `base`.
    choice
        The recommended policy.
    within
        What is no loss.
    systems
        Of each policy, which gives its colour; grey without.
    base
        What losses are shares of.
    """
    names = dict.fromkeys(name for name in (choice, *table["least"]) if name)
    colours = style.policy_colours({name: systems.get(name, "") for name in names})
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    levers, factors = list(dict.fromkeys(table["lever"])), sorted(set(table["factor"]))
    axes.set(xlim=(-0.5, len(factors) - 0.5), ylim=(len(levers) - 0.5, -0.5))
    above = [_FACTORS.get(factor, f"× {factor:g}") for factor in factors]
    axes.set_xticks(range(len(factors)), above)
    letters = 12 if sheet.narrow else 24
    axes.set_yticks(range(len(levers)), [texts.wrapped(name, letters) for name in levers])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    small: dict[str, Any] = {"ha": "center", "va": "center", "size": style.small_pt()}
    for name, colour in [*colours.items(), ("", _NO_ONE)]:
        best = table[table["least"] == name]
        face = style.paler(colour, _PALE_CELL)
        words = f"{choice}, the choice" if name == choice else name or "no policy"
        x, y = best["factor"].map(factors.index), best["lever"].map(levers.index)
        if len(best):
            label = f"{words}: best in {len(best)} of {len(table)}"
            axes.bar(x, 1, 1, y - 0.5, color=face, edgecolor="white", label=label)
        ink = style.ink_on(face)
        for at, below, (_, row) in zip(x, y, best.iterrows(), strict=True):
            value, loses = str(row["value"]).removeprefix("a save in "), _loses(row)
            axes.text(at, below - 0.2 * bool(loses), value, color=ink, **small)
            axes.text(at, below + 0.22, loses, color=ink, weight="bold", **small)
    sheet.key()
    notes = [
        f"In a cell: the input, and what {choice} loses there compared with the best policy, "
        f"in points of {base}; nothing where it is the best or within {100 * within:g} points"
    ]
    if not table["sure"].all():
        notes.append("?: not sure, as the 95 % interval leaves it open")
    return sheet.done(_holds(table, choice, within), title, notes, 0.34 * len(levers))


def points(loss: float) -> str:
    """Return a loss in percentage points, two digits; 0 for rounding."""
    value = 100 * loss
    if value < 100 * NOTHING:
        return "0 pt"
    return f"{value:.2g} pt" if value >= 0.01 else "<0.01 pt"


def _holds(table: pd.DataFrame, choice: str, within: float) -> str:
    """Say in how many jobs the choice is the best, or loses no more than doesn't matter."""
    holds = table["holds"].to_numpy(dtype=bool)
    where = "all" if holds.all() else f"{holds.sum()} of"
    may = "" if table["sure"][holds].all() else ", not surely in all of these"
    near = f"is the best, or within {100 * within:g} points"
    return f"{choice} {near}, in {where} {len(holds)} jobs{may}"


def _loses(row: "pd.Series[Any]") -> str:
    """Return what is lost, in points, or why that isn't known; with a ? where it isn't sure."""
    if math.isnan(row["loses"]):
        said = "not playable"
    elif not row["keeps"]:
        said = "over a limit"
    elif row["holds"] and row["sure"]:
        return ""
    else:
        said = points(row["loses"])
    return said if row["sure"] else f"{said}?"
