"""What each candidate of an answer costs: time by cause, learning, machines and money."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import bars, curves, style, ticks
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
#: How the points of the first and second measure of a column look.
_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"marker": "o", "markersize": 4.2},
    {"marker": "D", "markersize": 3.8, "markerfacecolor": "white"},
)
_SYMBOLS: Final = ("●", "◇")
_LOST: Final = {"pls": "PLS", "updates_lost": "updates"}
_SPREAD: Final = 8.0  # times the least from which on a linear axis would show the least as nothing
_APART: Final = 0.3  # in rows, the points of two measures
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

    Returns
    -------
    matplotlib.figure.Figure
        16 rows at most: the chosen one, those tied with it, the best of each origin, then those
        that were given. Its axes are overhead, then learning lost, machine time and cost as far as
        there is something of them, over candidates 0, 1, ... downwards. A narrow figure has 8 rows
        at most, the overhead alone, and the updates lost in words.
    """
    with style.styled():
        narrow = style.is_narrow()
        kept = chosen(table, _FEW_ROWS if narrow else _MOST_ROWS)
        shown = table[kept].sort_values(
            "standing", key=lambda each: each.map({"chosen": 0, "over": 2}).fillna(1), kind="stable"
        )
        more = [] if narrow else columns_of(shown, currency, least)
        sheet = Sheet(1 + len(more), width_ratios=[2.2] + [1.0] * len(more))
        causes = [cause for cause in CAUSE_LABELS if (shown[cause] > NOTHING).any()]
        time, *others = sheet.axes
        row_in = bars.name_rows(time, *_words(shown, narrow), _LEAST_IN)
        _times(time, shown, causes, bounds.get("overhead"))
        for column, axes in zip(more, others, strict=True):
            bars.name_rows(axes, [""] * len(shown))
            column.draw(axes, shown, [bounds[m] for m in column.measures if m in bounds])
        sheet.causes(causes)
        notes = _notes(table, kept, least, bounds, more)
        return sheet.done(finding(table, least, currency), title, notes, row_in * len(shown))


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


@dataclass(frozen=True)
class Column:
    """A further panel: its title, how that is measured, and the columns of the table it shows.

    `currency`: of a cost; empty for shares.
    """

    title: str
    measure: str
    measures: tuple[str, ...]
    currency: str = ""

    def draw(self, axes: Axes, table: pd.DataFrame, limits: Sequence[float]) -> None:
        """Draw points with their intervals and values, a row a candidate, and dashed limits."""
        self._scale(axes, table, limits)
        least = axes.get_xlim()[0]
        for at, (_, row) in enumerate(table.iterrows()):
            ink = style.LEARNING_COLOUR if row["standing"] == "over" else style.INK
            for i, (name, look) in enumerate(zip(self.measures, _LOOKS, strict=False)):
                y = at + _APART * (i - (len(self.measures) - 1) / 2)
                low, mean, high = (float(row[f"{name}{end}"]) for end in ("_low", "", "_high"))
                if mean > NOTHING:
                    axes.plot([max(low, least), high], [y, y], color=ink, linewidth=0.8)
                    axes.plot([mean], [y], color=ink, zorder=6, linestyle="none", **look)
                    text = number(mean) if self.currency else percent(mean)
                    bars.beyond(axes, (high, y), text, 5, color=ink)
            if (row[[*self.measures]] <= NOTHING).all():
                bars.beyond(axes, (least, at), "none", color=ink)
        for limit in limits:
            bars.dashed(axes, max(limit, least))
        axes.set(title=self.title, xlabel=self.measure)

    def _scale(self, axes: Axes, table: pd.DataFrame, limits: Sequence[float]) -> None:
        names = [f"{name}{end}" for name in self.measures for end in ("_low", "", "_high")]
        values = np.append(table[names].to_numpy(dtype=np.float64).ravel(), [*limits])
        there = values[np.isfinite(values) & (values > NOTHING)]
        if self.currency:
            costs_axis(axes, there)
        elif len(there) and there.max() > _SPREAD * there.min():
            axes.set_xscale("log")
            axes.set_xlim(*curves.log_limits(there, 2))
            ticks.shares(axes.xaxis)
        else:
            bars.reach(axes, float(max(there, default=0)))


def costs_axis(axes: Axes, costs: NDArray[np.float64]) -> None:
    """Put costs on x, from the least to the most: none is near 0."""
    room = 0.12 * (costs.max() - costs.min() or costs.max())
    axes.set_xlim(costs.min() - room, costs.max() + room)
    ticks.numbers(axes.xaxis)


def columns_of(table: pd.DataFrame, currency: str, least: str) -> list[Column]:
    """Return those that have something to show; `least`: the measure that was to be least."""
    columns = []
    lost = tuple(name for name in _LOST if (table[name] > NOTHING).any())
    if lost:
        words = (f"{symbol} {_LOST[name]}" for name, symbol in zip(lost, _SYMBOLS, strict=False))
        columns.append(Column("Learning lost", f"% of {', '.join(words)}", lost))
    machine = table["machine_overhead"].to_numpy(dtype=np.float64)
    if not np.allclose(machine, table["overhead"], rtol=1e-6, atol=NOTHING):
        columns.append(Column("Machine time", "% overhead", ("machine_overhead",)))
    if least == "overhead_retrained":
        columns.append(Column("Retrained", "% overhead", (least,)))
    if "cost" in table and table["cost"].notna().any():
        columns.append(Column("Cost", currency, ("cost",), currency))
    return columns


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
        over = "over a limit, " if narrow and mark == "over" else ""
        names.append(f"{name} ({_MARKS[mark][0]})" if mark and not over else str(name))
        loses = f"{over}loses {percent(lost) if lost > NOTHING else 'none'}"
        facts.append(loses if narrow else str(row["settings"]))
    return names, facts


def _times(axes: Axes, shown: pd.DataFrame, causes: list[str], limit: float | None) -> None:
    """Draw a bar a candidate, by cause, its interval and its mean."""
    over = shown["standing"] == "over"
    pale = np.where(over, _PALE, 0.0).tolist()
    bars.stack(axes, shown, causes, range(len(shown)), _BAR, pale=pale)
    low, mean, high = (
        shown[f"overhead{end}"].to_numpy(dtype=np.float64) for end in ("_low", "", "_high")
    )
    bars.reach(axes, float(max(high.max(), limit or 0)))
    bars.whiskers(axes, low, high)
    for row, values in enumerate(zip(mean, low, high, strict=True)):
        ink = style.FAINT_INK if over.iloc[row] else style.INK
        text = _mean(*values) if mean[row] > NOTHING else "0 %"
        bars.beyond(axes, (float(high[row]), row), text, weight="bold", color=ink)
    if limit is not None:
        bars.dashed(axes, limit)
    axes.set(title="Time lost", xlabel="% of useful training time, by cause")


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
    ends = table.loc[kept, ["overhead_low", "overhead", "overhead_high"]].to_numpy(dtype=np.float64)
    if (np.diff(ends, 2) > NOTHING).any():  # farther up than down
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
