"""Lanes: bars along the time of a run, one above the other, and what their colours mean."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray

from cprsim.figures.parts import layout, panels, style, ticks
from cprsim.figures.parts.style import CAUSE_COLOURS, SMALL_PT, TRAINING_COLOUR, WIDTH_IN
from cprsim.figures.parts.thinning import BarBlock, merged
from cprsim.history.phases import WAIT, WORDS

# In inches.
MARGIN: Final = 0.1
LEFT: Final = 1.62  # of the lanes; their names end before it
WIDTH: Final = WIDTH_IN - LEFT - 0.2
NAME_WIDTH: Final = LEFT - MARGIN - 0.08
_MARKS: Final = 0.08  # above a lane that failures hit
_COUNTS: Final = 0.2  # above one that so many hit that they are counted
_COUNT_WIDTH: Final = 0.04  # of the bar of a count
_FOOT: Final = 0.38
_LEGEND_LINE: Final = 0.15
_SWATCH: Final = 0.11
_BESIDE: Final = 0.05  # from a swatch to its word
_APART: Final = 0.16  # from a word to the next swatch

#: Colours of what a lane does; who waits has none.
COLOURS: Final = {"train": TRAINING_COLOUR, **CAUSE_COLOURS, WAIT: "white"}
#: Failures that are marked by arrows; more of them by strokes.
_MOST_ARROWS: Final = 40
#: That are marked; of more, those in each stretch are counted.
_MOST_MARKS: Final = 120
_PIXEL_IN: Final = 1 / 200  # of the style's resolution


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane: lines of its name, what is done in it up to `end_s`, and when failures hit it.

    `facts`: below its name, in faint letters. `below_in`: what is left free below it.
    """

    name: Sequence[str]
    blocks: Sequence[BarBlock]
    end_s: float
    failures_s: Sequence[float] = ()
    facts: Sequence[str] = ()
    height_in: float = 0.15
    below_in: float = 0.07

    @property
    def whole_in(self) -> float:
        """With its marks and its name."""
        marks_in = _COUNTS if self.crowded else _MARKS if self.failures_s else 0.0
        return max(self.height_in + marks_in, self.name_in) + self.below_in

    @property
    def crowded(self) -> bool:
        """Whether its failures are counted, as marks would run into each other."""
        return len(self.failures_s) > _MOST_MARKS

    @property
    def name_in(self) -> float:
        """How high its name is."""
        return layout.height_in([*self.name, *self.facts], SMALL_PT)


def height_in(rows: Sequence[LaneRow]) -> float:
    """What the rows and the axis of time take."""
    return sum(row.whole_in for row in rows) + _FOOT


def draw_lanes(figure: Figure, rows: Sequence[LaneRow], top_in: float, end_s: float) -> Axes:
    """Rows from `top_in` downwards to the figure's foot, on one axis of wall-clock time.

    x is in seconds from 0 to `end_s`, y in inches from the top.
    """
    lanes_in = height_in(rows) - _FOOT
    axes = panels.panel(figure, (LEFT, top_in), (WIDTH, lanes_in))
    axes.set(xlim=(0, end_s), ylim=(lanes_in, 0))
    at_in = 0.0
    for row in rows:
        bottom_in = at_in + row.whole_in - row.below_in
        lane_in = bottom_in - row.height_in
        _frame(axes, lane_in, row)
        _bar(axes, row.blocks, lane_in, row.height_in, end_s)
        if row.crowded:
            _counts(axes, row.failures_s, lane_in, end_s)
        else:
            _marks(axes, row.failures_s, lane_in, end_s)
        # Beside the middle of the lane; a name that is higher than that has its room above.
        beside_in = min((lane_in + bottom_in - row.name_in) / 2, bottom_in - row.name_in)
        _name(figure, row, top_in + beside_in)
        at_in = bottom_in + row.below_in
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)
    unit, factor = ticks.unit_of(end_s)
    ticks.number_ticks(axes, "x", WIDTH, factor)
    axes.set_xlabel(f"wall-clock time, {unit}", labelpad=2)
    return axes


def legend(words: Mapping[str, str]) -> list[list[tuple[str, str]]]:
    """Colours and words in lines that fit into the figure, from what is done to words for it."""
    lines: list[list[tuple[str, str]]] = [[]]
    room_in = WIDTH_IN - 2 * MARGIN
    for doing, word in words.items():
        needed_in = _entry_in(word)
        if lines[-1] and needed_in > room_in:
            lines.append([])
            room_in = WIDTH_IN - 2 * MARGIN
        lines[-1].append((COLOURS[doing], word))
        room_in -= needed_in
    return lines


def legend_in(lines: Sequence[object]) -> float:
    """How high the lines of a `legend` are."""
    return len(lines) * _LEGEND_LINE


def draw_legend(figure: Figure, lines: Sequence[Sequence[tuple[str, str]]], top_in: float) -> None:
    """The lines of a `legend` from `top_in` downwards."""
    words_in = (_LEGEND_LINE - layout.height_in([""], SMALL_PT)) / 2
    for line in lines:
        left_in = MARGIN
        for colour, word in line:
            _swatch(figure, (left_in, top_in + (_LEGEND_LINE - _SWATCH) / 2), colour)
            at_in = (left_in + _SWATCH + _BESIDE, top_in + words_in)
            layout.write(figure, at_in, [word], SMALL_PT)
            left_in += _entry_in(word)
        top_in += _LEGEND_LINE


def words_of(doings: Collection[str]) -> dict[str, str]:
    """What is done in words, in the order in which a lane does it, training first."""
    return {doing: WORDS[doing] for doing in COLOURS if doing in doings}


def _entry_in(word: str) -> float:
    return _SWATCH + _BESIDE + layout.text_width_in(word, SMALL_PT) + _APART


def _swatch(figure: Figure, at_in: tuple[float, float], colour: str) -> None:
    whole_in = figure.get_figheight()
    left, bottom = at_in[0] / WIDTH_IN, 1 - (at_in[1] + _SWATCH) / whole_in
    figure.add_artist(
        Rectangle(
            (left, bottom),
            _SWATCH / WIDTH_IN,
            _SWATCH / whole_in,
            facecolor=colour,
            edgecolor=style.FAINT_INK if colour == "white" else colour,
            linewidth=0.4,
            transform=figure.transFigure,
        )
    )


def _frame(axes: Axes, lane_in: float, row: LaneRow) -> None:
    """A lane's outline, so that one in which nothing is done is seen, too."""
    frame = Rectangle((0, lane_in), row.end_s, row.height_in, linewidth=0.5)
    frame.set(fill=False, edgecolor=style.RULE)
    axes.add_artist(frame)


def _bar(
    axes: Axes, blocks: Sequence[BarBlock], lane_in: float, height_in: float, end_s: float
) -> None:
    """Blocks as rectangles; what a merged block is made of is stacked in it."""
    boxes: dict[str, list[list[tuple[float, float]]]] = {}
    for block in merged(blocks, end_s * _PIXEL_IN / WIDTH):
        bottom_in = lane_in + height_in
        for doing in COLOURS:
            if doing == WAIT or not block.amounts.get(doing):
                continue
            top_in = bottom_in - height_in * block.amounts[doing] / (block.end - block.start)
            corners = [(block.start, bottom_in), (block.end, bottom_in)]
            corners += [(block.end, top_in), (block.start, top_in)]
            boxes.setdefault(doing, []).append(corners)
            bottom_in = top_in
    for doing, polygons in boxes.items():
        path = Path.make_compound_path_from_polys(np.asarray(polygons))
        axes.add_artist(PathPatch(path, facecolor=COLOURS[doing], linewidth=0, snap=False))


def _marks(axes: Axes, failures_s: Sequence[float], lane_in: float, end_s: float) -> None:
    """A mark above the lane for each failure, one for all that fall on a pixel."""
    pixel_s = end_s * _PIXEL_IN / WIDTH
    at_s = pixel_s * np.unique(np.round(np.asarray(failures_s) / pixel_s))
    few = len(at_s) <= _MOST_ARROWS
    axes.plot(
        at_s,
        np.full(len(at_s), lane_in - 0.6 * _MARKS),
        linestyle="none",
        marker="v" if few else "|",
        markersize=3.5,
        markeredgewidth=0.0 if few else 0.5,
        color=style.INK,
        clip_on=False,
    )


def counted(failures_s: Sequence[float], end_s: float) -> list[str]:
    """What is said of failures that are counted: how many, and the most in a stretch."""
    if len(failures_s) <= _MOST_MARKS:
        return []
    counts, edges_s = _stretches(failures_s, end_s)
    most = f"most: {counts.max():,} in {ticks.duration(edges_s[1])}"
    return [f"{len(failures_s):,} failures", most]


def _stretches(
    failures_s: Sequence[float], end_s: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Failures in each stretch of the time of all lanes, and its edges."""
    count = round(WIDTH / _COUNT_WIDTH)
    return np.histogram(np.asarray(failures_s), bins=count, range=(0, end_s))


def _counts(axes: Axes, failures_s: Sequence[float], lane_in: float, end_s: float) -> None:
    """A bar above the lane for each stretch, as high as its failures are many."""
    counts, edges_s = _stretches(failures_s, end_s)
    high_in = (_COUNTS - 0.04) * counts / counts.max()
    bottom_in = np.full(len(counts), lane_in - 0.02)
    axes.bar(
        edges_s[:-1],
        -high_in,
        np.diff(edges_s),
        bottom_in,
        align="edge",
        color=style.INK,
        linewidth=0,
    )


def _name(figure: Figure, row: LaneRow, top_in: float) -> None:
    right_in = LEFT - 0.08
    below_in = layout.write(figure, (right_in, top_in), row.name, SMALL_PT, ha="right")
    panels.note(figure, (right_in, below_in), row.facts, ha="right")
