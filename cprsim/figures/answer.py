"""The candidates of an answer: their overhead by cause, with their losses and resources."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.figures import marks, style, ticks
from cprsim.figures.bars import causes_in
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, listed, number, percent

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
    signs = [_MARKS[mark][0] if mark else "" for mark in _marks(shown)]
    pairs = zip(map(str, shown.index), signs, strict=True)
    names = [f"{name} ({sign})" if sign else name for name, sign in pairs]
    over, rows = shown["standing"] == "over", range(len(shown))
    row_in = 0.38
    for measure, axes in zip(("overhead", *more), sheet.axes, strict=True):
        ends = shown[[measure, f"{measure}_low", f"{measure}_high"]].to_numpy(dtype=np.float64)
        most = max(ends.max(), bounds.get(measure, 0.0))
        if measure == "cost":
            ticks.scale(axes.xaxis, (0, most))
        else:
            marks.reach(axes, most)
        if measure == "overhead":
            row_in = marks.name_rows(axes, names, [*shown["settings"]], row_in)
            pale = np.where(over, _PALE_OVER, 0.0).tolist()
            marks.stack(axes, shown, causes_in(shown), 0.42, pale=pale)
            values = [_mean(*each) for each in ends]
        else:
            marks.name_rows(axes, [""] * len(shown))
            colours = [style.RULE if each else style.LEARNING_COLOUR for each in over]
            axes.barh(rows, shown[measure], 0.42, color=colours)
            text = number if measure == "cost" else percent
            values = [text(mean) if mean > NOTHING else "none" for mean in shown[measure]]
        marks.write(axes, rows, ends[:, 0], values, (ends[:, 1], ends[:, 2]))
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


def _answer_notes(
    table: pd.DataFrame, kept: NDArray[np.bool_], least: str, bounded: bool
) -> Sequence[str]:
    """Say how to read it, and which candidates are left out."""
    there = {*_marks(table[kept])} - {"over"}
    words = [
        f"{word}: {means.format(_OF[least][1])}"
        for mark, (word, means) in _MARKS.items()
        if mark in there
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
