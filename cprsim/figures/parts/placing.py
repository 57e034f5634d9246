"""Names beside points, where they cover neither each other nor points."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from cprsim.figures.parts import layout, style, ticks
from cprsim.figures.parts.style import SMALL_PT

Floats = NDArray[np.float64]

_CLEAR: Final = 0.05  # around a point, inches
_FAR: Final = 0.28  # where there is no room near by, inches
#: Ways from a point to the middle of its name, in half its size.
_WAYS: Final = ((1, 1), (1, -1), (1, 0), (-1, 1), (-1, -1), (-1, 0), (0, 1), (0, -1))
_LEADER: Final[dict[str, Any]] = {
    "arrowstyle": "-",
    "linewidth": 0.5,
    "color": style.FAINT_INK,
    "shrinkA": 0,
    "shrinkB": 3,
}


def name_points(
    axes: Axes, size_in: tuple[float, float], at: Floats, names: Sequence[tuple[int, str]]
) -> None:
    """Write the names of some points; one that finds no room is left out.

    Parameters
    ----------
    size_in
        Width and height of the axes, inches.
    at
        All points, shape (points, 2).
    names
        Of the points to be named, their number and name, the more important first.
    """
    there = np.stack(
        [ticks.share_of(axis, at[:, i]) for i, axis in enumerate((axes.xaxis, axes.yaxis))], axis=1
    ) * np.asarray(size_in)
    taken: list[Floats] = []
    for number, name in names:
        half = np.array([layout.text_width_in(name, SMALL_PT), 1.15 * SMALL_PT / 72]) / 2
        box = _box(there, number, half, taken, np.asarray(size_in))
        if box is None:
            continue
        taken.append(box)
        middle = box.mean(axis=0)
        axes.annotate(
            name,
            at[number],
            xytext=72 * (middle - there[number]),
            textcoords="offset points",
            size=SMALL_PT,
            ha="center",
            va="center",
            zorder=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.8},
            arrowprops=_LEADER,
        )


def _box(
    there: Floats, number: int, half: Floats, taken: Sequence[Floats], size_in: Floats
) -> Floats | None:
    """The first free place of that size near a point: lower left and upper right corner, inches."""
    for far in (_CLEAR, _FAR, 2 * _FAR, 3 * _FAR):
        for way in _WAYS:
            middle = there[number] + np.asarray(way) * (half + far)
            box = np.stack([middle - half, middle + half])
            inside = (box[0] >= 0).all() and (box[1] <= size_in).all()
            clear = not ((there > box[0] - _CLEAR) & (there < box[1] + _CLEAR)).all(axis=1).any()
            apart = all((box[0] >= one[1]).any() or (box[1] <= one[0]).any() for one in taken)
            if inside and clear and apart:
                return box
    return None
