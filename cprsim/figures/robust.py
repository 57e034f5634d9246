"""How a choice holds where the job is another: what it loses there, and who is the least."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import key, layout, panels, style, ticks
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT, WIDTH_IN
from cprsim.figures.parts.world_map import CELL_IN, NO_ONE, draw_map, factor, points, write_down

# All in inches.
_BARS: Final = (1.42, 1.54)  # left edge and width, the words at the bars' ends included
_WORDS: Final = 0.62  # of these
_ROW: Final = 0.29
_BAR: Final = 0.09
_APART: Final = 0.125  # the middles of two bars
_BETWEEN: Final = 0.3  # from one circumstance to the next, its name included
_SQUARE_IN: Final = 0.08  # from the bars to the colour of the least
_MAP: Final = (3.85, 3.05)
_HEADINGS: Final = 0.42
_AXIS: Final = 0.3
_KEY_BELOW: Final = 0.52  # from the map to its key

_NOTHING: Final = 1e-9
_SPAN: Final = 10.0  # the least that a bar shows is so many times less than the tolerance


def robust(
    levers: pd.DataFrame,
    grid: pd.DataFrame,
    choices: tuple[str, str | None],
    within: float,
    names: Sequence[str],
    systems: Mapping[str, str],
    title: str = "",
    base: str = "the useful time",
) -> Figure:
    """What the choice and the second lose in other worlds, and a map of who is the least.

    Parameters
    ----------
    levers, grid
        As `cprsim.advice.worlds` has them; losses are shares of `base`.
    choices
        The chosen policy and the second, if there is one.
    within
        What is no loss.
    names
        Of the circumstances across and down the map.
    systems
        Of each policy, which gives its colour; grey without.
    title
        What it is found in: stands below the finding, wrapped.
    base
        What losses are shares of.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. Left, log: for each circumstance and factor two bars, what the choice loses
        beside the least there, and what the second does; words where one keeps to no bound or
        can't be played. Right: a cell a pair of factors in the colour of who is the least, what the
        choice loses in it, hatched where that is more than `within`.
    """
    colours = _colours(levers, grid, choices, systems)
    with style.styled():
        head = Heading.of(_finding(levers, grid, choices[0], within), title)
        top_in = head.ends_in + MARGIN
        panel_in = top_in + _HEADINGS
        y, height_in = _rows(levers)
        notes = _notes(levers, grid, within, base)
        rows = grid["down"].nunique() if len(grid) else 0
        keys_in = panel_in + rows * CELL_IN + (_KEY_BELOW if rows else 0)
        ends_in = _key(Figure(figsize=(WIDTH_IN, WIDTH_IN)), keys_in, colours, choices)
        foot_in = max(panel_in + height_in + _AXIS, ends_in) + MARGIN
        whole_in = foot_in + layout.height_in(notes, SMALL_PT) + MARGIN
        figure = Figure(figsize=(WIDTH_IN, whole_in))
        head.write(figure)
        words = "points lost; square: who is the least"
        panels.head(figure, (MARGIN, top_in), ["One thing is another"], [words])
        axes = _axes(figure, (_BARS[0], panel_in), (_BARS[1], height_in))
        _tornado(axes, levers, y, choices, colours, within)
        _label(figure, panel_in, levers, y)
        if rows:
            words = "who is the least; points that the choice loses"
            panels.head(figure, (_MAP[0], top_in), ["Two at once"], [words])
            panel = _axes(figure, (_MAP[0], panel_in), (_MAP[1], rows * CELL_IN))
            draw_map(panel, grid, colours, names[0])
            room_in = _MAP[0] - sum(_BARS)
            write_down(figure, (_MAP[0], panel_in), room_in, grid, names[1])
        _key(figure, keys_in, colours, choices)
        panels.note(figure, (MARGIN, foot_in), notes)
    return figure


def _colours(
    levers: pd.DataFrame,
    grid: pd.DataFrame,
    choices: tuple[str, str | None],
    systems: Mapping[str, str],
) -> dict[str, str]:
    """Of each policy that is the least somewhere, the choice first."""
    leasts = [each["least"] for each in (levers, grid) if len(each)]
    found = [name for column in leasts for name in column if name]
    names = dict.fromkeys(name for name in (*choices, *found) if name is not None)
    return style.policy_colours({name: systems.get(name, "") for name in names})


def _finding(levers: pd.DataFrame, grid: pd.DataFrame, choice: str, within: float) -> str:
    """In how many of the worlds the choice is the least, or loses no more than doesn't matter."""
    worlds = [each for each in (levers, grid) if len(each)]
    holds = np.concatenate([each["holds"].to_numpy(dtype=bool) for each in worlds])
    sure = np.concatenate([each["sure"].to_numpy(dtype=bool) for each in worlds])
    where = "all" if holds.all() else f"{holds.sum()} of"
    may = "" if sure[holds].all() else ", not surely in all of these"
    said = f"{choice} is the least, or within {100 * within:g} points, in {where}"
    return f"{said} {len(holds)} jobs{may}"


def _rows(levers: pd.DataFrame) -> tuple[list[float], float]:
    """Where each row stands, inches from the top, and where they end."""
    y: list[float] = []
    top_in = 0.0
    for _, rows in levers.groupby("lever", sort=False):
        top_in += _BETWEEN
        y += [top_in + (i + 0.5) * _ROW for i in range(len(rows))]
        top_in += len(rows) * _ROW
    return y, top_in


def _axes(figure: Figure, at_in: tuple[float, float], size_in: tuple[float, float]) -> Axes:
    axes = panels.panel(figure, at_in, size_in)
    axes.set_ylim(size_in[1], 0)
    axes.tick_params(axis="y", left=False, labelleft=False)
    return axes


def _tornado(
    axes: Axes,
    levers: pd.DataFrame,
    y: Sequence[float],
    choices: tuple[str, str | None],
    colours: Mapping[str, str],
    within: float,
) -> None:
    low = within / _SPAN
    losses = levers[["loses_high", "second_loses_high"]].to_numpy(dtype=np.float64)
    most = float(np.nanmax(np.append(losses, 10 * within)))
    high = low * (1.1 * most / low) ** (_BARS[1] / (_BARS[1] - _WORDS))
    axes.set(xscale="log", xlim=(low, high))
    ticks.number_ticks(axes, "x", _BARS[1], 0.01, beyond=most)
    marks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    told = [(at, text.get_text()) for at, text in marks]
    kept = [each for i, each in enumerate(told) if i == 0 or told[i - 1][0] < most]
    axes.set_xticks([at for at, _ in kept], [text for _, text in kept])
    axes.grid(axis="x")
    axes.axvline(within, color=style.INK, linewidth=1, linestyle=(0, (3, 2)), zorder=1.5)
    for row, middle in zip(levers.to_dict("records"), y, strict=True):
        own = _words(row["loses"], keeps=row["keeps"])
        shown = [(choices[0], own if row["sure"] else f"{own}?", "loses", -1)]
        if choices[1] is not None:
            # Whether the second keeps to the bounds is not known; it counts where it is no less.
            words = _words(row["second_loses"], keeps=row["second_loses"] >= -_NOTHING)
            shown.append((choices[1], words, "second_loses", 1))
        for name, words, column, side in shown:
            at_in = middle + side * 0.5 * _APART * (len(shown) - 1)
            is_number = words[0] in "<0123456789"
            end = max(row[column], low) if is_number else low
            axes.barh(at_in, end - low, _BAR, low, color=colours[name], zorder=2)
            if is_number and row[f"{column}_high"] > low:
                ends = [max(row[f"{column}_low"], low), row[f"{column}_high"]]
                axes.plot(ends, [at_in, at_in], color=style.INK, linewidth=0.8, zorder=3)
                end = max(end, ends[1])
            ink = style.INK if side < 0 else style.FAINT_INK
            layout.beside(axes, (end, at_in), words, 2, 0.2, color=ink)
        face = NO_ONE if not row["least"] else colours[row["least"]]
        square: dict[str, Any] = {"marker": "s", "markersize": 4.5, "clip_on": False}
        beside = axes.get_yaxis_transform()
        axes.plot([-_SQUARE_IN / _BARS[1]], [middle], color=face, transform=beside, **square)


def _words(loss: float, *, keeps: bool) -> str:
    """What is lost, in points, or why that isn't known."""
    if math.isnan(loss):
        return "can't be played"
    return points(loss) if keeps else "over a bound"


def _label(figure: Figure, top_in: float, levers: pd.DataFrame, y: Sequence[float]) -> None:
    """Each circumstance, its factors and what it is there."""
    right_in = _BARS[0] - 2 * _SQUARE_IN
    last = None
    for row, middle in zip(levers.to_dict("records"), y, strict=True):
        at_in = top_in + middle - layout.height_in([""], SMALL_PT) / 2
        if row["lever"] != last:
            last = row["lever"]
            name_in = top_in + middle - _ROW / 2 - 0.19
            layout.write(figure, (MARGIN, name_in), [last], TEXT_PT, weight="bold")
        asked = row["factor"] == 1
        weight, ink = ("bold", style.INK) if asked else ("normal", style.FAINT_INK)
        value = layout.wrap(str(row["value"]).removeprefix("a save in "), 1.1, SMALL_PT)[0]
        text = f"{value}  ×{factor(row['factor'])}"
        layout.write(
            figure, (right_in, at_in), [text], SMALL_PT, ha="right", weight=weight, color=ink
        )


def _key(
    figure: Figure, top_in: float, colours: Mapping[str, str], choices: tuple[str, str | None]
) -> float:
    """Which policy has which colour; returns where that ends, inches from the top."""
    facts = dict(zip(choices, ("the choice", "the second choice"), strict=True))
    for name, colour in colours.items():
        at_in = (_MAP[0] - 0.11, top_in)
        top_in = key.square(figure, at_in, colour, name, facts.get(name, ""))
    return top_in


def _notes(levers: pd.DataFrame, grid: pd.DataFrame, within: float, base: str) -> list[str]:
    said = [
        f"Points of {base}, log; dashed: {100 * within:g} points, what doesn't matter. "
        "Thin lines: 95 % intervals. Bold, or framed: the job as it was asked."
    ]
    if len(grid) and not grid["holds"].all():
        said.append("Hatched: the choice isn't within that of the least, or not within a bound.")
    if not (levers["sure"].all() and (not len(grid) or grid["sure"].all())):
        said.append("?: not sure, as the interval leaves it open, or that of what is bounded.")
    if len(grid) and (~grid["keeps"] & (grid["least"] != "") & grid["loses"].notna()).any():
        said.append("over: the choice is over a bound there.")
    return panels.wrapped(said)
