"""Lanes: bars along the time of a run, one above the other, and what their colours mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray

from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.style import CAUSE_COLOURS, TRAINING_COLOUR
from cprsim.figures.parts.texts import duration, unit_of
from cprsim.figures.parts.thinning import BarBlock, merged
from cprsim.history.phases import WAIT

_PARTS: Final = 1040  # of the time of all lanes: what is shorter can't be seen
# In inches.
_MARKS: Final = 0.08  # above a lane that failures hit
_COUNTS: Final = 0.2  # above one that so many hit that they are counted
_LINE: Final = 1.25  # of the size of text, from one line to the next

#: Colours of what a lane does, in that order, training first; waiting has none.
COLOURS: Final = {"train": TRAINING_COLOUR, **CAUSE_COLOURS, WAIT: "white"}
#: Failures that are marked by arrows; more of them by strokes.
_MOST_ARROWS: Final = 40
#: That are marked; of more, those in each stretch are counted.
_MOST_MARKS: Final = 120
_STRETCHES: Final = 130  # in which they are counted


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane: its name, what is done in it up to `end_s`, and when failures hit it.

    `name`: lines of text. `height_in`, `below_in`: of the lane and below it, inches.
    """

    name: Sequence[str]
    blocks: Sequence[BarBlock]
    end_s: float
    failures_s: Sequence[float] = ()
    height_in: float = 0.15
    below_in: float = 0.07

    @property
    def name_in(self) -> float:
        """Height of its name, inches."""
        return len(self.name) * _LINE * style.small_pt() / 72

    @property
    def whole_in(self) -> float:
        """Height with its marks and its name, inches."""
        marks_in = _COUNTS if self.crowded else _MARKS if self.failures_s else 0.0
        return max(self.height_in + marks_in, self.name_in) + self.below_in

    @property
    def crowded(self) -> bool:
        """Whether its failures are counted, as marks would run into each other."""
        return len(self.failures_s) > _MOST_MARKS


def draw_lanes(axes: Axes, rows: Sequence[LaneRow], end_s: float) -> float:
    """Draw rows downwards on one axis of wall-clock time; return their height, inches.

    x is in seconds from 0 to `end_s`, y in inches from the top.
    """
    at_in, names = 0.0, {}
    for row in rows:
        bottom_in = at_in + row.whole_in - row.below_in
        lane_in = bottom_in - row.height_in
        # An outline, so that a lane in which nothing is done is seen, too.
        frame = Rectangle((0, lane_in), row.end_s, row.height_in, linewidth=0.5)
        frame.set(fill=False, edgecolor=style.RULE)
        axes.add_artist(frame)
        _bar(axes, row.blocks, lane_in, row.height_in, end_s)
        if row.crowded:
            _counts(axes, row.failures_s, lane_in, end_s)
        elif row.failures_s:
            _marks(axes, row.failures_s, lane_in, end_s)
        # At the middle of the lane; a name that is higher than that has its room above.
        middle_in = min((lane_in + bottom_in) / 2, bottom_in - row.name_in / 2)
        names[middle_in] = "\n".join(row.name)
        at_in = bottom_in + row.below_in
    axes.set(xlim=(0, end_s), ylim=(at_in, 0))
    axes.set_yticks([*names], [*names.values()])
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.spines["left"].set_visible(False)
    unit, factor = unit_of(end_s)
    ticks.numbers(axes.xaxis, factor)
    axes.set_xlabel(f"wall-clock time, {unit}")
    return at_in


def _bar(
    axes: Axes, blocks: Sequence[BarBlock], lane_in: float, height_in: float, end_s: float
) -> None:
    """Draw blocks as rectangles; what a merged block is made of is stacked in it."""
    boxes: dict[str, list[list[tuple[float, float]]]] = {}
    for start, end, amounts in merged(blocks, end_s / _PARTS):
        bottom_in = lane_in + height_in
        for doing in COLOURS:
            if doing != WAIT and amounts.get(doing):
                top_in = bottom_in - height_in * amounts[doing] / (end - start)
                corners = [(start, bottom_in), (end, bottom_in), (end, top_in), (start, top_in)]
                boxes.setdefault(doing, []).append(corners)
                bottom_in = top_in
    for doing, polygons in boxes.items():
        path = Path.make_compound_path_from_polys(np.asarray(polygons))
        axes.add_artist(PathPatch(path, facecolor=COLOURS[doing], linewidth=0, snap=False))


def _marks(axes: Axes, failures_s: Sequence[float], lane_in: float, end_s: float) -> None:
    """Draw a mark above the lane for each failure, one for all that fall on a pixel."""
    pixel_s = end_s / _PARTS
    at_s = pixel_s * np.unique(np.round(np.asarray(failures_s) / pixel_s))
    marker, edge = ("v", 0.0) if len(at_s) <= _MOST_ARROWS else ("|", 0.5)
    (marks,) = axes.plot(at_s, np.full(len(at_s), lane_in - 0.6 * _MARKS), marker, color=style.INK)
    marks.set(markersize=3.5, markeredgewidth=edge, clip_on=False)


def counted(failures_s: Sequence[float], end_s: float) -> list[str]:
    """Return words for failures that are counted: how many, and the most in a stretch."""
    if len(failures_s) <= _MOST_MARKS:
        return []
    counts, edges_s = _stretches(failures_s, end_s)
    most = f"most: {counts.max():,} in {duration(edges_s[1])}"
    return [f"{len(failures_s):,} failures", most]


def _stretches(
    failures_s: Sequence[float], end_s: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return failures in each stretch of the time of all lanes, and its edges."""
    return np.histogram(np.asarray(failures_s), bins=_STRETCHES, range=(0, end_s))


def _counts(axes: Axes, failures_s: Sequence[float], lane_in: float, end_s: float) -> None:
    """Draw a bar above the lane for each stretch, as high as its failures are many."""
    counts, edges_s = _stretches(failures_s, end_s)
    high_in = (_COUNTS - 0.04) * counts / counts.max()
    ink: dict[str, Any] = {"color": style.INK, "linewidth": 0}
    axes.bar(edges_s[:-1], -high_in, np.diff(edges_s), lane_in - 0.02, align="edge", **ink)
