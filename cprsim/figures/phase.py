"""A map of which policy is best under which circumstances."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.typing import ColorType

from cprsim.basics.units import counted, format_duration
from cprsim.errors import UsageError
from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.scale import Scale
from cprsim.figures.parts.sheet import Entry, Sheet, square
from cprsim.figures.parts.texts import NOTHING, percent
from cprsim.selection.words import NONE

_CELL_IN: Final = 0.36  # height of a row
_HEIGHTS_IN: Final = (1.4, 4.6)
_STRIP_IN: Final = 0.55  # height, if there is one axis
_PALE: Final = 0.6  # share of white where a policy isn't surely the best
#: Verdicts without a best policy: their colour, and what they mean.
_WITHOUT: Final = {
    "none": ("#EDEDED", NONE),
    "failed": ("#BFBFBF", "points that failed"),
}
_BORDER_PT: Final = 1.0  # between cells, at most
_WORDS_IN: Final = 0.9  # of the figure for each cell in which there are words
_MOST_ROWS: Final = 18  # with words


def phase(
    table: pd.DataFrame,
    axes: Mapping[str, str],
    systems: Mapping[str, str],
    title: str = "",
    among: str = "",
    to_do: int = 0,
    *,
    ax: Axes | None = None,
) -> Figure:
    """Draw which policy is best, by one or two of the things that were varied.

    Parameters
    ----------
    table
        A row a cell, as `cprsim.Sweep.best` gives them: `policy`, `interval_s`, `margin`,
        `verdict`, `why`, `rivals` and `same_as`, and the columns that `axes` names.
    axes
        What is varied, and its column: the horizontal axis, then the vertical one if there are two.
    systems
        The system of each policy that was compared, which gives its colour.
    among
        Which candidates count, in words; all if empty.
    to_do
        How many points are still to be done.

    Returns
    -------
    matplotlib.figure.Figure
        A cell around each pair of values, log where those are spread so, or a square
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
    with style.styled():
        colours = style.policy_colours(systems)
        x, *rest = (Scale.from_column(name, table[column]) for name, column in axes.items())
        y = rest[0] if rest else None
        sheet = Sheet(ax=ax)
        (panel,) = sheet.axes
        _axes(panel, x, y)
        written = _draw(panel, table, x, y, colours)
        sheet.key(_entries(table, colours))
        left = f"{counted(to_do, 'point')} still to be done" if to_do else ""
        notes = [f"Colour: the policy with the least mean overhead{among and ', '}{among}"]
        notes += _notes(table, written)
        rows = 1 if y is None else len(y.at)
        height_in = _STRIP_IN if y is None else float(np.clip(_CELL_IN * rows, *_HEIGHTS_IN))
        about = "; ".join(filter(None, (title, left)))
        return sheet.done(_finding(table, bool(to_do)), about, notes, height_in)


def _finding(table: pd.DataFrame, is_part: bool) -> str:
    """Say which policy is best most often, how often surely, and what it loses."""
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
    but = f", but loses up to {percent(lost)} of the updates" if lost > NOTHING else ""
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


def _axes(axes: Axes, x: Scale, y: Scale | None) -> None:
    """Scale both axes, with ticks at the values that were chosen."""
    axes.set(xscale=x.name, xlabel=x.words, xlim=x.edges[[0, -1]])
    ticks.named(axes.xaxis, x.named)
    if y is None:
        axes.set(yticks=[], ylim=(0, 1))
    else:
        axes.set(yscale=y.name, ylabel=y.words, ylim=y.edges[[0, -1]])
        ticks.named(axes.yaxis, y.named)
    axes.spines[:].set_visible(False)


def _draw(
    axes: Axes, table: pd.DataFrame, x: Scale, y: Scale | None, colours: Mapping[str, str]
) -> bool:
    """Draw the cells; return whether there is room for words in them."""
    rows = table.to_dict("records")
    faces = [_face(row, colours) for row in rows]
    hatches = [colours[row["rivals"][0]] if row["rivals"] else None for row in rows]
    places = np.zeros(len(rows), np.intp) if y is None else y.place
    heights = np.array([0.0, 1.0]) if y is None else y.edges
    middles = np.array([0.5]) if y is None else y.at
    if 2 * len(rows) < len(x.at) * len(middles):  # no grid: a square for each
        edges = [colour or "none" for colour in hatches]
        look: dict[str, Any] = {"marker": "s", "color": faces, "edgecolors": edges, "zorder": 3}
        axes.scatter(x.at[x.place], middles[places], clip_on=False, **look)
        return False
    border: dict[str, Any] = {"edgecolor": "white", "linewidth": _BORDER_PT}
    colour = np.zeros((len(middles), len(x.at), 4))  # transparent where nothing is
    colour[places, x.place] = [to_rgba(face) for face in faces]
    axes.pcolormesh(x.edges, heights, colour, **border)
    room = x.narrowest * style.size_in()[0] > _WORDS_IN and len(middles) <= _MOST_ROWS
    for row, column, face, hatch, entry in zip(places, x.place, faces, hatches, rows, strict=True):
        corner = (x.edges[column], heights[row])
        size = (x.edges[column + 1] - corner[0], heights[row + 1] - corner[1])
        if hatch:
            for look in ({"hatch": "////", "edgecolor": hatch, "linewidth": 0}, border):
                axes.add_patch(Rectangle(corner, *size, fill=False, **look))
        if room:
            _write(axes, (x.at[column], middles[row]), face, _words(entry))
    return room


def _write(axes: Axes, at: tuple[float, float], face: ColorType, words: str) -> None:
    look: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1}
    ground = {"facecolor": face, "edgecolor": "none", "pad": 0.5}  # no hatching runs through
    axes.text(*at, words, size=style.small_pt(), color=style.ink_on(face), bbox=ground, **look)


def _points(margin: float) -> str:
    """Return two digits, or all before the point, with its sign."""
    return f"{margin:+,.0f}" if abs(margin) >= 10 else f"{margin:+.2g}"


def _words(row: Mapping[Any, Any]) -> str:
    """Return what is in a cell: how often to save, and the margin in points."""
    if row["verdict"] in _WITHOUT:
        return str(row["verdict"])
    every = format_duration(row["interval_s"])
    return every if math.isnan(row["margin"]) else f"{every}\n{_points(100 * row['margin'])} pt"


def _notes(table: pd.DataFrame, written: bool) -> list[str]:
    """Say how to read what is in the cells."""
    words = [
        "In a cell: time between saves of the best policy, and by how many points of overhead the "
        "next best is worse"
    ] * written
    if any(table["rivals"]) or "undecided" in set(table["verdict"]):
        words.append("Pale: not surely the best; hatched or edged in the colour of a rival")
    return words


def _entries(table: pd.DataFrame, colours: Mapping[str, str]) -> list[Entry]:
    """Say what each colour is, and where it is best."""
    entries = [
        Entry([square(colour)], name, facts)
        for name, colour in colours.items()
        if (facts := _facts(table, name))
    ]
    for verdict, (colour, words) in _WITHOUT.items():
        count = int((table["verdict"] == verdict).sum())
        if count:
            facts = f"{words}: {count} of {len(table)}"
            entries.append(Entry([square(colour)], verdict, facts))
    return entries


def _facts(table: pd.DataFrame, policy: str) -> str:
    """Say in how many cells a policy is best; empty if its colour is nowhere."""
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
