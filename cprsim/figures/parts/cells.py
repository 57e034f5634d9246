"""The cells of a map: where each stands, and what is written in it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.units import format_duration
from cprsim.figures.parts import layout, panels
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.scale import Floats, Scale
from cprsim.figures.parts.style import SMALL_PT

# All in inches.
RIGHT: Final = 5.1  # of the map
_TICK: Final = 0.1  # from the texts of the vertical axis to the cells
_CELL: Final = 0.36  # height of a row
_HEIGHTS: Final = (1.4, 4.6)
_STRIP: Final = 0.55  # height, if there is one axis


@dataclass(frozen=True)
class Cells:
    """What is drawn where: the table, its scales, and where the panel is, in inches.

    Parameters
    ----------
    table
        A row a cell.
    x, y
        Scales of the axes; a strip has only the first.
    left_in, height_in
        Where the panel begins, and how high it is.
    """

    table: pd.DataFrame
    x: Scale
    y: Scale | None
    left_in: float
    height_in: float

    @classmethod
    def from_table(cls, table: pd.DataFrame, axes: Mapping[str, str]) -> "Cells":
        """Of the columns that `axes` names."""
        x, *rest = (Scale.from_column(name, table[column]) for name, column in axes.items())
        if not rest:
            return cls(table, x, None, 3 * MARGIN, _STRIP)
        (y,) = rest
        texts_in = max(layout.text_width_in(text, SMALL_PT) for text in y.texts)
        height_in = float(np.clip(_CELL * len(y.at), *_HEIGHTS))
        return cls(table, x, y, MARGIN + texts_in + _TICK, height_in)

    @property
    def width_in(self) -> float:
        """Of the panel."""
        return RIGHT - self.left_in

    @property
    def rows(self) -> NDArray[np.intp]:
        """In which row of cells each row of the table stands, from below."""
        return np.zeros(len(self.table), np.intp) if self.y is None else self.y.place

    @property
    def heights(self) -> Floats:
        """Edges of the rows of cells."""
        return np.array([0.0, 1.0]) if self.y is None else self.y.edges

    @property
    def cell(self) -> tuple[float, float]:
        """Width and height of the narrowest cell and the lowest one, inches."""
        high = self.y.least_share() if self.y else 1.0
        return self.width_in * self.x.least_share(), self.height_in * high

    @property
    def is_grid(self) -> bool:
        """Whether at least half of all pairs of values are there."""
        return 2 * len(self.table) >= len(self.x.at) * (len(self.heights) - 1)

    def texts(self) -> list[list[str]]:
        """Lines for each cell, as many as have room in all of them."""
        if not self.is_grid:
            return [[]] * len(self.table)
        full = [_lines(row) for row in self.table.to_dict("records")]
        room_in, high_in = self.cell[0] - 2 * layout.PAD_PT / 72, self.cell[1]
        for count in (2, 1):
            shown = [lines[:count] for lines in full]
            widest_in = max(layout.text_width_in(t, SMALL_PT) for some in shown for t in some)
            if widest_in <= room_in and layout.height_in([""] * count, SMALL_PT) <= high_in:
                return shown
        return [[]] * len(self.table)

    def notes(self) -> list[str]:
        """How to read what is in the cells."""
        lines = max(len(lines) for lines in self.texts())
        words = [
            "In a cell: how often the best policy saves"
            + (", and by how many points of overhead the next best is worse." if lines > 1 else ".")
        ] * (lines > 0)
        if any(self.table["rivals"]) or "undecided" in set(self.table["verdict"]):
            words.append(
                "Pale: not surely the best; hatched or edged in the colour of one that may be."
            )
        return panels.wrapped(words)


def _points(margin: float) -> str:
    """Two digits, or all before the point, with its sign."""
    return f"{margin:+,.0f}" if abs(margin) >= 10 else f"{margin:+.2g}"


def _lines(row: Mapping[Any, Any]) -> list[str]:
    if row["verdict"] in ("none", "failed"):
        return [row["verdict"]]
    margin = [] if math.isnan(row["margin"]) else [f"{_points(100 * row['margin'])} pt"]
    return [format_duration(row["interval_s"]), *margin]
