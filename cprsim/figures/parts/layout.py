"""Text that is measured before it is placed, so that none is cut and none covers another."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cprsim.figures.parts.style import FONT, INK, SMALL_PT

PAD_PT: Final = 4.0  # between a label and what it labels
_LEAST_WHISKER_PT: Final = 2.0
_NOTHING: Final = 1e-9  # of the wall clock: ledgers add up to no more than that
_LINE: Final = 1.25  # of the font size, from one line to the next
_ASCENT: Final = 0.95  # of the font size, from the top of a line to its baseline


def text_width_in(text: str, size_pt: float, weight: str = "normal") -> float:
    """The width of one line of text in the style's font, inches."""
    font = FontProperties(family=FONT, size=size_pt, weight=weight)
    width_pt, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width_pt) / 72


def height_in(lines: Sequence[str], size_pt: float) -> float:
    """The height of lines of text, inches."""
    return len(lines) * size_pt * _LINE / 72


def wrap(text: str, width_in: float, size_pt: float, weight: str = "normal") -> list[str]:
    """Lines no wider than `width_in` inches; breaks after blanks and `-_./,`, else anywhere.

    Numbers keep their digits and their `%` together.
    """
    rest = " ".join(text.split())
    lines = []
    while rest:
        end = _fitting(rest, width_in, size_pt, weight)
        if end < len(rest):
            breaks = [i for i in range(1, end + 1) if _may_break(rest, i)]
            end = breaks[-1] if breaks else end
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return lines


def _may_break(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    return before in " -_./," and after != "%" and not (before in ".,-" and after.isdigit())


def _fitting(text: str, width_in: float, size_pt: float, weight: str) -> int:
    """How many letters of `text` fit into the width; one at least."""

    def width_of(length: int) -> float:
        return text_width_in(text[:length].rstrip(), size_pt, weight)

    return max(1, bisect_right(range(1, len(text) + 1), width_in, key=width_of))


def write(
    figure: Figure, at_in: tuple[float, float], lines: Sequence[str], size_pt: float, **font: Any
) -> float:
    """Lines of text from `at_in` downwards, inches from the figure's upper left corner.

    Returns how far below the figure's upper edge they end, inches.
    """
    x_in, y_in = at_in
    for line in lines:
        baseline = 1 - (y_in + _ASCENT * size_pt / 72) / figure.get_figheight()
        figure.text(x_in / figure.get_figwidth(), baseline, line, size=size_pt, **font)
        y_in += height_in([line], size_pt)
    return y_in


def beside(
    axes: Axes,
    at: tuple[Any, Any],
    text: str,
    beyond_pt: float,
    white_pt: float | None = None,
    **font: Any,
) -> None:
    """Small text that begins so far beyond a point of the data.

    `white_pt`: how far white reaches around it, so that no grid runs through it; none by default.
    """
    axes.annotate(
        text,
        at,
        xytext=(beyond_pt, 0),
        textcoords="offset points",
        va="center_baseline",
        size=SMALL_PT,
        bbox=None
        if white_pt is None
        else {"facecolor": "white", "edgecolor": "none", "pad": white_pt},
        **font,
    )


def percent(share: float, half_width: float = math.nan) -> str:
    """A share for people: `"8.38 % ± 0.10"`; the half width of its interval only if finite."""
    value = 100 * share
    places = _places(value)
    least = 10.0**-places
    text = f"{value:.{places}f} %" if value >= least or value == 0 else f"<{least:.{places}f} %"
    if not math.isfinite(half_width):
        return text
    half = f"{100 * half_width:.{places}f}"
    if half_width > 0 and float(half) == 0:
        half = f"<{least:.{places}f}"
    return f"{text} ± {half}"


def _places(value: float) -> int:
    """Decimal places for three significant digits, or two below 0.1; four at most."""
    if value == 0:
        return 0
    magnitude = math.floor(math.log10(value))
    return min(max(2 - max(magnitude, 0), 1 - magnitude, 0), 4) if magnitude < 2 else 0


def label_bars(
    axes: Axes,
    width_in: float,
    y: Sequence[float],
    shares: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    zero: str,
    broken: float = math.inf,
) -> NDArray[np.float64]:
    """Whiskers and values at the ends of horizontal bars; sets x and its ticks so that they fit.

    `width_in`: of the axes, inches. `half_widths`: of the intervals, not a number for none.
    `zero`: what is written where there is no bar. `broken`: where bars that are longer are broken
    off, see `breaks.broken_at`; they have no whisker. The last tick stands beyond all others.
    Returns where what is within each bar must end: where its whisker begins; infinite where there
    is none.
    """
    there = shares > _NOTHING
    texts = [
        percent(share, half) if shown else zero
        for share, half, shown in zip(shares, half_widths, there, strict=True)
    ]
    whole = shares <= broken
    halves = np.where(there & whole, np.nan_to_num(half_widths), 0.0)
    ends = np.minimum(np.where(there, shares, 0.0), broken) + halves
    last = float(max(ends[whole], default=0.0))
    reach = fit_bars(axes, width_in, ends, texts, last, broken)
    # A whisker that is shorter than its caps are thick is a mere blot.
    long = halves * width_in / reach * 72 > _LEAST_WHISKER_PT
    _whiskers(axes, np.asarray(y)[long], shares[long], halves[long])
    for at, text in zip(zip(ends, y, strict=True), texts, strict=True):
        beside(axes, at, text, PAD_PT, 1, weight="normal" if text == zero else "bold")
    return np.where(long, shares - halves, np.inf)


def fit_bars(
    axes: Axes,
    width_in: float,
    ends: NDArray[np.float64],
    texts: Sequence[str],
    last: float,
    broken: float = math.inf,
) -> float:
    """Set x and its ticks, in percent, so that bold texts beyond the bars' ends fit.

    `last`: the end of the longest bar that is whole; `broken` as of `label_bars`. Returns where the
    axis ends.
    """
    # x goes so far that the widest label beyond its bar still ends within the axes.
    rooms_in = [width_in - text_width_in(t, SMALL_PT, "bold") - 2 * PAD_PT / 72 for t in texts]
    reach = float(max(ends * width_in / np.asarray(rooms_in))) or 1.0
    reach = _percent_ticks(axes, last, reach, broken, width_in)
    axes.set_xlim(0, reach)
    return reach


def _whiskers(
    axes: Axes, y: NDArray[np.float64], shares: NDArray[np.float64], halves: NDArray[np.float64]
) -> None:
    below = np.minimum(halves, shares)  # none goes below zero
    axes.errorbar(
        shares, y, xerr=[below, halves], fmt="none", ecolor=INK, elinewidth=0.9, capsize=3
    )


def _percent_ticks(axes: Axes, end: float, reach: float, broken: float, width_in: float) -> float:
    """Round ticks from 0 beyond `end`, as many as have room, five steps at most.

    None stands where bars are broken off. Returns where the axis ends: at `reach`, or at the last
    tick if that is farther.
    """
    ticks, texts, longest = [0.0], ["0 %"], reach
    for values in _round_steps(end) if end > 0 else ():
        more = [tick for tick in values if tick < broken]
        more_texts = [f"{100 * tick:.9f}".rstrip("0").rstrip(".") + " %" for tick in more]
        widest_in = max(text_width_in(text, SMALL_PT) for text in more_texts)
        far = max(reach, more[-1] + widest_in / 2 * reach / width_in)
        if len(more) > 1 and more[1] * width_in / far > widest_in + 2 * PAD_PT / 72:
            ticks, texts, longest = more, more_texts, far
    axes.set_xticks(ticks, texts)
    return longest


def _round_steps(end: float) -> Iterator[list[float]]:
    """Ever finer round ticks from 0 to `end` or beyond."""
    for steps in (1, 2, 3, 4, 5):
        locator = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10], min_n_ticks=1)
        yield [float(tick) for tick in locator.tick_values(0, end)]
