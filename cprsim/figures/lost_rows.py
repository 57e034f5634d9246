"""What saving rows by priority loses, relative to saving everything once an interval."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWNBASE

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.figures.parts import key, layout, panels, style, ticks
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import LAW_DASHES, SMALL_PT, TEXT_PT, WIDTH_IN

# All in inches.
_PANELS: Final = (0.62, 3.6)  # left edge of the first and width of all in a row
_BETWEEN: Final = 0.2
_HEIGHTS: Final = (2.6, 1.55)  # of the panels, if there is one row of them and if there are more
_BELOW: Final = 0.3  # from one row of panels to the names of the next
_KEY_IN: Final = 4.45
_HEADINGS: Final = 0.38
_AXIS: Final = 0.5  # tick labels and what the axis is

_LEAST_SPAN: Final = 4.2  # of the fractions' axis: two doublings and a little
_ROOM: Final = 1.25  # beyond the outermost fractions
_HEADROOM: Final = 1.06  # above the largest loss
_EQUAL: Final = 1e-9  # relative: lines closer than that are one
#: The fraction of the CPR paper, r = 0.125, is 2 to the power of minus this.
_CHOSEN: Final = 3

#: How the line of each tracker looks, its words, and which rows it takes. Later ones lie on top.
#: Those of a policy have its colour, the others are grey.
_LOOKS: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "random": (
        {
            "color": style.FAINT_INK,
            "linewidth": 1.2,
            "linestyle": (0, LAW_DASHES["exponential"]),
        },
        "random",
        "drawn anew for each save",
    ),
    "round-robin": (
        {
            "color": style.LEARNING_COLOUR,
            "linewidth": 1.2,
            "linestyle": (0, LAW_DASHES["weibull"]),
        },
        "round-robin",
        "in turn, whether accessed or not",
    ),
    "ssu": (
        {"color": style.SYSTEM_COLOURS["cpr-ssu"], "linewidth": 1.5},
        "SSU",
        "from a bounded list of those that were accessed in a sub-sample of the batches",
    ),
    "mfu": (
        {"color": style.SYSTEM_COLOURS["cpr-mfu"], "linewidth": 2.0},
        "MFU",
        "most accessed since their last save",
    ),
    "scar": (  # shows the line of MFU where it covers it
        {
            "color": style.SYSTEM_COLOURS["cpr-scar"],
            "linewidth": 1.2,
            "linestyle": (0, LAW_DASHES["weibull"]),
        },
        "SCAR",
        "most changed since their last save",
    ),
}
_EVERYTHING: Final[dict[str, Any]] = {
    "color": style.SYSTEM_COLOURS["cpr-vanilla"],
    "linewidth": 1.0,
}
_MARK: Final[dict[str, Any]] = {
    "color": style.FAINT_INK,
    "linestyle": "none",
    "marker": CARETDOWNBASE,
    "markersize": 4.0,
    "markeredgewidth": 0,
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Of a panel: its name's lines, and inches from the figure's left and the panels' upper edge.

    Only the `leftmost` have numbers on y, and the `lowest` of each column on x.
    """

    name: list[str]
    left_in: float
    top_in: float
    width_in: float
    height_in: float
    leftmost: bool
    lowest: bool


def lost_rows(table: pd.DataFrame, title: str = "") -> Figure:
    """Updates lost under each tracker against the share of the rows that a save takes.

    Parameters
    ----------
    table
        A row a point: `skew`, the name of a popularity; `tracker`, one of
        `cprsim.rows.meanfield.TRACKERS`; `fraction` of the rows that a save takes, > 0 and <= 1;
        `relative`, what a failure loses as a share of what it would if everything were saved once
        an interval (CPR-vanilla), over some time or in the long run; not a number for none.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide; its height grows with the number of skews. It has axes for each skew, in the
        table's order: fractions, log, over shares (1 is 100 %), all with the same limits. Trackers
        that lose the same everywhere share a line.

    Raises
    ------
    UsageError
        If the table is empty, or names a tracker that there is not.
    """
    _check(table)
    with style.styled():
        head = Heading.of(_finding(table), title)
        top_in = head.ends_in + MARGIN
        panels_in = top_in + _HEADINGS
        skews = list(table["skew"].unique())
        places, height_in = _places([str(skew) for skew in skews])
        figure = Figure(figsize=(WIDTH_IN, panels_in + height_in + _AXIS))
        head.write(figure)
        _headings(figure, top_in)
        lines = _lines(table)
        for skew, place in zip(skews, places, strict=True):
            axes = _panel(figure, place, panels_in)
            _scales(axes, place, table)
            _draw(axes, table[table["skew"] == skew], lines)
        _key(figure, panels_in, lines)
    return figure


def _check(table: pd.DataFrame) -> None:
    if table.empty:
        raise UsageError("no row in the table of lost rows; it takes one a point")
    for tracker in table["tracker"].unique():
        if tracker not in _LOOKS:
            raise UsageError(f"tracker {tracker!r}: there is none; {nearest(tracker, _LOOKS)}")


def _finding(table: pd.DataFrame) -> str:
    """What the best tracker loses where a save takes as many rows as the CPR paper's."""
    there = table[np.isfinite(table["relative"])]
    if there.empty:
        return ""
    fractions = there["fraction"].unique()
    at = min(fractions, key=lambda each: abs(math.log2(each) + _CHOSEN))
    there = there[there["fraction"] == at]
    by_tracker = there.groupby("tracker")["relative"]
    best = by_tracker.mean().idxmin()
    low, high = (layout.percent(end) for end in (by_tracker.min()[best], by_tracker.max()[best]))
    span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    rows = f"1/{1 / at:.3g}" if at < 1 else "all"
    return f"Saves of {rows} of the rows by {_LOOKS[best][1]} lose {span} of CPR-vanilla's updates"


def _places(names: list[str]) -> tuple[list[_Place], float]:
    """Of a panel of each name, row by row, and how high they are together."""
    columns = min(2, len(names))
    width_in = (_PANELS[1] - (columns - 1) * _BETWEEN) / columns
    height_in = _HEIGHTS[len(names) > columns]
    places: list[_Place] = []
    top_in = 0.0
    for start in range(0, len(names), columns):
        row = names[start : start + columns]
        wrapped = [layout.wrap(name, width_in, SMALL_PT, "bold") for name in row]
        top_in += max(layout.height_in(name, SMALL_PT) for name in wrapped)
        for j, name in enumerate(wrapped):
            left_in = _PANELS[0] + j * (width_in + _BETWEEN)
            lowest = start + j + columns >= len(names)
            places.append(_Place(name, left_in, top_in, width_in, height_in, j == 0, lowest))
        top_in += height_in + _BELOW
    return places, top_in - _BELOW


def _headings(figure: Figure, top_in: float) -> None:
    left_in, width_in = _PANELS
    measure = ["updates lost in a failure, as a share of those under CPR-vanilla"]
    panels.head(figure, (left_in, top_in), ["Learning lost"], measure)
    layout.write(figure, (_KEY_IN, top_in), ["Rows that a save takes"], TEXT_PT, weight="bold")
    measure = ["share of all rows that a save takes"]
    at_in = (
        left_in + width_in / 2,
        figure.get_figheight() - MARGIN - layout.height_in(measure, SMALL_PT),
    )
    panels.note(figure, at_in, measure, ha="center")


def _lines(table: pd.DataFrame) -> list[list[str]]:
    """Trackers, those that lose the same everywhere together, in the order of `_LOOKS`."""
    losses = {
        name: table[table["tracker"] == name]
        .set_index(["skew", "fraction"])["relative"]
        .sort_index()
        for name in _LOOKS
        if (table["tracker"] == name).any()
    }
    lines: list[list[str]] = []
    for name, loss in losses.items():
        for line in lines:
            first = losses[line[0]]
            if first.index.equals(loss.index) and np.allclose(
                first, loss, rtol=_EQUAL, atol=0, equal_nan=True
            ):
                line.append(name)
                break
        else:
            lines.append([name])
    return lines


def _panel(figure: Figure, place: _Place, panels_in: float) -> Axes:
    """Axes under their name; `panels_in`: from the figure's upper edge to that of all panels."""
    top_in = panels_in + place.top_in
    at_in = (place.left_in, top_in - layout.height_in(place.name, SMALL_PT))
    layout.write(figure, at_in, place.name, SMALL_PT, weight="bold")
    axes = panels.panel(figure, (place.left_in, top_in), (place.width_in, place.height_in))
    axes.tick_params(labelleft=place.leftmost, labelbottom=place.lowest)
    axes.grid()
    return axes


def _scales(axes: Axes, place: _Place, table: pd.DataFrame) -> None:
    """Axes that hold the whole table, whatever they show of it."""
    low, high = float(table["fraction"].min()), float(table["fraction"].max())
    room = max(_ROOM, math.sqrt(_LEAST_SPAN * low / high))
    axes.set_xscale("log", base=2)
    axes.set_xlim(low / room, high * room)
    _fraction_ticks(axes, place.width_in)
    losses = table["relative"].to_numpy(dtype=np.float64)
    axes.set_ylim(0, _HEADROOM * float(np.max(losses, initial=1, where=np.isfinite(losses))))
    ticks.number_ticks(axes, "y", place.height_in, 0.01, " %")


def _fraction_ticks(axes: Axes, width_in: float) -> None:
    """At halves, quarters and so on, as many as have room; the paper's choice among them."""
    low, high = np.log2(axes.get_xlim())
    powers = range(max(0, math.ceil(-high)), math.floor(-low) + 1)
    texts = {power: f"1/{2**power}" if power else "1" for power in powers}
    widest_in = max(layout.text_width_in(text, SMALL_PT) for text in texts.values())
    stride = math.ceil((widest_in + layout.PAD_PT / 72) * (high - low) / width_in)
    shown = [power for power in reversed(powers) if (power - _CHOSEN) % stride == 0]
    axes.set_xticks([0.5**power for power in shown], [texts[power] for power in shown])
    axes.minorticks_off()


def _draw(axes: Axes, rows: pd.DataFrame, lines: list[list[str]]) -> None:
    axes.axhline(1, zorder=1.9, **_EVERYTHING)
    if _marked(axes):
        axes.plot(0.5**_CHOSEN, 1, transform=axes.get_xaxis_transform(), **_MARK)
    for first, *_ in lines:
        line = rows[rows["tracker"] == first].sort_values("fraction")
        # A point on the edge shows whole.
        axes.plot(
            line["fraction"],
            line["relative"],
            marker="o",
            markersize=2.8,
            markeredgewidth=0,
            clip_on=False,
            **_LOOKS[first][0],
        )


def _marked(axes: Axes) -> bool:
    low, high = axes.get_xlim()
    return bool(low <= 0.5**_CHOSEN <= high)


def _key(figure: Figure, top_in: float, lines: list[list[str]]) -> None:
    """What each line is, beside the panels."""
    for line in lines:
        sample = Line2D([], [], **_LOOKS[line[0]][0])
        words = ", ".join(_LOOKS[name][1] for name in line)
        rows = "; ".join(_LOOKS[name][2] for name in line)
        top_in = key.entry(figure, (_KEY_IN, top_in), [sample], words, rows, bold=True)
    sample = Line2D([], [], **_EVERYTHING)
    facts = "CPR-vanilla, which is 100 %"
    words = "everything once an interval"
    top_in = key.entry(figure, (_KEY_IN, top_in), [sample], words, facts, bold=True)
    if _marked(figure.axes[0]):
        sample = Line2D([], [], **_MARK)
        words = f"1/{2**_CHOSEN} of the rows"
        key.entry(figure, (_KEY_IN, top_in), [sample], words, "the choice of the CPR paper", True)
