"""Horizontal bars: rows with a name, lengths by cause, values at their ends."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cprsim.figures.parts import style, texts, ticks
from cprsim.figures.parts.sheet import place
from cprsim.figures.parts.texts import percent

Floats = NDArray[np.float64]

PAD_PT: Final = 3.0  # from the end of a bar to its value
_BETWEEN_IN: Final = 0.16  # two rows of text
_LINE: Final = 1.25  # of the size of text, from one line to the next
_SHORT: Final = 0.01  # of the axis: a whisker that is shorter is a mere blot


class WrittenPart(NamedTuple):
    """A value in a part of a bar, and the ends of its room along x."""

    text: Text
    left: float
    right: float


def name_rows(
    axes: Axes,
    names: Sequence[str],
    facts: Sequence[str] = (),
    *,
    narrow: bool = False,
    least_in: float = 0.0,
) -> float:
    """Name rows 0, 1, ... downwards; `facts` are in small letters below the names.

    Returns how high a row is to be, inches: `least_in`, or more for more lines of text.
    """
    letters = 15 if narrow else 28
    wrapped = [texts.lines(name, letters) for name in names]
    said = [texts.lines(each, letters + 4 + 4 * (not narrow)) for each in facts] or [
        [] for _ in names
    ]
    line_in = _LINE * style.small_pt() / 72
    most = max(len(name) + len(fact) for name, fact in zip(wrapped, said, strict=True))
    row_in = max(least_in, _BETWEEN_IN + most * line_in)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), ["\n".join(each) for each in wrapped])
    axes.tick_params(axis="y", which="both", length=0)
    for label in axes.get_yticklabels():
        label.set(color=mpl.rcParams["text.color"], fontweight="bold")
    if any(said):
        middles = [
            row + (len(name) + len(fact)) * line_in / 2 / row_in
            for row, (name, fact) in enumerate(zip(wrapped, said, strict=True))
        ]
        axes.set_yticks(middles, ["\n".join(each) for each in said], minor=True)
    axes.grid(axis="x")
    return row_in


def stack(
    axes: Axes,
    shares: pd.DataFrame,
    causes: Sequence[str],
    at: Sequence[float],
    thickness: float,
    *,
    upright: bool = False,
    pale: Sequence[float] = (),
) -> tuple[list[BarContainer], Floats]:
    """Draw a bar for each row of `shares`, which has a column a cause.

    `pale`: share of white in the colours of each row. Returns the bars of each cause, and where the
    whole bars end.
    """
    found, ends = list[BarContainer](), np.zeros(len(shares))
    bars = axes.bar if upright else axes.barh
    for cause in causes:
        lengths = shares[cause].to_numpy(dtype=np.float64)
        own = style.cause_colour(cause)
        colours = [style.paler(own, white) for white in pale] or own
        found.append(bars(at, lengths, thickness, ends, color=colours))
        ends = ends + lengths
    return found, ends


def write_parts(axes: Axes, found: Sequence[BarContainer], limits: Floats) -> list[WrittenPart]:
    """Write its value into each part of a bar; `limits`: where those of each row must end.

    `drop_cut` takes those away that have no room.
    """
    written = list[WrittenPart]()
    for container in found:
        widths = [bar.get_width() for bar in container]
        labels = [percent(width) if width > 0 else "" for width in widths]
        parts = axes.bar_label(container, labels, label_type="center", size=style.small_pt())
        for part, bar, limit in zip(parts, container, limits, strict=True):
            part.set_color(style.ink_on(bar.get_facecolor()))
            part.set_in_layout(False)
            ends = (bar.get_x(), min(bar.get_x() + bar.get_width(), limit))
            written.append(WrittenPart(part, *map(float, ends)))
    return written


def drop_cut(figure: Figure, axes: Axes, written: Sequence[WrittenPart]) -> None:
    """Take the values away that are wider than their part of a bar; call it when all is placed."""
    place(figure)
    for text, *ends in written:
        box = text.get_window_extent()
        left, right = axes.transData.transform([(end, 0.0) for end in ends])[:, 0]
        if not left + 2 <= box.x0 <= box.x1 <= right - 2:
            text.remove()


def whiskers(axes: Axes, at: Sequence[float], low: Floats, high: Floats) -> None:
    """Draw intervals of horizontal bars; none is shorter than it is thick, and none below 0."""
    reach = axes.get_xlim()[1]
    for y, left, right in zip(at, np.maximum(low, 0), high, strict=True):
        if right - left > _SHORT * reach:
            axes.plot([left, right], [y, y], "|-", color=style.INK, linewidth=0.9, markersize=3.5)


def label(axes: Axes, at: Sequence[float], ends: Floats, values: Sequence[str]) -> None:
    """Write values beyond the ends of bars."""
    for y, end, value in zip(at, ends, values, strict=True):
        beyond(axes, (float(end), y), value, weight="bold")


def beyond(
    axes: Axes, at: tuple[float, float], text: str, pad_pt: float = PAD_PT, **look: Any
) -> None:
    """Write small text right of a point, on the ground so that no grid runs through it."""
    axes.annotate(
        text,
        at,
        xytext=(pad_pt, 0),
        textcoords="offset points",
        va="center",
        size=style.small_pt(),
        annotation_clip=False,
        bbox={"facecolor": mpl.rcParams["axes.facecolor"], "edgecolor": "none", "pad": 0.5},
        **look,
    )


def reach(axes: Axes, most: float) -> None:
    """Let x begin at 0 and end at a round share, `most` or more."""
    ticks_to = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(0, most or 0.01)
    axes.set_xlim(0, max(ticks_to[-1], most))
    ticks.shares(axes.xaxis)
