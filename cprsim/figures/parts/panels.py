"""Panels: where they stand in a figure, the words above them, and the notes below all."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import layout, style
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT, WIDTH_IN

#: From the edges of the figure, inches.
MARGIN: Final = 0.1


def panel(
    figure: Figure,
    at_in: tuple[float, float],
    size_in: tuple[float, float],
    sharey: Axes | None = None,
) -> Axes:
    """Empty axes; `at_in`: inches from the figure's upper left corner to theirs, `size_in`: both.

    Call it when the figure's height is set.
    """
    (left_in, top_in), (width_in, height_in) = at_in, size_in
    whole_in = figure.get_figheight()
    bottom = 1 - (top_in + height_in) / whole_in
    box = (left_in / WIDTH_IN, bottom, width_in / WIDTH_IN, height_in / whole_in)
    return figure.add_axes(box, sharey=sharey)


def head(
    figure: Figure,
    at_in: tuple[float, float],
    what: Sequence[str],
    facts: Sequence[str],
    **font: Any,
) -> None:
    """What is shown, and below it in small letters how that is measured, or more of it."""
    below_in = layout.write(figure, at_in, what, TEXT_PT, weight="bold", **font)
    note(figure, (at_in[0], below_in), facts, **font)


def note(figure: Figure, at_in: tuple[float, float], lines: Sequence[str], **font: Any) -> None:
    """Lines in small, faint letters."""
    layout.write(figure, at_in, lines, SMALL_PT, color=style.FAINT_INK, **font)


def wrapped(notes: Iterable[str]) -> list[str]:
    """Lines of notes as wide as the figure."""
    return [line for text in notes for line in layout.wrap(text, WIDTH_IN - 2 * MARGIN, SMALL_PT)]


def foot(figure: Figure, lines: Sequence[str], ends_in: float | None = None) -> None:
    """Notes that end a margin above the figure's foot, or above `ends_in` inches from its top."""
    ends_in = figure.get_figheight() if ends_in is None else ends_in
    note(figure, (MARGIN, ends_in - MARGIN - layout.height_in(lines, SMALL_PT)), lines)
