"""Names of points, where they cover neither each other nor points."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from cprsim.figures.parts import style
from cprsim.figures.parts.sheet import place

Floats = NDArray[np.float64]

_CLEAR_PT: Final = 4.0  # around a point
_FAR_PT: Final = (6.0, 16.0, 28.0, 42.0, 58.0)  # from a point to its name, nearest first
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
    figure: Figure, axes: Axes, at: Floats, names: Sequence[tuple[int, str]]
) -> list[int]:
    """Write the names of some points; call it when all else is placed.

    Parameters
    ----------
    at
        All points, shape (points, 2).
    names
        Of the points to be named, their number and name, the more important first.

    Returns
    -------
    list of int
        The numbers of the points whose names found room.
    """
    place(figure)
    there = axes.transData.transform(at)
    taken: list[Bbox] = []
    named = []
    for number, name in names:
        text = axes.annotate(
            name,
            at[number],
            xytext=(0, 0),
            textcoords="offset points",
            size=style.small_pt(),
            ha="center",
            va="center",
            zorder=8,
            in_layout=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.8},
            arrowprops=_LEADER,
        )
        box = _place(text, there, number, taken, axes.get_window_extent())
        if box is None:
            text.remove()
        else:
            taken.append(box)
            named.append(number)
    return named


def _place(
    text: Annotation, there: Floats, number: int, taken: Sequence[Bbox], inside: Bbox
) -> Bbox | None:
    """Move a name to the first free place near its point; None where there is none."""
    per_pt = text.axes.figure.dpi / 72  # type: ignore[union-attr]  # it is on axes of a figure
    size = np.asarray(text.get_window_extent().size) + 2 * per_pt  # no leader has a length yet
    for far_pt in _FAR_PT:
        for way in _WAYS:
            shift = np.asarray(way) * (size / 2 + far_pt * per_pt)
            low, high = there[number] + shift - size / 2, there[number] + shift + size / 2
            box = Bbox([low, high])
            clear = _CLEAR_PT * per_pt
            covers = ((there > low - clear) & (there < high + clear)).all(axis=1).any()
            within = (low >= inside.min).all() and (high <= inside.max).all()
            if within and not covers and not any(box.overlaps(each) for each in taken):
                text.set_position(tuple(shift / per_pt))
                return box
    return None
