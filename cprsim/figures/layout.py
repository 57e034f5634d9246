"""Text that is measured before it is placed, so that none is cut and none covers another."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cprsim.figures.style import FONT, INK, SMALL_PT

PAD_PT: Final = 4.0  # between a label and what it labels
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
    """Lines no wider than `width_in` inches; breaks after blanks and `-_./,`, else anywhere."""
    rest = " ".join(text.split())
    lines = []
    while rest:
        end = len(rest)
        while end > 1 and text_width_in(rest[:end].rstrip(), size_pt, weight) > width_in:
            end -= 1
        if end < len(rest):
            breaks = [i for i in range(1, end + 1) if rest[i - 1] in " -_./,"]
            end = breaks[-1] if breaks else end
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return lines


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
) -> None:
    """Whiskers and values at the ends of horizontal bars; sets x and its ticks so that they fit.

    `width_in`: of the axes, inches. `half_widths`: of the intervals, not a number for none.
    `zero`: what is written where there is no bar.
    """
    halves = np.nan_to_num(half_widths)
    pairs = zip(shares, half_widths, strict=True)
    texts = [percent(*pair) if pair[0] > 0 else zero for pair in pairs]
    # x goes so far that the widest label beyond its bar still ends within the axes.
    rooms_in = [width_in - text_width_in(t, SMALL_PT, "bold") - 2 * PAD_PT / 72 for t in texts]
    ends = shares + halves
    reach = float(max(ends * width_in / np.asarray(rooms_in))) or 1.0
    axes.set_xlim(0, reach)
    _percent_ticks(axes, float(max(ends)), width_in / reach)
    below = np.minimum(halves, shares)  # no whisker goes below zero
    axes.errorbar(shares, y, xerr=[below, halves], fmt="none", ecolor=INK, elinewidth=1.0)
    for at, text in zip(zip(ends, y, strict=True), texts, strict=True):
        axes.annotate(
            text,
            at,
            xytext=(PAD_PT, 0),
            textcoords="offset points",
            va="center_baseline",
            size=SMALL_PT,
            weight="normal" if text == zero else "bold",
        )


def _percent_ticks(axes: Axes, end: float, in_per_share: float) -> None:
    """Round ticks from 0 to `end`, as many as have room, five steps at most."""
    ticks, texts = np.zeros(1), ["0 %"]
    for steps in (1, 2, 3, 4, 5) if end > 0 else ():
        more = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10]).tick_values(0, end)
        more = more[more <= end]
        more_texts = [f"{100 * tick:.6f}".rstrip("0").rstrip(".") + " %" for tick in more]
        widest_in = max(text_width_in(text, SMALL_PT) for text in more_texts)
        if len(more) > 1 and more[1] * in_per_share > widest_in + 2 * PAD_PT / 72:
            ticks, texts = more, more_texts
    axes.set_xticks(ticks, texts)
