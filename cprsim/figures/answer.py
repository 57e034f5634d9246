"""What each candidate of an answer costs: time by cause, learning, machines and money."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import bars, measures, style
from cprsim.figures.parts.measures import Column, columns_of
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import NOTHING, listed, number, percent

_BAR: Final = 0.42  # of a row
_LEAST_IN: Final = 0.38  # height of a row
#: What the measures are shares of.
_OF: Final = {
    "overhead": "of the time",
    "overhead_retrained": "of the time, retrained",
    "machine_overhead": "of the machine time",
}
#: What is least of the chosen one.
_LEAST: Final = {
    "overhead": "the least time",
    "machine_overhead": "the least machine time",
    "cost": "the least cost",
    "overhead_retrained": "the least time with lost updates trained again",
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
_PALE: Final = 0.65  # white in the bars of those over a limit


def answer(
    table: pd.DataFrame,
    least: str,
    bounds: Mapping[str, float],
    currency: str = "",
    title: str = "",
) -> Figure:
    """Draw overhead by cause of each candidate, and what else it loses and takes.

    Parameters
    ----------
    table
        A row a candidate, in order, as in `cprsim.advice.advice.Advice.table`; shares of the useful
        time, of what is learned, and costs in `currency`.
    least
        The measure that was to be least.
    bounds
        The most that a mean may be, by measure.
    title
        Of what: the first note below.

    Returns
    -------
    matplotlib.figure.Figure
        16 rows at most: the chosen one, those tied with it, the best of each origin, then those
        that were given. Its axes are overhead, then learning lost, machine time and cost as far as
        there is something of them, over candidates 0, 1, ... downwards. A narrow figure has 8 rows
        at most, the overhead alone, and the updates lost in words.
    """
    with style.styled():
        kept = chosen(table, _FEW_ROWS if style.is_narrow() else _MOST_ROWS)
        shown = table[kept]
        standing = shown["standing"]
        order = np.select([standing == "chosen", standing == "over"], [0, 2], 1)
        shown = shown.iloc[np.argsort(order, kind="stable")]
        more = columns_of(shown, currency, least)
        if style.is_narrow():
            more = []
        sheet = Sheet(1 + len(more), width_ratios=[2.2] + [1.0] * len(more))
        causes = [cause for cause in CAUSE_LABELS if (shown[cause] > NOTHING).any()]
        time, *others = sheet.axes
        names, facts = _words(shown, sheet.narrow)
        row_in = bars.name_rows(time, names, facts, narrow=sheet.narrow, least_in=_LEAST_IN)
        _times(time, shown, causes, bounds.get("overhead"))
        for column, axes in zip(more, others, strict=True):
            bars.name_rows(axes, [""] * len(names))
            column.draw(axes, shown, [bounds[m] for m in column.measures if m in bounds])
        sheet.causes(causes)
        notes = _notes(table, kept, least, bounds, more)
        return sheet.done(finding(table, least, currency), title, notes, row_in * len(names))


def finding(table: pd.DataFrame, least: str, currency: str = "") -> str:
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
        takes = f"{percent(mean) if mean > NOTHING else '0 %'} {_OF[least]}"
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
    ranks = np.full(len(table), 4)
    ranks[table["given"].to_numpy(dtype=bool)] = 3
    ranks[~table["origin"].duplicated().to_numpy(dtype=bool)] = 2
    ranks[table["standing"].isin(["same", "tied", "open"]).to_numpy(dtype=bool)] = 1
    ranks[:2] = 0
    ranks[(table["standing"] == "chosen").to_numpy(dtype=bool)] = 0
    kept = np.zeros(len(table), dtype=bool)
    kept[np.argsort(ranks, kind="stable")[:most]] = True
    return kept


def _mark(row: "pd.Series[Any]") -> str:
    """Return the key of what is written with a name; empty for most."""
    standing = str(row["standing"])
    return standing if standing in _MARKS else "" if row["sure"] else "unsure"


def _words(shown: pd.DataFrame, narrow: bool) -> tuple[list[str], list[str]]:
    """Return the name of each candidate with its mark, and its settings.

    In a narrow figure, which has no panel for them, the updates lost are in the place of settings.
    """
    names, facts = [], []
    for name, row in shown.iterrows():
        mark, lost = _mark(row), float(row["updates_lost"])
        marked = f" ({_MARKS[mark][0]})" if mark else ""
        loses = f"loses {percent(lost) if lost > NOTHING else 'none'}"
        over = narrow and mark == "over"
        names.append(f"{name}{'' if over else marked}")
        facts.append(f"{'over a limit, ' * over}{loses}" if narrow else str(row["settings"]))
    return names, facts


def _times(axes: Axes, shown: pd.DataFrame, causes: list[str], limit: float | None) -> None:
    """Draw a bar a candidate, by cause, its interval and its mean."""
    rows = range(len(shown))
    over = (shown["standing"] == "over").to_numpy(dtype=bool)
    bars.stack(axes, shown, causes, rows, _BAR, pale=np.where(over, _PALE, 0.0).tolist())
    low, mean, high = (
        shown[f"overhead{end}"].to_numpy(dtype=np.float64) for end in ("_low", "", "_high")
    )
    bars.reach(axes, float(max(high.max(), limit or 0)))
    bars.whiskers(axes, rows, low, high)
    for row, values in enumerate(zip(mean, low, high, strict=True)):
        ink = style.FAINT_INK if over[row] else style.INK
        text = _mean(*values) if mean[row] > NOTHING else "0 %"
        bars.beyond(axes, (float(high[row]), row), text, weight="bold", color=ink)
    if limit is not None:
        measures.dashed(axes, limit)
    axes.set(title="Time lost", xlabel="% of useful training time, by cause")


def _is_lacking(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which intervals reach farther up than down."""
    up, down = (
        table[f"overhead{a}"] - table[f"overhead{b}"] for a, b in (("_high", ""), ("", "_low"))
    )
    return up > down + NOTHING


def _mean(mean: float, low: float, high: float) -> str:
    """Return it with its interval, which reaches farther up where no rare loss was met."""
    half = high - mean
    if half > mean - low + NOTHING:
        return f"{percent(mean)} + {100 * half:.2g}"
    return percent(mean, half if half > NOTHING else math.nan)


def _notes(
    table: pd.DataFrame,
    kept: NDArray[np.bool_],
    least: str,
    bounds: Mapping[str, float],
    more: list[Column],
) -> list[str]:
    """Say how to read it, and which candidates are left out."""
    marks = {_mark(row) for _, row in table[kept].iterrows()} - {"over"}
    words = [
        f"{word}: {means.format(_LEAST[least])}"
        for mark, (word, means) in _MARKS.items()
        if mark in marks
    ]
    said = ["; ".join(words)]
    shown = {measure for each in more for measure in each.measures} | {"overhead"}
    means = "Whiskers and ±: 95 % intervals of means"
    if _is_lacking(table[kept]).any():
        means += "; +: upwards alone, for a rare loss that no replication met"
    said.append(means + "; dashed: limits" * any(name in shown for name in bounds))
    if not (table.loc[kept, ["pls", "updates_lost"]] > NOTHING).any(axis=None):
        said.append("No candidate loses any learning")
    elif style.is_narrow():
        said.append("Loses: share of updates lost for good")
    left = table[~kept]
    over = left["standing"] == "over"
    for names, words_of in ((left.index[~over], "more"), (left.index[over], "more over a limit")):
        if len(names):
            said.append(f"And {len(names)} {words_of}: {listed([*map(str, names)], 4)}")
    return said
