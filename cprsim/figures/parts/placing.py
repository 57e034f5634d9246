"""Names of points, where they cover neither each other nor points."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from cprsim.figures.parts import style
from cprsim.figures.parts.sheet import place

_CLEAR_PT: Final = 4.0  # around a point
_FAR_PT: Final = (6.0, 16.0, 28.0, 42.0, 58.0)  # from a point to its name, nearest first
#: Ways from a point to the middle of its name, in half its size.
_WAYS: Final = ((1, 1), (1, -1), (1, 0), (-1, 1), (-1, -1), (-1, 0), (0, 1), (0, -1))
_LOOK: Final[dict[str, Any]] = {
    "textcoords": "offset points",
    "ha": "center",
    "va": "center",
    "zorder": 8,
    "in_layout": False,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.8},
    "arrowprops": {
        "arrowstyle": "-",
        "linewidth": 0.5,
        "color": style.FAINT_INK,
        "shrinkA": 0,
        "shrinkB": 3,
    },
}


def name_points(
    figure: Figure, axes: Axes, at: NDArray[np.float64], names: Sequence[tuple[int, str]]
) -> None:
    """Write the names of some points, as far as they find room; call it when all else is placed.

    Parameters
    ----------
    at
        All points, shape (points, 2).
    names
        Of the points to be named, their number and name, the more important first.
    """
    place(figure)
    there, per_pt = axes.transData.transform(at), figure.dpi / 72
    inside, taken = axes.get_window_extent(), list[Bbox]()
    for number, name in names:
        text = axes.annotate(name, at[number], xytext=(0, 0), size=style.small_pt(), **_LOOK)
        size = np.asarray(text.get_window_extent().size) + 2 * per_pt  # no leader has a length yet
        for far_pt, way in itertools.product(_FAR_PT, _WAYS):
            shift = np.asarray(way) * (size / 2 + far_pt * per_pt)
            box = Bbox([there[number] + shift - size / 2, there[number] + shift + size / 2])
            within = inside.count_contains(box.get_points()) == 2
            covers = box.padded(_CLEAR_PT * per_pt).count_contains(there)
            if within and not covers and not box.count_overlaps(taken):
                text.set_position(tuple(shift / per_pt))
                taken.append(box)
                break
        else:
            text.remove()
