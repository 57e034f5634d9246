"""Bars so much longer than all others that they are broken off, so that the others can be seen."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike

#: From how many times the next on a bar is an outlier.
OUTLIER: Final = 4.0
_BEYOND: Final = 1.5  # times the longest other bar: where outliers are broken off
_GAP_IN: Final = 0.035  # width of the cut
_SLANT_IN: Final = 0.04
_AT: Final = 0.88  # of a broken bar's length, the cut
#: What the note below a picture says of them.
NOTE: Final = "A cut bar isn't to scale: its number is; its colours part it as the causes do."


def broken_at(values: ArrayLike) -> float:
    """Where bars of these lengths are broken off; infinite where none is an outlier.

    Outliers are over `OUTLIER` times as long as all others, of which there are two or more, and
    fewer than half.
    """
    lengths = np.sort(np.asarray(values, dtype=np.float64).ravel())
    lengths = lengths[lengths > 0]
    for count in range(1, (len(lengths) + 1) // 2):
        rest = lengths[: len(lengths) - count]
        if len(rest) > 1 and lengths[len(rest)] > OUTLIER * rest[-1]:
            return float(_BEYOND * rest[-1])
    return math.inf


def cut(axes: Axes, width_in: float, y: Sequence[float], high: float, at: float) -> None:
    """A white cut through each bar at `y`, `high` and broken off at `at`; both in data.

    `width_in`: of the axes, inches. Call it when their limits are set.
    """
    low, end = axes.get_xlim()
    per_in = (end - low) / width_in
    for middle in y:
        top, bottom = middle - 0.65 * high, middle + 0.65 * high
        left, slant, gap = _AT * at, _SLANT_IN * per_in, _GAP_IN * per_in
        corners = [
            (left - slant, bottom),
            (left + slant, top),
            (left + slant + gap, top),
            (left - slant + gap, bottom),
        ]
        axes.add_patch(Polygon(corners, facecolor="white", edgecolor="none", zorder=5))
