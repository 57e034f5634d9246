"""A map of which policy is best under which circumstances."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.typing import ColorType

from cprsim.basics.units import counted
from cprsim.errors import UsageError
from cprsim.figures.parts import key, layout, panels, style, ticks
from cprsim.figures.parts.cells import RIGHT, Cells
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.scale import Scale
from cprsim.figures.parts.style import SMALL_PT, WIDTH_IN
from cprsim.selection.words import NONE

# All in inches.
_KEY_IN: Final = 5.2
_HEADINGS: Final = 0.38
_AXIS: Final = 0.5  # tick labels and what the axis is
_NAME: Final = 0.2  # of the vertical axis, above it

_NOTHING: Final = 1e-12  # shares of learning below which lies only rounding
_PALE: Final = 0.6  # share of white where a policy isn't surely the best
#: Verdicts without a best policy: their colour, and what they mean.
_WITHOUT: Final = {
    "none": ("#EDEDED", NONE),
    "failed": ("#BFBFBF", "points that failed"),
}
_BORDER: Final = (0.04, 1.0)  # between cells: share of the narrowest, and points at most


def phase(
    table: pd.DataFrame,
    axes: Mapping[str, str],
    systems: Mapping[str, str],
    title: str = "",
    among: str = "",
    to_do: int = 0,
) -> Figure:
    """Which policy is best, by one or two of the things that were varied.

    Parameters
    ----------
    table
        A row a cell, as `cprsim.Sweep.best` gives them: `policy`, `interval_s`, `margin`,
        `verdict`, `why`, `rivals` and `same_as`, and the columns that `axes` names.
    axes
        What is varied, and its column: the horizontal axis, then the vertical one if there are two.
    systems
        The system of each policy that was compared, which gives its colour.
    title
        What it is found in: stands below the finding, wrapped.
    among
        Which candidates count, in words; all if empty.
    to_do
        How many points are still to be done.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. A cell around each pair of values, log where those are spread so, or a square
        for each row where less than half the pairs are there. It has the colour of the best policy;
        paler where it isn't surely the best, and hatched with the colour of the nearest rival that
        isn't surely worse, if there is one. In it, where there is room, how often to save and the
        margin over the next best, in points.

    Raises
    ------
    UsageError
        If the table is empty, or `axes` names none or more than two.
    """
    _check(table, axes)
    colours = style.policy_colours(systems)
    with style.styled():
        cells = Cells.from_table(table, axes)
        left = f"{counted(to_do, 'point')} still to be done" if to_do else ""
        head = Heading.of(_finding(table, bool(to_do)), "; ".join(filter(None, (title, left))))
        top_in = head.ends_in + MARGIN
        panel_in = top_in + _HEADINGS + (_NAME if cells.y else 0)
        notes = cells.notes()
        key_ends_in = _key(Figure(figsize=(WIDTH_IN, WIDTH_IN)), top_in, table, colours)
        foot_in = max(panel_in + cells.height_in + _AXIS, key_ends_in)
        whole_in = foot_in + layout.height_in(notes, SMALL_PT) + MARGIN
        figure = Figure(figsize=(WIDTH_IN, whole_in))
        head.write(figure)
        measure = f"least mean overhead{among and ', '}{among}"
        measures = layout.wrap(measure, RIGHT - MARGIN, SMALL_PT)
        panels.head(figure, (MARGIN, top_in), ["Best policy"], measures[:1])
        _draw(_panel(figure, panel_in, cells), cells, colours)
        _key(figure, top_in, table, colours)
        panels.note(figure, (MARGIN, foot_in), notes)
    return figure


def _finding(table: pd.DataFrame, is_part: bool) -> str:
    """Who is the best most often, how often surely, and what it loses of learning."""
    best = table[table["policy"].notna() & ~table["verdict"].isin([*_WITHOUT])]
    if best.empty:
        return ""
    counts = best["policy"].value_counts()
    name, count = str(counts.index[0]), int(counts.iloc[0])
    sure = sum(_is_sure(row) for row in best[best["policy"] == name].to_dict("records"))
    everywhere = count == len(table) and not is_part
    where = "everywhere" if everywhere else f"in {count} of {counted(len(table), 'cell')}"
    surely = "surely" if sure == count else f"surely in {sure or 'none'}"
    lost = float(best.loc[best["policy"] == name, "updates_lost"].max())
    but = f", but loses up to {layout.percent(lost)} of the updates" if lost > _NOTHING else ""
    return f"{name} has the least overhead {where}, {surely}{but}"


def _check(table: pd.DataFrame, axes: Mapping[str, str]) -> None:
    if table.empty:
        raise UsageError("figure phase: no point is finished; give the sweep's command again")
    if not 1 <= len(axes) <= 2:
        raise UsageError(f"figure phase: a map has one or two axes, not {len(axes)}")


def _face(row: Mapping[Any, Any], colours: Mapping[str, str]) -> ColorType:
    if row["verdict"] in _WITHOUT:
        return _WITHOUT[row["verdict"]][0]
    colour = colours[row["policy"]]
    return to_rgb(colour) if _is_sure(row) else style.paler(colour, _PALE)


def _is_sure(row: Mapping[Any, Any]) -> bool:
    """Whether the policy is the best, with whichever of its choices."""
    return not row["rivals"] and (row["verdict"] != "undecided" or row["why"] == "margin")


def _panel(figure: Figure, top_in: float, cells: Cells) -> Axes:
    size_in = (cells.width_in, cells.height_in)
    axes = panels.panel(figure, (cells.left_in, top_in), size_in)
    axes.set(xscale=cells.x.name, xlabel=cells.x.key)
    axes.set_xlim(*cells.x.edges[[0, -1]])
    _label(axes, "x", cells.width_in, cells.x)
    if cells.y is None:
        axes.set_yticks([])
        axes.set_ylim(0, 1)
    else:
        axes.set_yscale(cells.y.name)
        axes.set_ylim(*cells.y.edges[[0, -1]])
        _label(axes, "y", cells.height_in, cells.y)
        name = layout.wrap(cells.y.key, RIGHT - MARGIN, SMALL_PT)[:1]
        panels.note(figure, (MARGIN, top_in - _NAME), name)
    axes.spines[:].set_visible(False)
    return axes


def _label(axes: Axes, which: ticks.Which, length_in: float, scale: Scale) -> None:
    marks = list(zip(scale.at.tolist(), scale.texts, strict=True))
    ticks.value_ticks(axes, which, length_in, marks)


def _draw(axes: Axes, cells: Cells, colours: Mapping[str, str]) -> None:
    rows = cells.table.to_dict("records")
    faces = [_face(row, colours) for row in rows]
    hatches = [colours[row["rivals"][0]] if row["rivals"] else None for row in rows]
    if not cells.is_grid:
        y = cells.y.at[cells.rows] if cells.y else np.full(len(rows), 0.5)
        edges = [colour or "none" for colour in hatches]
        axes.scatter(
            cells.x.at[cells.x.place],
            y,
            marker="s",
            color=faces,
            edgecolors=edges,
            clip_on=False,
            zorder=3,
        )
        return
    border: dict[str, Any] = {
        "edgecolor": "white",
        "linewidth": min(_BORDER[0] * 72 * min(cells.cell), _BORDER[1]),
    }
    colour = np.zeros((len(cells.heights) - 1, len(cells.x.at), 4))  # transparent where nothing is
    colour[cells.rows, cells.x.place] = [to_rgba(face) for face in faces]
    axes.pcolormesh(cells.x.edges, cells.heights, colour, **border)
    for row, column, face, hatch, lines in zip(
        cells.rows, cells.x.place, faces, hatches, cells.texts(), strict=True
    ):
        corner = (cells.x.edges[column], cells.heights[row])
        size = (cells.x.edges[column + 1] - corner[0], cells.heights[row + 1] - corner[1])
        if hatch:
            for look in ({"hatch": "////", "edgecolor": hatch, "linewidth": 0}, border):
                axes.add_patch(Rectangle(corner, *size, fill=False, **look))
        middle = (cells.x.at[column], cells.y.at[row] if cells.y else 0.5)
        _write(axes, middle, lines, face)


def _write(axes: Axes, at: tuple[float, float], lines: Sequence[str], face: ColorType) -> None:
    if lines:
        axes.text(
            *at,
            "\n".join(lines),
            size=SMALL_PT,
            color=style.ink_on(face),
            ha="center",
            va="center",
            linespacing=1.1,
            bbox={"facecolor": face, "edgecolor": "none", "pad": 0.5},  # no hatching runs through
        )


def _key(figure: Figure, top_in: float, table: pd.DataFrame, colours: Mapping[str, str]) -> float:
    """What each colour is, and where it is best; returns where that ends, inches from above."""
    for name, colour in colours.items():
        facts = _facts(table, name)
        if facts:
            top_in = key.square(figure, (_KEY_IN, top_in), colour, name, facts)
    for verdict, (colour, words) in _WITHOUT.items():
        count = int((table["verdict"] == verdict).sum())
        if count:
            facts = f"{words}: {count} of {len(table)}"
            top_in = key.square(figure, (_KEY_IN, top_in), colour, verdict, facts)
    return top_in


def _facts(table: pd.DataFrame, policy: str) -> str:
    """In how many cells a policy is best; empty if its colour is nowhere."""
    best = table[table["policy"] == policy]
    if best.empty:
        ties = sum(policy in rivals[:1] for rivals in table["rivals"])
        return f"nearest rival in {ties}" if ties else ""
    rows = best.to_dict("records")
    clear = sum(map(_is_sure, rows))
    surely = "" if clear == len(best) else f" ({clear} surely)"
    for verdict in ("tied", "undecided"):
        count = sum(row["verdict"] == verdict and not _is_sure(row) for row in rows)
        surely += f", {count} {verdict}" if count else ""
    same = set.intersection(*(set(names) for names in best["same_as"]))
    as_well = f"; no different: {', '.join(sorted(same))}" if same else ""
    return f"best in {len(best)} of {len(table)}{surely}{as_well}"
