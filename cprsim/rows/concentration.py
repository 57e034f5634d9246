"""The concentration curve through a few known points: what share of the rows gets what share."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError

Array = NDArray[np.float64]


def concentration(points: Sequence[tuple[float, float]]) -> Callable[[Array], Array]:
    """The share of accesses that the most popular rows get, as a function of their share.

    The curve passes through (0, 0), the points and (1, 1), is concave, and has no kink but where a
    straight piece needs one. Its slope (popularity relative to the mean row's) at a point is the
    geometric mean of the slopes of the chords that meet there. From the top to the first point it
    is a power of the share of rows, as in Zipf's law. Between two points popularity falls from
    slope to slope as `(1 - u)^g`, where g meets the second point; on the last piece it
    falls to the chord's slope squared over the slope where it starts. Before rows that nobody
    touches it falls to half the chord's slope.

    Parameters
    ----------
    points
        Shares of rows and of accesses, 0 to 1, ascending and concave; (0, 0) and (1, 1) may be
        left out.

    Raises
    ------
    UsageError
        If there is none, they are out of range or order, or would have less popular rows first.
    """
    x, y = _complete(points)
    chords = np.diff(y) / np.diff(x)
    for i in np.flatnonzero(np.diff(chords) > 1e-9 * chords[:-1]):
        raise UsageError(
            f"the curve bends upwards at {x[i + 1]:g}, {y[i + 1]:g}: the rows after it would be "
            f"more popular than those before; count the most popular rows first"
        )
    inner = np.where(chords[1:] > 0, np.sqrt(chords[:-1] * chords[1:]), chords[:-1] / 2)
    last = chords[-1] ** 2 / inner[-1] if inner[-1] > 0 else 0.0
    slopes = np.concatenate([[math.nan], inner, [last]])

    def served(share: Array) -> Array:
        piece = np.clip(np.searchsorted(x, share, side="right") - 1, 0, len(chords) - 1)
        result = np.empty(len(share))
        for i in range(len(chords)):
            inside = piece == i
            u = (share[inside] - x[i]) / (x[i + 1] - x[i])
            shape = u
            if i == 0:
                shape = u ** (slopes[1] / chords[0])  # whose slope at 1 is the exponent
            elif chords[i] > 0:
                shape = _fall(slopes[i] / chords[i], slopes[i + 1] / chords[i], u)
            result[inside] = y[i] + (y[i + 1] - y[i]) * shape
        return result

    return served


def _fall(start: float, end: float, u: Array) -> Array:
    """Integral from 0 to 1 of a slope that falls from `start` >= 1 to `end` <= 1 with mean 1."""
    if not end < 1 < start:  # a straight piece
        return u
    power = (start - end) / (1 - end)
    return np.asarray(end * u + (1 - end) * (1 - (1 - u) ** power))


def _complete(points: Sequence[tuple[float, float]]) -> tuple[Array, Array]:
    """Points with both ends, or the fault of them."""
    inner = [point for point in map(tuple, points) if point not in ((0.0, 0.0), (1.0, 1.0))]
    if not inner:
        raise UsageError("the curve has no point; give one or more, e.g. (0.01, 0.46)")
    for rows, accesses in inner:
        if not (0 < rows < 1 and 0 <= accesses <= 1):
            raise UsageError(
                f"the point {rows:g}, {accesses:g} is out of range: shares go from 0 to 1"
            )
    ends = np.array([(0.0, 0.0), *inner, (1.0, 1.0)])
    for before, after in pairwise(ends):
        if after[0] <= before[0] or after[1] < before[1]:
            raise UsageError(
                f"the point {after[0]:g}, {after[1]:g} comes after {before[0]:g}, {before[1]:g}: "
                f"both shares ascend"
            )
    return ends[:, 0], ends[:, 1]
