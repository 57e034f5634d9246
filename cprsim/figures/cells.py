"""Maps in cells: which policy is best under which circumstances, and what a choice loses there."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

from cprsim.basics.units import counted, format_bytes, format_duration
from cprsim.errors import UsageError
from cprsim.figures import style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, duration, number, percent, short, wrapped
from cprsim.scenario.words import KEYS

_PALE: Final = 0.6  # share of white where a policy isn't surely the best
#: What a point without a best policy has in its place: colour and text.
_WITHOUT: Final = {
    "none": ("#EDEDED", "no policy meets the limits"),
    "failed": ("#BFBFBF", "points that failed"),
}
#: How a value is written, by how its column's name ends.
_WRITE: Final[dict[str, Callable[[float], str]]] = {
    "_s": duration,
    "_bytes": format_bytes,
    "_bytes_per_s": lambda value: f"{format_bytes(value)}/s",
    "_share": lambda value: f"{number(100 * value)} %",
}


@style.styled()
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

    A cell for each pair of values, which are in order along both axes. It has the colour of the
    best policy; paler where it isn't surely the best, and hatched with the colour of the nearest
    rival that isn't surely worse, if there is one. In it, where there is room, how often to save
    and the margin over the next best, in points.

    `table`: a row a cell, as `cprsim.Sweep.best` gives them: `policy`, `interval_s`, `margin`,
    `verdict`, `why`, `rivals` and `same_as`, and the columns that `axes` names. `axes`: what is
    varied, and its column: the horizontal axis, then the vertical one if there are two. `systems`:
    the system of each policy that was compared, which gives its colour. `among`: which candidates
    count, in words; all if empty. `to_do`: how many points are still to be done.

    Raises
    ------
    UsageError
        If the table is empty.
    """
    if table.empty:
        raise UsageError("figure phase: no point is finished; give the sweep's command again")
    # Which of a policy's own choices is better is no question of the policy.
    decided = (table["verdict"] != "undecided") | (table["why"] == "margin")
    table = table.assign(sure=decided & (table["rivals"].map(len) == 0))
    colours, cells = style.policy_colours(systems), table.to_dict("records")
    sheet = Sheet(ax=ax)
    (panel,) = sheet.axes
    (across, x), *rest = (_values(name, table[column]) for name, column in axes.items())
    below, y = rest[0] if rest else ([""], np.zeros(len(table), np.intp))
    _panel(panel, across, below)
    words = [KEYS.get(name, name) for name in axes]
    panel.set(xlabel=words[0], ylabel=words[1] if rest else "")
    written = 0.7 * style.size_in()[0] / len(across) > 0.6 and len(below) <= 18
    faces = [_face(cell, colours) for cell in cells]
    ground = np.zeros((len(below), len(across), 4))  # transparent where nothing is
    ground[y, x] = faces
    corners = (np.arange(n + 1) - 0.5 for n in (len(across), len(below)))
    panel.pcolormesh(*corners, ground, edgecolor="white", linewidth=1.0)
    for left, bottom, face, cell in zip(x, y, faces, cells, strict=True):
        if cell["rivals"]:
            hatched: style.Look = {"hatch": "////", "edgecolor": colours[cell["rivals"][0]]}
            for look in ({**hatched, "linewidth": 0}, {"edgecolor": "white", "linewidth": 1.0}):
                panel.bar(left, 1, 1, bottom - 0.5, fill=False, **look)
        if written:
            over_hatching = {"facecolor": face, "edgecolor": "none", "pad": 0.5}
            _write(panel, left, bottom, _words(cell), face, bbox=over_hatching, linespacing=1.1)
    _key(panel, table, colours)
    notes = [f"Colour: the policy with the least mean overhead{among and ', '}{among}"]
    if written:
        notes.append(
            "In a cell: time between saves of the best policy, and by how many points of "
            "overhead the next best is worse"
        )
    if any(table["rivals"]) or "undecided" in set(table["verdict"]):
        notes.append("Pale: not surely the best; hatched in the colour of a rival")
    left_over = f"{counted(to_do, 'point')} still to be done" if to_do else ""
    height_in = float(np.clip(0.36 * len(below), 1.4, 4.6)) if rest else 0.55
    about = "; ".join(filter(None, (title, left_over)))
    return sheet.done(_finding(table, bool(to_do)), about, notes, height_in)


def _panel(axes: Axes, across: list[str], below: list[str], most: int = 0) -> None:
    """Make room for cells 0, 1, ... along both axes, which have these names.

    `most`: how many names have room across; estimated if not given.
    """
    axes.set(xlim=(-0.5, len(across) - 0.5), ylim=(-0.5, len(below) - 0.5))
    ticks.show(axes.xaxis, [dict(enumerate(across))], most)
    ticks.show(axes.yaxis, [{i: name for i, name in enumerate(below) if name}], 15)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _values(key: str, column: "pd.Series[Any]") -> tuple[list[str], Any]:
    """Return how the distinct values of a column are written, in order, and which each row has."""
    if not pd.api.types.is_numeric_dtype(column):
        place, names = pd.factorize(column)
        return [short(str(name), 22) for name in names], place
    at, place = np.unique(column.to_numpy(dtype=np.float64), return_inverse=True)
    write = _WRITE.get(str(column.name).removeprefix(key), number)
    return [write(value) for value in at.tolist()], place


def _finding(table: pd.DataFrame, is_part: bool) -> str:
    """Say which policy is best most often, how often surely, and what it loses."""
    best = table[~table["verdict"].isin([*_WITHOUT])]
    if best.empty:
        return ""
    name = best["policy"].value_counts().index[0]
    own = best[best["policy"] == name]
    everywhere = len(own) == len(table) and not is_part
    where = "everywhere" if everywhere else f"in {len(own)} of {counted(len(table), 'cell')}"
    surely = "surely" if own["sure"].all() else f"surely in {own['sure'].sum() or 'none'}"
    lost = float(own["updates_lost"].max())
    but = f", but loses up to {percent(lost)} of the updates" if lost > NOTHING else ""
    return f"{name} has the least overhead {where}, {surely}{but}"


def _face(row: Mapping[Any, Any], colours: Mapping[str, str]) -> ColorType:
    if row["verdict"] in _WITHOUT:
        return to_rgba(_WITHOUT[row["verdict"]][0])
    return to_rgba(style.paler(colours[row["policy"]], 0.0 if row["sure"] else _PALE))


def _write(axes: Axes, x: float, y: float, text: str, face: ColorType, **look: Any) -> None:
    """Write into a cell."""
    middle: style.Look = {"ha": "center", "va": "center", "size": "small"}
    axes.text(x, y, text, color=style.ink_on(face), **middle, **look)


def _words(row: Mapping[Any, Any]) -> str:
    """Return what is in a cell: how often to save, and the margin in points, two digits or all."""
    if row["verdict"] in _WITHOUT:
        return str(row["verdict"])
    every, margin = format_duration(row["interval_s"]), 100 * row["margin"]
    if math.isnan(margin):
        return every
    return f"{every}\n{margin:+,.0f} pt" if abs(margin) >= 10 else f"{every}\n{margin:+.2g} pt"


def _key(axes: Axes, table: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Say what each colour is, and in how many cells it is best; not what is nowhere."""
    entries = {}
    for name, colour in colours.items():
        best = table[table["policy"] == name]
        ties = sum(name in rivals[:1] for rivals in table["rivals"])
        if len(best):
            sure = int(best["sure"].sum())
            surely = "" if sure == len(best) else f" ({sure} surely)"
            same = set.intersection(*map(set, best["same_as"]))
            as_well = f"; no different: {', '.join(sorted(same))}" if same else ""
            entries[f"{name}: best in {len(best)} of {len(table)}{surely}{as_well}"] = colour
        elif ties:
            entries[f"{name}: nearest rival in {ties}"] = colour
    for verdict, (colour, words) in _WITHOUT.items():
        count = int((table["verdict"] == verdict).sum())
        if count:
            entries[f"{verdict}: {words}: {count} of {len(table)}"] = colour
    for label, colour in entries.items():
        axes.scatter([], [], 64, color=colour, marker="s", label=label)


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

    `table`: as `cprsim.advice.robustness.Robustness.table` has it; losses are shares of `base`.
    `choice`: the recommended policy. `within`: what is no loss. `systems`: of each policy, which
    gives its colour; grey without. `base`: what losses are shares of.
    """
    names = dict.fromkeys(name for name in (choice, *table["least"]) if name)
    colours = style.policy_colours({name: systems.get(name, "") for name in names})
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    levers, factors = list(dict.fromkeys(table["lever"])), sorted(set(table["factor"]))
    above = [_FACTORS.get(factor, f"× {factor:g}") for factor in factors]
    letters = 12 if sheet.narrow else 24
    _panel(axes, above, [wrapped(name, letters) for name in levers], len(above))
    axes.invert_yaxis()
    for name, colour in [*colours.items(), ("", _NO_ONE)]:
        best = table[table["least"] == name]
        face = style.paler(colour, _PALE_CELL)
        words = f"{choice}, the choice" if name == choice else name or "no policy"
        x, y = best["factor"].map(factors.index), best["lever"].map(levers.index)
        if len(best):
            label = f"{words}: best in {len(best)} of {len(table)}"
            axes.bar(x, 1, 1, y - 0.5, color=face, edgecolor="white", label=label)
        for at, below, (_, row) in zip(x, y, best.iterrows(), strict=True):
            value, loses = str(row["value"]).removeprefix("a save in "), _loses(row)
            _write(axes, at, below - 0.2 * bool(loses), value, face)
            _write(axes, at, below + 0.22, loses, face, weight="bold")
    notes = [
        f"In a cell: the input, and what {choice} loses there compared with the best policy, "
        f"in points of {base}; nothing where it is the best or within {100 * within:g} points"
    ]
    if not table["sure"].all():
        notes.append("?: not sure, as the 95 % interval leaves it open")
    holds = table["holds"].to_numpy(dtype=bool)
    where = "all" if holds.all() else f"{holds.sum()} of"
    finding = (
        f"{choice} is the best, or within {100 * within:g} points, in {where} {len(holds)} jobs"
    )
    finding += "" if table["sure"][holds].all() else ", not surely in all of these"
    return sheet.done(finding, title, notes, 0.34 * len(levers))


def points(loss: float) -> str:
    """Return a loss in percentage points, two digits; 0 for rounding."""
    value = 100 * loss
    if value < 100 * NOTHING:
        return "0 pt"
    return f"{value:.2g} pt" if value >= 0.01 else "<0.01 pt"


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
