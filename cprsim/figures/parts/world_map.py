"""A map of worlds: who is the least where two things are others, and what a choice loses there."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cprsim.figures.parts import layout, style
from cprsim.figures.parts.style import SMALL_PT

CELL_IN: Final = 0.5  # height
_BESIDE: Final = 0.06  # from the rows' names to the cells, inches
NO_ONE: Final = "#EDEDED"
_NOTHING: Final = 1e-9
_FACTORS: Final = {0.25: "1/4", 0.5: "1/2"}


def draw_map(axes: Axes, grid: pd.DataFrame, colours: Mapping[str, str], name: str) -> None:
    """A cell a pair of factors, in the colour of who is the least; `name`: of what is across."""
    across, down = (_marks(grid, *which) for which in (("across", "x"), ("down", "y")))
    columns, rows = ({f: i for i, (f, _) in enumerate(some)} for some in (across, down))
    axes.set_xlim(0, len(columns))
    axes.spines[:].set_visible(False)
    words = [f"{text.removeprefix('a save in ')}\n×{factor(f)}" for f, text in across]
    axes.set_xticks(np.arange(len(columns)) + 0.5, words)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(name, labelpad=1)
    for row in grid.to_dict("records"):
        x, top = columns[row["across"]], rows[row["down"]] * CELL_IN
        _cell(axes, (x, top), row, colours)
    if 1 in columns and 1 in rows:
        look: dict[str, Any] = {"fill": False, "edgecolor": style.INK, "linewidth": 1.6}
        corner = (columns[1], rows[1] * CELL_IN)
        asked = Rectangle(corner, 1, CELL_IN, zorder=5, clip_on=False, **look)
        axes.add_patch(asked)


def write_down(
    figure: Figure, at_in: tuple[float, float], room_in: float, grid: pd.DataFrame, name: str
) -> None:
    """What the rows of a map at `at_in` are, left of it."""
    look: dict[str, Any] = {"color": style.FAINT_INK, "ha": "right"}
    right_in, top_in = at_in[0] - _BESIDE, at_in[1]
    lines = layout.wrap(name, room_in, SMALL_PT)
    above_in = top_in - layout.height_in(lines, SMALL_PT) - 0.03
    layout.write(figure, (right_in, above_in), lines, SMALL_PT, **look)
    for i, (times, value) in enumerate(_marks(grid, "down", "y")):
        text = f"{value.removeprefix('a save in ')}  ×{factor(times)}"
        middle_in = top_in + (i + 0.5) * CELL_IN
        beside_in = (right_in, middle_in - layout.height_in([text], SMALL_PT) / 2)
        layout.write(figure, beside_in, [text], SMALL_PT, **look)


def points(loss: float) -> str:
    """A loss in percentage points, two digits; 0 for rounding."""
    value = 100 * loss
    if value < 100 * _NOTHING:
        return "0 pt"
    return f"{value:.2g} pt" if value >= 0.01 else "<0.01 pt"


def factor(value: float) -> str:
    """As people write it."""
    return _FACTORS.get(value, f"{value:g}")


def _marks(grid: pd.DataFrame, which: str, value: str) -> list[tuple[float, str]]:
    """Of the rows or columns of the map: the factor, and what is there."""
    return list(dict.fromkeys(zip(grid[which], grid[value], strict=True)))


def _cell(
    axes: Axes, at: tuple[float, float], row: Mapping[Any, Any], colours: Mapping[str, str]
) -> None:
    face = NO_ONE if not row["least"] else colours[row["least"]]
    look: dict[str, Any] = {"facecolor": face, "edgecolor": "white", "linewidth": 1.0}
    axes.add_patch(Rectangle(at, 1, CELL_IN, **look))
    if row["least"] and not row["holds"]:
        hatch: dict[str, Any] = {
            "fill": False,
            "hatch": "////",
            "edgecolor": "white",
            "linewidth": 0,
        }
        axes.add_patch(Rectangle(at, 1, CELL_IN, **hatch))
    if not row["least"]:
        text = "nobody"
    else:
        text = points(row["loses"]) if row["keeps"] else _over(row["loses"])
        text += "" if row["sure"] else "?"
    axes.text(
        at[0] + 0.5,
        at[1] + CELL_IN / 2,
        text,
        size=SMALL_PT,
        color=style.ink_on(face),
        ha="center",
        va="center",
        bbox={"facecolor": face, "edgecolor": "none", "pad": 0.8},
    )


def _over(loss: float) -> str:
    return "n/a" if math.isnan(loss) else "over"
