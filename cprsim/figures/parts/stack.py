"""Bars of overhead, the seconds of each cause one after the other."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from cprsim.figures.parts.style import CAUSE_COLOURS

Floats = NDArray[np.float64]


def stack(
    axes: Axes,
    shares: pd.DataFrame,
    causes: Sequence[str],
    at: Sequence[float],
    thickness: float,
    *,
    drawn: float | Floats = 1.0,
    upright: bool = False,
) -> tuple[list[Rectangle], Floats]:
    """A bar for each row of `shares`, which has a column a cause; its segments, and where bars end.

    `drawn`: what share of each bar's length is drawn, shape (rows,), where bars are broken off.
    """
    segments, ends = list[Rectangle](), np.zeros(len(shares))
    bars = axes.bar if upright else axes.barh
    for cause in causes:
        lengths = drawn * shares[cause].to_numpy(dtype=np.float64)
        segments += bars(at, lengths, thickness, ends, color=CAUSE_COLOURS[cause]).patches
        ends = ends + lengths
    return segments, ends
