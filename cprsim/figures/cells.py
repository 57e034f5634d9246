"""Maps in cells: which policy is best under which circumstances, and what a choice loses there."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

from cprsim.basics.units import counted, format_bytes, format_duration
from cprsim.errors import UsageError
from cprsim.figures import style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, duration, number, percent, short, wrapped

_PALE: Final = 0.6  # share of white where a policy isn't surely the best
#: Verdicts without a best policy: their colour, and what they mean.
#: What a point without a best policy has in its place: colour and text.
_WITHOUT: Final = {
    "none": ("#EDEDED", "no policy meets the limits"),
    "failed": ("#BFBFBF", "points that failed"),
}
#: Keys of a scenario in words; others are called as they are.
_WORDS: Final = {
    "failures.mean": "mean time between failures",
    "failures.exactly": "failures in the job",
    "cluster.parameter_servers": "parameter servers",
    "cluster.trainers": "trainers",
    "cluster.spares": "spare machines",
    "costs.save": "time of a save",
    "costs.load": "time of a load",
    "costs.reschedule": "time to replace a machine",
    "costs.detect": "time to detect a failure",
    "storage.write": "write bandwidth of the store",
    "storage.read": "read bandwidth of the store",
    "cluster.nic": "network bandwidth of a node",
    "job.useful_time": "useful time of the job",
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

    Raises
    ------
    UsageError
        If the table is empty.
    """
    if table.empty:
        raise UsageError("figure phase: no point is finished; give the sweep's command again")
    colours = style.policy_colours(systems)
    sheet = Sheet(ax=ax)
    (panel,) = sheet.axes
    (across, x), *rest = (_values(name, table[column]) for name, column in axes.items())
    below, y = rest[0] if rest else ([""], np.zeros(len(table), np.intp))
    words = [_WORDS.get(name, name) for name in axes]
    _panel(panel, across, below if rest else [""])
    panel.set(xlabel=words[0], ylabel=words[1] if rest else "")
    written = _cells(panel, table.to_dict("records"), x, y, colours)
    _key(panel, table, colours)
    sheet.key()
    notes = [f"Colour: the policy with the least mean overhead{among and ', '}{among}"]
    if written:
        notes.append(
            "In a cell: time between saves of the best policy, and by how many points of "
            "overhead the next best is worse"
        )
    if any(table["rivals"]) or "undecided" in set(table["verdict"]):
        notes.append("Pale: not surely the best; hatched in the colour of a rival")
    left = f"{counted(to_do, 'point')} still to be done" if to_do else ""
    height_in = float(np.clip(0.36 * len(below), 1.4, 4.6)) if rest else 0.55
    about = "; ".join(filter(None, (title, left)))
    return sheet.done(_finding(table, bool(to_do)), about, notes, height_in)


def _panel(axes: Axes, across: list[str], below: list[str], most: int = 0) -> None:
    """Make room for cells 0, 1, ... along both axes, which have these names.

    `most`: how many names have room across; estimated if not given.
    """
    axes.set(xlim=(-0.5, len(across) - 0.5), ylim=(-0.5, len(below) - 0.5))
    ticks.show(axes.xaxis, dict(enumerate(across)), most=most)
    ticks.show(axes.yaxis, {i: name for i, name in enumerate(below) if name}, most=15)
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


def _face(row: Mapping[Any, Any], colours: Mapping[str, str]) -> ColorType:
    if row["verdict"] in _WITHOUT:
        return _WITHOUT[row["verdict"]][0]
    colour = colours[row["policy"]]
    return to_rgb(colour) if _is_sure(row) else style.paler(colour, _PALE)


def _is_sure(row: Mapping[Any, Any]) -> bool:
    """Return whether the policy is the best, with whichever of its choices."""
    return not row["rivals"] and (row["verdict"] != "undecided" or row["why"] == "margin")


def _cells(
    axes: Axes, rows: list[dict[Any, Any]], x: Any, y: Any, colours: Mapping[str, str]
) -> bool:
    """Draw the cells; return whether there is room for words in them."""
    count, rows_of_cells = int(x.max()) + 1, int(y.max()) + 1
    faces = [_face(row, colours) for row in rows]
    colour = np.zeros((rows_of_cells, count, 4))  # transparent where nothing is
    colour[y, x] = [to_rgba(face) for face in faces]
    corners = (np.arange(n + 1) - 0.5 for n in (count, rows_of_cells))
    axes.pcolormesh(*corners, colour, edgecolor="white", linewidth=1.0)
    room = 0.7 * style.size_in()[0] / count > 0.6 and rows_of_cells <= 18
    look: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1}
    for left, bottom, face, row in zip(x, y, faces, rows, strict=True):
        if row["rivals"]:
            rival: dict[str, Any] = {
                "edgecolor": colours[row["rivals"][0]],
                "hatch": "////",
                "linewidth": 0,
            }
            axes.bar(left, 1, 1, bottom - 0.5, fill=False, **rival)
            axes.bar(left, 1, 1, bottom - 0.5, fill=False, edgecolor="white", linewidth=1.0)
        if room:
            ground = {"facecolor": face, "edgecolor": "none", "pad": 0.5}  # over the hatching
            ink, text = style.ink_on(face), _words(row)
            axes.text(left, bottom, text, size=style.small_pt(), color=ink, bbox=ground, **look)
    return room


def _words(row: Mapping[Any, Any]) -> str:
    """Return what is in a cell: how often to save, and the margin in points, two digits or all."""
    if row["verdict"] in _WITHOUT:
        return str(row["verdict"])
    every, margin = format_duration(row["interval_s"]), 100 * row["margin"]
    if math.isnan(margin):
        return every
    return f"{every}\n{margin:+,.0f} pt" if abs(margin) >= 10 else f"{every}\n{margin:+.2g} pt"


def _key(axes: Axes, table: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Say what each colour is, and where it is best."""
    entries = {name: (colour, _facts(table, name)) for name, colour in colours.items()}
    for verdict, (colour, words) in _WITHOUT.items():
        count = int((table["verdict"] == verdict).sum())
        entries[verdict] = colour, f"{words}: {count} of {len(table)}" if count else ""
    for name, (colour, facts) in entries.items():
        if facts:
            axes.scatter([], [], 64, color=colour, marker="s", label=f"{name}: {facts}")


def _facts(table: pd.DataFrame, policy: str) -> str:
    """Say in how many cells a policy is best; empty if its colour is nowhere."""
    best = table[table["policy"] == policy]
    if best.empty:
        ties = sum(policy in rivals[:1] for rivals in table["rivals"])
        return f"nearest rival in {ties}" if ties else ""
    clear = sum(map(_is_sure, best.to_dict("records")))
    surely = "" if clear == len(best) else f" ({clear} surely)"
    same = set.intersection(*(set(names) for names in best["same_as"]))
    as_well = f"; no different: {', '.join(sorted(same))}" if same else ""
    return f"best in {len(best)} of {len(table)}{surely}{as_well}"


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
    base
        What losses are shares of.
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
    small: dict[str, Any] = {"ha": "center", "va": "center", "size": style.small_pt()}
    for name, colour in [*colours.items(), ("", _NO_ONE)]:
        best = table[table["least"] == name]
        face = style.paler(colour, _PALE_CELL)
        words = f"{choice}, the choice" if name == choice else name or "no policy"
        x, y = best["factor"].map(factors.index), best["lever"].map(levers.index)
        if len(best):
            label = f"{words}: best in {len(best)} of {len(table)}"
            axes.bar(x, 1, 1, y - 0.5, color=face, edgecolor="white", label=label)
        ink = style.ink_on(face)
        for at, below, (_, row) in zip(x, y, best.iterrows(), strict=True):
            value, loses = str(row["value"]).removeprefix("a save in "), _loses(row)
            axes.text(at, below - 0.2 * bool(loses), value, color=ink, **small)
            axes.text(at, below + 0.22, loses, color=ink, weight="bold", **small)
    sheet.key()
    notes = [
        f"In a cell: the input, and what {choice} loses there compared with the best policy, "
        f"in points of {base}; nothing where it is the best or within {100 * within:g} points"
    ]
    if not table["sure"].all():
        notes.append("?: not sure, as the 95 % interval leaves it open")
    return sheet.done(_holds(table, choice, within), title, notes, 0.34 * len(levers))


def points(loss: float) -> str:
    """Return a loss in percentage points, two digits; 0 for rounding."""
    value = 100 * loss
    if value < 100 * NOTHING:
        return "0 pt"
    return f"{value:.2g} pt" if value >= 0.01 else "<0.01 pt"


def _holds(table: pd.DataFrame, choice: str, within: float) -> str:
    """Say in how many jobs the choice is the best, or loses no more than doesn't matter."""
    holds = table["holds"].to_numpy(dtype=bool)
    where = "all" if holds.all() else f"{holds.sum()} of"
    may = "" if table["sure"][holds].all() else ", not surely in all of these"
    near = f"is the best, or within {100 * within:g} points"
    return f"{choice} {near}, in {where} {len(holds)} jobs{may}"


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
