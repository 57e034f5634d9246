"""The axis of values of several sizes: linear where they are near each other, else logarithmic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from cprsim.figures.parts import ticks
from cprsim.figures.parts.style import INK, WIDTH_IN

Floats = NDArray[np.float64]

#: Times the least from which on a linear axis would show the least as nothing.
_SPREAD: Final = 8.0
_ROOM: Final = 1.12  # beyond the outermost values
_LEAST: Final = 1e-9
_LEAST_PT: Final = 2.0  # of a whisker


@dataclass(frozen=True)
class ValueAxis:
    """From where to where an axis goes, and whether it is logarithmic.

    `factor`: the unit of its ticks; percent by default. `most`: the largest of the values, beyond
    which the last tick stands.
    """

    low: float
    high: float
    logarithmic: bool
    factor: float = 0.01
    most: float | None = None

    @classmethod
    def of(cls, values: ArrayLike, bound: float | None = None) -> "ValueAxis":
        """One that holds all values, and the bound, with some room."""
        every = np.append(np.asarray(values, dtype=np.float64).ravel(), bound or 0.0)
        there = every[np.isfinite(every) & (every > _LEAST)]
        if not len(there):
            return cls(0.0, 0.01, False)
        low, high = float(there.min()), float(there.max())
        if high > _SPREAD * low:
            room = (high / low) ** (_ROOM - 1)
            return cls(low / room / 1.5, high * room, True, most=high)
        return cls(0.0, high * _ROOM, False, most=high)

    @classmethod
    def around(cls, values: ArrayLike) -> "ValueAxis":
        """One of plain numbers that are compared with each other and not with 0."""
        every = np.asarray(values, dtype=np.float64)
        low, high = float(every.min()), float(every.max())
        room = (high - low) * (_ROOM - 1) or abs(high) * (_ROOM - 1) or 1.0
        return cls(low - room, high + room, False, 1.0)

    def apply(self, axes: Axes, width_in: float) -> None:
        """Make it the x axis of axes that are so wide, inches."""
        axes.set_xscale("log" if self.logarithmic else "linear")
        axes.set_xlim(self.low, self.high)
        ticks.number_ticks(axes, "x", width_in, self.factor, beyond=self.most)

    def parts(self, value: float, shares: Floats) -> list[float]:
        """Where the parts of a bar that ends at `value` end, each as long as its share says.

        `shares`: of the bar, added up.
        """
        log = self.logarithmic
        ends = self.low * (value / self.low) ** shares if log else value * shares
        return [float(end) for end in ends]

    def inside(self, values: Sequence[float]) -> list[float]:
        """The values, those below the axis at its lower end."""
        return [max(value, self.low) for value in values]

    def whisker(self, axes: Axes, y: float, low: float, high: float, **look: Any) -> None:
        """An interval, as far as the axis goes."""
        ends = self.inside([low, high])
        left, right = ticks.share_of(axes.xaxis, ends)
        width_pt = 72 * axes.get_position().width * WIDTH_IN
        # One that is shorter than its caps are thick is a mere blot.
        if (right - left) * width_pt > _LEAST_PT:
            looks: dict[str, Any] = {"color": INK, "linewidth": 0.9, "zorder": 4} | look
            axes.plot(ends, [y, y], marker="|", markersize=3.5, **looks)
