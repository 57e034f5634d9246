"""Keys: beside the panels a sample of each line, what it is, and more of it; causes in a row."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import layout, style
from cprsim.figures.parts.style import SMALL_PT, WIDTH_IN

# In inches.
_SWATCH: Final = 0.34
_BESIDE: Final = 0.08  # from a sample to its words
_RIGHT: Final = WIDTH_IN - 0.1
_BELOW: Final = 0.06
_CAUSES: Final = 0.3  # a row of causes
_CAUSES_ROW: Final = 0.17  # each further one
_MOST_IN_A_ROW: Final = 8


def entry(
    figure: Figure,
    at_in: tuple[float, float],
    samples: Sequence[Line2D],
    words: str,
    facts: str,
    bold: bool = False,
) -> float:
    """One entry from `at_in` downwards, inches from the figure's upper left corner.

    `samples`: lines that look as in the panels, one over the other; a marker alone stands in the
    middle. Returns where the next entry begins, inches from the figure's upper edge.
    """
    left_in, top_in = at_in
    middle = 1 - (top_in + layout.height_in([""], SMALL_PT) / 2) / figure.get_figheight()
    ends = np.array([left_in, left_in + _SWATCH]) / WIDTH_IN
    for line in samples:
        x = ends.mean(keepdims=True) if line.get_linestyle() == "None" else ends
        line.set(xdata=x, ydata=np.full(len(x), middle), transform=figure.transFigure)
        figure.add_artist(line)
    weight = "bold" if bold else "normal"
    text_in = left_in + _SWATCH + _BESIDE
    room_in = _RIGHT - text_in
    fits = layout.text_width_in(words, SMALL_PT, weight) <= room_in
    # A line breaks after a comma rather than within a number.
    parts = [words] if fits else words.replace(", ", ",\n", 1).splitlines()
    lines = [line for part in parts for line in layout.wrap(part, room_in, SMALL_PT, weight)]
    top_in = layout.write(figure, (text_in, top_in), lines, SMALL_PT, weight=weight)
    lines = layout.wrap(facts, room_in, SMALL_PT)
    top_in = layout.write(figure, (text_in, top_in), lines, SMALL_PT, color=style.FAINT_INK)
    return top_in + _BELOW


def square(
    figure: Figure, at_in: tuple[float, float], colour: str, words: str, facts: str
) -> float:
    """An entry of what has that colour; else as `entry`."""
    look: dict[str, Any] = {"marker": "s", "markersize": 8.0, "markeredgewidth": 0}
    sample = Line2D([], [], color=colour, linestyle="None", **look)
    return entry(figure, at_in, [sample], words, facts, bold=True)


def causes_height_in(names: Sequence[str]) -> float:
    """Room that `causes` takes, inches."""
    return _CAUSES + (_rows(names) - 1) * _CAUSES_ROW


def causes(figure: Figure, names: Sequence[str], at_in: tuple[float, float]) -> None:
    """Causes of lost time in rows, in their colours, from `at_in`: inches from the top left."""
    if not names:
        return
    left_in, top_in = at_in
    figure.legend(
        handles=[Patch(color=style.CAUSE_COLOURS[c], label=CAUSE_LABELS[c]) for c in names],
        loc="upper left",
        bbox_to_anchor=(left_in / WIDTH_IN, 1 - top_in / figure.get_figheight()),
        ncols=-(-len(names) // _rows(names)),
        borderpad=0.3,
        borderaxespad=0,
        handlelength=1.1,
        handletextpad=0.4,
        columnspacing=1.1,
    )


def _rows(names: Sequence[str]) -> int:
    return max(1, -(-len(names) // _MOST_IN_A_ROW))
