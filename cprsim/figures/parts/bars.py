"""Horizontal bars: rows with a name, lengths by cause, values at their ends."""

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cprsim.figures.parts import style, texts, ticks
from cprsim.figures.parts.texts import percent

Floats = NDArray[np.float64]

_BETWEEN_IN: Final = 0.16  # two rows of text
_LINE: Final = 1.25  # of the size of text, from one line to the next
_SHORT: Final = 0.01  # of the axis: a whisker that is shorter is a mere blot
_VALUE: Final = (0.14, 0.2)  # of the axis: a part of a bar that holds its value; in a narrow figure


def name_rows(
    axes: Axes, names: Sequence[str], facts: Sequence[str] = (), least_in: float = 0.0
) -> float:
    """Name rows 0, 1, ... downwards; `facts` are in small letters below the names.

    Returns how high a row is to be, inches: `least_in`, or more for more lines of text.
    """
    letters, more = (15, 19) if style.is_narrow() else (28, 36)
    wrapped = [texts.lines(name, letters) for name in names]
    below = [texts.lines(each, more) for each in facts or [""] * len(names)]
    counts = np.array([(len(name), len(fact)) for name, fact in zip(wrapped, below, strict=True)])
    line_in = _LINE * style.small_pt() / 72
    row_in = max(least_in, _BETWEEN_IN + float(counts.sum(axis=1).max()) * line_in)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), ["\n".join(each) for each in wrapped])
    axes.tick_params(axis="y", which="both", length=0)
    for label in axes.get_yticklabels():
        label.set(color=mpl.rcParams["text.color"], fontweight="bold")
    if any(facts):
        middles = np.arange(len(names)) + counts.sum(axis=1) * line_in / 2 / row_in
        axes.set_yticks(middles, ["\n".join(each) for each in below], minor=True)
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
) -> list[BarContainer]:
    """Draw a bar for each row of `shares`, which has a column a cause; return those of each cause.

    `pale`: share of white in the colours of each row.
    """
    found, ends = list[BarContainer](), np.zeros(len(shares))
    bars = axes.bar if upright else axes.barh
    for cause in causes:
        own = style.cause_colour(cause)
        colours = [style.paler(own, white) for white in pale] or own
        found.append(bars(at, shares[cause], thickness, ends, color=colours))
        ends = ends + shares[cause].to_numpy(dtype=np.float64)
    return found


def write_parts(axes: Axes, found: Sequence[BarContainer], limits: Floats) -> None:
    """Write its value into each part of a bar that has room; `limits`: ends of the rows' room."""
    least = _VALUE[style.is_narrow()] * axes.get_xlim()[1]
    look: dict[str, Any] = {"ha": "center", "va": "center", "size": style.small_pt()}
    for container in found:
        for bar, limit in zip(container, limits, strict=True):
            wide, (x, y) = bar.get_width(), bar.get_center()
            if wide > least and x + least / 2 < limit:
                ink = style.ink_on(bar.get_facecolor())
                axes.text(x, y, percent(wide), color=ink, in_layout=False, **look)


def whiskers(axes: Axes, low: Floats, high: Floats) -> None:
    """Draw intervals of rows 0, 1, ...; none is shorter than it is thick, and none below 0."""
    reach = axes.get_xlim()[1]
    for y, (left, right) in enumerate(zip(np.maximum(low, 0), high, strict=True)):
        if right - left > _SHORT * reach:
            axes.plot([left, right], [y, y], "|-", color=style.INK, linewidth=0.9, markersize=3.5)


def beyond(
    axes: Axes, at: tuple[float, float], text: str, pad_pt: float = 3.0, **look: Any
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


def dashed(axes: Axes, at: float) -> None:
    """Draw a limit along x."""
    axes.axvline(at, color=style.INK, linewidth=1.0, linestyle=(0, (3, 2)), zorder=1.5)
