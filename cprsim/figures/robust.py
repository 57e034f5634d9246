"""How a choice holds where an input is another: what it loses there, and which policy is best."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import key, layout, panels, style, ticks
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT, WIDTH_IN

# All in inches.
_BARS: Final = (1.42, 3.5)  # left edge and width, the words at the bars' ends included
_WORDS: Final = 0.7  # of these
_ROW: Final = 0.19
_BAR: Final = 0.1
_BETWEEN: Final = 0.27  # from one circumstance to the next, its name included
_BEST_IN: Final = 5.1  # left edge of the names of the best policies
_VALUE_IN: Final = 0.9  # of a value, what it is multiplied by beside it
_HEADINGS: Final = 0.42
_AXIS: Final = 0.3

_NOTHING: Final = 1e-9
_SPAN: Final = 10.0  # the least that a bar shows is so many times less than the tolerance
_FACTORS: Final = {0.25: "1/4", 0.5: "1/2"}
_NO_ONE: Final = "#EDEDED"


def robust(
    table: pd.DataFrame,
    choice: str,
    within: float,
    systems: Mapping[str, str],
    title: str = "",
    base: str = "the useful time",
) -> Figure:
    """Draw what the choice loses where one input is another, and which policy is the best there.

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
    title
        What it is found in: stands below the finding, wrapped.
    base
        What losses are shares of.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. For each circumstance and factor a bar, log: what the choice loses compared
        with the best policy there; words where it keeps to no bound or can't be played. Right of it
        the best policy, with its colour.
    """
    names = dict.fromkeys(name for name in (choice, *table["least"]) if name)
    colours = style.policy_colours({name: systems.get(name, "") for name in names})
    with style.styled():
        head = Heading.of(_finding(table, choice, within), title)
        top_in = head.ends_in + MARGIN
        panel_in = top_in + _HEADINGS
        y, height_in = _rows(table)
        notes = _notes(table, within, base)
        foot_in = panel_in + height_in + _AXIS + MARGIN
        whole_in = foot_in + layout.height_in(notes, SMALL_PT) + MARGIN
        figure = Figure(figsize=(WIDTH_IN, whole_in))
        head.write(figure)
        lost = f"points that {choice} loses, compared with the best policy there"
        panels.head(figure, (MARGIN, top_in), ["Where one input is another"], [lost])
        panels.head(figure, (_BEST_IN, top_in), ["Best policy there"], [])
        axes = panels.panel(figure, (_BARS[0], panel_in), (_BARS[1], height_in))
        axes.set_ylim(height_in, 0)
        axes.tick_params(axis="y", left=False, labelleft=False)
        _scale(axes, table, within)
        for row, middle in zip(table.to_dict("records"), y, strict=True):
            _bar(axes, row, middle, colours[choice])
            at_in = (_BEST_IN, panel_in + middle - layout.height_in([""], SMALL_PT) / 2)
            best = row["least"]
            key.square(figure, at_in, colours.get(best, _NO_ONE), best or "none", "")
        _label(figure, panel_in, table, y)
        panels.note(figure, (MARGIN, foot_in), notes)
    return figure


def points(loss: float) -> str:
    """A loss in percentage points, two digits; 0 for rounding."""
    value = 100 * loss
    if value < 100 * _NOTHING:
        return "0 pt"
    return f"{value:.2g} pt" if value >= 0.01 else "<0.01 pt"


def _finding(table: pd.DataFrame, choice: str, within: float) -> str:
    """In how many jobs the choice is the best, or loses no more than doesn't matter."""
    holds = table["holds"].to_numpy(dtype=bool)
    where = "all" if holds.all() else f"{holds.sum()} of"
    may = "" if table["sure"][holds].all() else ", not surely in all of these"
    near = f"is the best, or within {100 * within:g} points"
    return f"{choice} {near}, in {where} {len(holds)} jobs{may}"


def _rows(table: pd.DataFrame) -> tuple[list[float], float]:
    """Where each row stands, inches from the top, and where they end."""
    y: list[float] = []
    top_in = 0.0
    for _, rows in table.groupby("lever", sort=False):
        top_in += _BETWEEN
        y += [top_in + (i + 0.5) * _ROW for i in range(len(rows))]
        top_in += len(rows) * _ROW
    return y, top_in


def _scale(axes: Axes, table: pd.DataFrame, within: float) -> None:
    """The axis of losses, with room for words at its end, and the line of what doesn't matter."""
    low = within / _SPAN
    most = float(table["loses_high"].fillna(0.0).clip(lower=10 * within).max())
    high = low * (1.1 * most / low) ** (_BARS[1] / (_BARS[1] - _WORDS))
    axes.set(xscale="log", xlim=(low, high))
    ticks.number_ticks(axes, "x", _BARS[1], 0.01, beyond=most)
    marks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    told = [(at, text.get_text()) for at, text in marks]
    kept = [each for i, each in enumerate(told) if i == 0 or told[i - 1][0] < most]
    axes.set_xticks([at for at, _ in kept], [text for _, text in kept])
    axes.grid(axis="x")
    axes.axvline(within, color=style.INK, linewidth=1, linestyle=(0, (3, 2)), zorder=1.5)


def _bar(axes: Axes, row: Mapping[Any, Any], middle: float, colour: str) -> None:
    """What the choice loses, with its interval, and the words beside it."""
    low, words = axes.get_xlim()[0], _words(row)
    is_number = words[0] in "<0123456789"
    end = max(row["loses"], low) if is_number else low
    axes.barh(middle, end - low, _BAR, low, color=colour, zorder=2)
    if is_number and row["loses_high"] > low:
        ends = [max(row["loses_low"], low), row["loses_high"]]
        axes.plot(ends, [middle, middle], color=style.INK, linewidth=0.8, zorder=3)
        end = max(end, ends[1])
    layout.beside(axes, (end, middle), words, 2, 0.2, color=style.INK)


def _words(row: Mapping[Any, Any]) -> str:
    """What is lost, in points, or why that isn't known; with a ? where it isn't sure."""
    if math.isnan(row["loses"]):
        said = "can't be played"
    else:
        said = points(row["loses"]) if row["keeps"] else "over a limit"
    return said if row["sure"] else f"{said}?"


def _label(figure: Figure, top_in: float, table: pd.DataFrame, y: Sequence[float]) -> None:
    """Each circumstance, its factors and what it is there."""
    right_in = _BARS[0] - MARGIN
    last = None
    for row, middle in zip(table.to_dict("records"), y, strict=True):
        at_in = top_in + middle - layout.height_in([""], SMALL_PT) / 2
        if row["lever"] != last:
            last = row["lever"]
            name_in = top_in + middle - _ROW / 2 - layout.height_in([""], TEXT_PT)
            layout.write(figure, (MARGIN, name_in), [last], TEXT_PT, weight="bold")
        asked = row["factor"] == 1
        weight, ink = ("bold", style.INK) if asked else ("normal", style.FAINT_INK)
        value = layout.wrap(str(row["value"]).removeprefix("a save in "), _VALUE_IN, SMALL_PT)[0]
        text = f"{value}  ×{_FACTORS.get(row['factor'], format(row['factor'], 'g'))}"
        look = {"ha": "right", "weight": weight, "color": ink}
        layout.write(figure, (right_in, at_in), [text], SMALL_PT, **look)


def _notes(table: pd.DataFrame, within: float, base: str) -> list[str]:
    said = [
        f"Points of {base}, log; dashed: {100 * within:g} points, what doesn't matter. "
        "Thin lines: 95 % intervals. Bold: the job as it was asked."
    ]
    if not table["sure"].all():
        said.append("?: not sure, as the interval leaves it open, or that of what is limited.")
    return panels.wrapped(said)
