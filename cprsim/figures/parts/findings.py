"""Panels two in a row, each under what it shows."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import layout, panels
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT

# In inches.
_LEFTS: Final = (0.62, 4.12)  # of the axes
_WIDTH: Final = 2.75
_HEIGHT: Final = 1.6
_HEADINGS_BELOW: Final = 0.08
_AXIS: Final = 0.5  # tick labels and what the axis is
_ROWS_APART: Final = 0.12


class Size(NamedTuple):
    """Of axes, inches."""

    width: float
    height: float


class Finding(NamedTuple):
    """A panel: what it shows, in a sentence, how that is measured, and what draws it.

    `draw` is called with axes and their size. `names_in`: room for names
    left of the axes, beyond that for numbers, inches.
    """

    says: str
    measure: str
    draw: Callable[[Axes, Size], None]
    names_in: float = 0.0


#: One panel or two, side by side.
Findings = Sequence[Finding]


def height_in(rows: Sequence[Findings]) -> float:
    """What `draw_rows` takes, inches."""
    return sum(_ROWS_APART + _heading_in(row) + _HEIGHT + _AXIS for row in rows)


def draw_rows(figure: Figure, top_in: float, rows: Sequence[Findings]) -> None:
    """All of them, row by row, from `top_in` inches below the upper edge."""
    for row in rows:
        top_in, heading_in = top_in + _ROWS_APART, _heading_in(row)
        for left_in, found in zip(_LEFTS, row, strict=False):
            says, measure = _headings(found)
            edge_in = left_in - _LEFTS[0] + MARGIN
            panels.head(figure, (edge_in, top_in), says, measure)
            axes_in, width_in = left_in + found.names_in, _WIDTH - found.names_in
            size_in = Size(width_in, _HEIGHT)
            found.draw(panels.panel(figure, (axes_in, top_in + heading_in), size_in), size_in)
        top_in += heading_in + _HEIGHT + _AXIS


def pairs(findings: Findings) -> Iterator[Findings]:
    """Two in a row, the last one perhaps alone."""
    for left, right in zip_longest(findings[::2], findings[1::2]):
        yield [left] if right is None else [left, right]


def _headings(found: Finding) -> tuple[list[str], list[str]]:
    room_in = _LEFTS[0] - MARGIN + _WIDTH
    return (
        layout.wrap(found.says, room_in, TEXT_PT, "bold"),
        layout.wrap(found.measure, room_in, SMALL_PT),
    )


def _heading_in(row: Findings) -> float:
    def of(found: Finding) -> float:
        says, measure = _headings(found)
        return layout.height_in(says, TEXT_PT) + layout.height_in(measure, SMALL_PT)

    return max(map(of, row)) + _HEADINGS_BELOW
