"""A choice where an input is another: what it loses there, and which policy is best."""

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cprsim.figures.parts import style, texts
from cprsim.figures.parts.sheet import Entry, Sheet, square
from cprsim.figures.parts.texts import NOTHING

_ROW_IN: Final = 0.34
_FACTORS: Final = {0.25: "× 1/4", 0.5: "× 1/2", 1: "as it is"}
_PALE: Final = 0.45  # white in the colour of a policy
_NO_ONE: Final = "#EDEDED"


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

    Returns
    -------
    matplotlib.figure.Figure
        A row an input, a cell for each factor, with the colour of the best policy there. In the
        cell is the value of the input and what the choice loses, in points, unless that is nothing.
    """
    with style.styled():
        names = dict.fromkeys(name for name in (choice, *table["least"]) if name)
        colours = style.policy_colours({name: systems.get(name, "") for name in names})
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        levers, factors = list(dict.fromkeys(table["lever"])), sorted(set(table["factor"]))
        axes.set(xlim=(0, len(factors)), ylim=(len(levers), 0))
        axes.set_xticks(
            [i + 0.5 for i in range(len(factors))],
            [_FACTORS.get(factor, f"× {factor:g}") for factor in factors],
        )
        letters = 12 if sheet.narrow else 24
        axes.set_yticks(
            [i + 0.5 for i in range(len(levers))],
            [texts.wrapped(name, letters) for name in levers],
        )
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        for row in table.to_dict("records"):
            at = (factors.index(row["factor"]), levers.index(row["lever"]))
            _cell(axes, at, row, colours.get(row["least"], _NO_ONE))
        sheet.key(_entries(table, choice, colours))
        notes = [
            f"In a cell: the input, and what {choice} loses there compared with the best policy, "
            f"in points of {base}; nothing where it is the best or within {100 * within:g} points"
        ]
        if not table["sure"].all():
            notes.append("?: not sure, as the 95 % interval leaves it open")
        return sheet.done(_finding(table, choice, within), title, notes, _ROW_IN * len(levers))


def points(loss: float) -> str:
    """Return a loss in percentage points, two digits; 0 for rounding."""
    value = 100 * loss
    if value < 100 * NOTHING:
        return "0 pt"
    return f"{value:.2g} pt" if value >= 0.01 else "<0.01 pt"


def _finding(table: pd.DataFrame, choice: str, within: float) -> str:
    """Say in how many jobs the choice is the best, or loses no more than doesn't matter."""
    holds = table["holds"].to_numpy(dtype=bool)
    where = "all" if holds.all() else f"{holds.sum()} of"
    may = "" if table["sure"][holds].all() else ", not surely in all of these"
    near = f"is the best, or within {100 * within:g} points"
    return f"{choice} {near}, in {where} {len(holds)} jobs{may}"


def _cell(axes: Axes, at: tuple[int, int], row: Mapping[Any, Any], colour: str) -> None:
    """Draw the best policy's colour, the value of the input and what the choice loses."""
    face = style.paler(colour, _PALE)
    axes.add_patch(Rectangle(at, 1, 1, facecolor=face, edgecolor="white", linewidth=1))
    value = str(row["value"]).removeprefix("a save in ")
    words = _words(row)
    look: dict[str, Any] = {"size": style.small_pt(), "color": style.ink_on(face)}
    middle, top = at[0] + 0.5, at[1]
    axes.text(middle, top + (0.3 if words else 0.5), value, ha="center", va="center", **look)
    axes.text(middle, top + 0.72, words, ha="center", va="center", weight="bold", **look)


def _words(row: Mapping[Any, Any]) -> str:
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


def _entries(table: pd.DataFrame, choice: str, colours: Mapping[str, str]) -> list[Entry]:
    """Say what each colour is, and in how many jobs it is the best."""
    entries = []
    for name, colour in [*colours.items(), ("", _NO_ONE)]:
        count = int((table["least"] == name).sum())
        if count:
            words = f"{choice}, the choice" if name == choice else name or "no policy"
            entries.append(
                Entry(
                    [square(style.paler(colour, _PALE))], words, f"best in {count} of {len(table)}"
                )
            )
    return entries
