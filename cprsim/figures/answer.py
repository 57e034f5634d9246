"""What each candidate of an answer costs: time by cause, learning, machines and money beside."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import key, layout, panels, style, ticks
from cprsim.figures.parts.beside import Column, columns_of
from cprsim.figures.parts.candidates import CandidateRow, marks, rows_of, write_names
from cprsim.figures.parts.heading import Heading, listed
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import CAUSE_COLOURS, SMALL_PT, WIDTH_IN
from cprsim.figures.parts.value_axis import ValueAxis

# All in inches.
_TIME: Final = 2.42  # left edge
_BETWEEN: Final = 0.17
_BAR: Final = 0.15
_BELOW: Final = 0.145  # from the middle of a bar to that of what is written
_HEADINGS: Final = 0.4
_FOOT: Final = 0.27  # tick labels
_LAST: Final = 0.05  # below the last row

#: What the measures are shares of.
_OF: Final = {
    "overhead": "of the time",
    "overhead_retrained": "of the time, retrained",
    "machine_overhead": "of the machine time",
}
_MOST_ROWS: Final = 16
_NOTHING: Final = 1e-9  # of the useful time
_PALE: Final = 0.65  # white in the bars of those over a bound


def answer(
    table: pd.DataFrame,
    least: str,
    bounds: Mapping[str, float],
    currency: str = "",
    title: str = "",
) -> Figure:
    """Overhead by cause of each candidate, and what it loses and takes beside.

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
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, 16 rows at most: the chosen one, those beside it, the best of each origin,
        then those that were given. Its axes are overhead, then learning lost, machine time and cost
        as far as there is something of them; y in inches from the top.
    """
    with style.styled():
        shown = table[chosen(table)]
        shown = shown.iloc[np.argsort(shown["standing"] != "chosen", kind="stable")]
        beside = columns_of(shown, currency, least)
        rows = rows_of(shown)
        head = Heading.of(finding(table, least, currency), title)
        causes = [cause for cause in CAUSE_LABELS if (shown[cause] > _NOTHING).any()]
        legend_in = head.ends_in
        headings_in = legend_in + (key.causes_height_in(causes) if causes else MARGIN)
        panels_in, height_in = headings_in + _HEADINGS, rows[-1].top_in + rows[-1].height_in + _LAST
        foot_in = panels_in + height_in + _FOOT
        width_in = WIDTH_IN - MARGIN - _TIME - sum(each.width_in + _BETWEEN for each in beside)
        span = ValueAxis.of(shown[["overhead", "overhead_high"]], bounds.get("overhead"))
        notes = _notes(table, least, span, bounds, beside)
        whole_in = foot_in + layout.height_in(notes, SMALL_PT) + MARGIN
        figure = Figure(figsize=(WIDTH_IN, whole_in))
        head.write(figure)
        key.causes(figure, causes, (MARGIN, legend_in))
        time = _panel(figure, (_TIME, panels_in), (width_in, height_in), span)
        panels.head(figure, (_TIME, headings_in), ["Time lost"], ["% of useful time"])
        _bars(time, shown, causes, rows, span)
        _bound(time, bounds.get("overhead"))
        left_in = _TIME + width_in + _BETWEEN
        for each in beside:
            most = [bounds[m] for m in each.measures if m in bounds]
            scale = each.span(shown, most)
            axes = _panel(figure, (left_in, panels_in), (each.width_in, height_in), scale, time)
            each.draw(axes, shown, [row.at for row in rows], _BELOW)
            for bound in most:
                _bound(axes, bound)
            panels.head(figure, (left_in, headings_in), [each.what], [each.measure])
            left_in += each.width_in + _BETWEEN
        write_names(figure, panels_in, shown, rows)
        panels.note(figure, (MARGIN, foot_in), notes)
    return figure


def finding(table: pd.DataFrame, least: str, currency: str = "") -> str:
    """Who is chosen, with what that takes, and whether others may take no more."""
    standing = table["standing"]
    chosen_one = table[standing == "chosen"]
    if chosen_one.empty:
        return "No policy keeps to the bounds"
    name = str(chosen_one.index[0])
    mean, lost = (float(chosen_one[each].iloc[0]) for each in (least, "updates_lost"))
    if least == "cost":
        takes = f"{ticks.number(mean)} {currency}".strip()
    else:
        takes = f"{layout.percent(mean) if mean > _NOTHING else '0 %'} {_OF[least]}"
    but = f", but loses {layout.percent(lost)} of the updates" if lost > _NOTHING else ""
    near = [str(each) for each in table.index[standing.isin(["open", "tied", "same"])]]
    if near:
        return f"{name} takes {takes}{but}; {listed(near)} may take no more"
    return f"{name} takes least: {takes}{but}"


def chosen(table: pd.DataFrame, most: int = _MOST_ROWS) -> NDArray[np.bool_]:
    """Which candidates are shown where there are more than that.

    The chosen one and the next, those beside it, the best of each origin, then those that were
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


def _more(left: pd.DataFrame) -> list[str]:
    """Who isn't shown."""
    over = left["standing"] == "over"
    said = []
    for names, words in ((left.index[~over], "more"), (left.index[over], "more over a bound")):
        if len(names):
            said.append(f"And {len(names)} {words}: {'; '.join(map(str, names))}.")
    return said


def _panel(
    figure: Figure,
    at_in: tuple[float, float],
    size_in: tuple[float, float],
    span: ValueAxis,
    sharey: Axes | None = None,
) -> Axes:
    axes = panels.panel(figure, at_in, size_in, sharey)
    axes.set_ylim(size_in[1], 0)
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.grid(axis="x")
    span.apply(axes, size_in[0])
    return axes


def _bars(
    axes: Axes,
    shown: pd.DataFrame,
    causes: list[str],
    rows: list[CandidateRow],
    span: ValueAxis,
) -> None:
    """A bar a candidate, parted by cause, its interval, and below it the mean."""
    for (_, row), place in zip(shown.iterrows(), rows, strict=True):
        mean, low, high = (row[f"overhead{end}"] for end in ("", "_low", "_high"))
        there = mean > _NOTHING
        over = row["standing"] == "over"
        if there:
            shares = np.array([row[cause] for cause in causes])
            ends = span.parts(mean, np.cumsum(shares) / shares.sum())
            for cause, left, right in zip(causes, [span.low, *ends], ends, strict=False):
                own = CAUSE_COLOURS[cause]
                colour = style.paler(own, _PALE) if over else own
                axes.barh(place.at, right - left, _BAR, left, color=colour)
            span.whisker(axes, place.at, low, high)
        axes.annotate(
            _mean(mean, low, high) if there else "0 %",
            (0, place.at + _BELOW),
            xycoords=("axes fraction", "data"),
            xytext=(1, 0),
            textcoords="offset points",
            size=SMALL_PT,
            color=style.FAINT_INK if over else style.INK,
            va="center_baseline",
            zorder=7,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )


def _is_lacking(table: pd.DataFrame) -> "pd.Series[bool]":
    """Whose intervals reach farther up than down."""
    up, down = (
        table[f"overhead{a}"] - table[f"overhead{b}"] for a, b in (("_high", ""), ("", "_low"))
    )
    return up > down + _NOTHING


def _mean(mean: float, low: float, high: float) -> str:
    """With its interval, which reaches farther up where a rare loss wasn't met."""
    half = high - mean
    if half > mean - low + _NOTHING:
        return f"{layout.percent(mean)} + {100 * half:.2g}"
    return layout.percent(mean, half if half > _NOTHING else math.nan)


def _bound(axes: Axes, most: float | None) -> None:
    if most is not None:
        at = max(most, axes.get_xlim()[0])
        axes.axvline(at, color=style.INK, linewidth=1.0, linestyle=(0, (3, 2)), zorder=1.5)


def _notes(
    table: pd.DataFrame,
    least: str,
    span: ValueAxis,
    bounds: Mapping[str, float],
    beside: list[Column],
) -> list[str]:
    """How to read it, and what isn't there."""
    kept = chosen(table)
    said = [marks(table[kept], least)]
    if span.logarithmic:
        said.append(
            "The axis of time is logarithmic: the length of a bar is its overhead, and its colours "
            "part it as the causes do."
        )
    measures = {measure for each in beside for measure in each.measures}
    drawn = [name for name in bounds if name in measures | {"overhead"}]
    means = "Whiskers and ±: 95 % intervals of means."
    if _is_lacking(table[kept]).any():
        means += " +: upwards alone, for a rare loss that none met."
    said.append(f"{means} Dashed lines: bounds." if drawn else means)
    if not measures & {"pls", "updates_lost"}:
        said.append("None of them loses any learning.")
    said += _more(table[~kept])
    return panels.wrapped(said)
