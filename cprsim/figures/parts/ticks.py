"""Ticks at round values, as many as their texts have room for."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
from matplotlib.axis import Axis
from matplotlib.scale import SymmetricalLogTransform
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator

from cprsim.basics.units import SECONDS
from cprsim.figures.parts.texts import LETTER, YEAR_S, number

_MOST: Final = 8
_DURATIONS_S: Final = (1e-4, 1e6 * YEAR_S)  # beyond these, log axes are in seconds
_UNITS: Final = {**SECONDS, "y": YEAR_S}
#: Ticks of log axes of durations: all of them, and few.
_FINE: Final = {
    "ms": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "s": (1, 2, 5, 10, 20),
    "min": (1, 2, 5, 10, 20),
    "h": (1, 2, 5, 10),
    "d": (1, 2, 5, 10, 20, 50, 100, 200),
    "y": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
}
_FEW: Final = {
    "ms": (1, 10, 100),
    "s": (1, 10),
    "min": (1, 10),
    "h": (1, 6),
    "d": (1, 7, 30),
    "y": (1, 10, 100, 1000),
}

#: Values between two limits, ever fewer.
Candidates = Callable[[float, float], Iterable[list[float]]]
Text = Callable[[float], str]


class RoomyLocator(Locator):
    """The most ticks among sets of candidates whose texts have room on the axis.

    The room follows from the size of the axis when it is drawn, not when this is made.
    """

    def __init__(self, candidates: Candidates, text: Text) -> None:
        self._candidates, self._text = candidates, text

    def __call__(self) -> Any:
        """Return the ticks of the axis as it is."""
        axis: Any = self.axis
        return self.tick_values(*axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two limits."""
        slack = 1e-9 * (vmax - vmin)
        fewest: list[float] = []
        for values in self._candidates(vmin, vmax):
            shown = [v for v in values if vmin - slack <= v <= vmax + slack]
            if 1 < len(shown) <= _MOST and self._have_room(shown):
                return np.asarray(shown)
            fewest = fewest or shown[:1]
        return np.asarray(fewest)

    def _have_room(self, values: list[float]) -> bool:
        axis: Any = self.axis
        along = axis.get_transform().transform
        low, high = along(np.asarray(axis.get_view_interval()))
        across = axis.axis_name == "x"
        box, size_pt = axis.axes.bbox, axis.majorTicks[0].label1.get_size()
        length_pt = 72 * (box.width if across else box.height) / axis.axes.figure.dpi
        at_pt = length_pt * (along(np.asarray(values)) - low) / (high - low)
        letters = np.array([len(self._text(v)) for v in values])
        halves_pt = size_pt * ((LETTER * letters + 0.8) / 2 if across else 0.85 + 0 * letters)
        apart = (at_pt - halves_pt)[1:] > (at_pt + halves_pt)[:-1]
        return bool(apart.all() and at_pt[-1] + halves_pt[-1] < length_pt + 2 * size_pt)


def numbers(axis: Axis, factor: float = 1.0, suffix: str = "") -> None:
    """Put round numbers on an axis, linear, log or symmetrical log, in units of `factor`.

    Call it when the scale of the axis is set. `suffix` follows each number.
    """
    scale: Any = axis.get_transform()
    spaced = _even if axis.get_scale() == "linear" else _decades

    def candidates(low: float, high: float) -> Iterator[list[float]]:
        zero = isinstance(scale, SymmetricalLogTransform)
        least = scale.linthresh if zero else low
        for values in spaced(least / factor, high / factor):
            found = [factor * value for value in values]
            yield [0.0, *(each for each in found if each > least)] if zero else found

    def text(value: float) -> str:
        return number(float(f"{value / factor:.9g}")) + suffix

    _set(axis, candidates, text)


def shares(axis: Axis) -> None:
    """Put round percentages on an axis of shares."""
    numbers(axis, 0.01, " %")


def durations(axis: Axis) -> None:
    """Put durations that people know (1 min, 1 h, 1 d) on a log axis in seconds."""
    names = {
        count * _UNITS[unit]: f"{count:,} {unit}"
        for steps in (_FINE, _FEW)
        for unit, counts in steps.items()
        for count in counts
    }
    _set(axis, _durations, lambda value: names.get(value, f"{number(value)} s"))


def named(axis: Axis, at: dict[float, str], keep: float | None = None) -> None:
    """Put these names at these values of an axis.

    Every second, third ... where room is short, among them `keep`.
    """
    values = sorted(at)
    first = values.index(keep) if keep in at else 0

    def candidates(_: float, __: float) -> Iterator[list[float]]:
        return (values[first % stride :: stride] for stride in range(1, len(values) + 1))

    _set(axis, candidates, lambda value: at.get(value, ""))


def _set(axis: Axis, candidates: Candidates, text: Text) -> None:
    axis.set_major_locator(RoomyLocator(candidates, text))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_locator(NullLocator())


def _even(low: float, high: float) -> Iterator[list[float]]:
    """Yield ever fewer evenly spaced ticks."""
    for steps in range(5, 0, -1):
        locator = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10])
        yield [float(v) for v in locator.tick_values(low, high)]


def _decades(low: float, high: float) -> Iterator[list[float]]:
    """Yield ever fewer ticks from `low` to `high`, all of them round."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        yield [d * 10.0**p for p in powers for d in digits]
    for stride in (2, 3, 5, 10, 20, 50, 100):
        yield [10.0**p for p in powers if p % stride == 0]


def _durations(low_s: float, high_s: float) -> Iterator[list[float]]:
    """Yield durations in their own units, ever coarser; beyond all units, decades of seconds."""
    least_s, most_s = _DURATIONS_S
    if least_s < low_s and high_s < most_s:
        fine, few = ([n * _UNITS[u] for u in s for n in s[u]] for s in (_FINE, _FEW))
        yield fine
        yield from (few[stride // 2 :: stride] for stride in range(1, 5))
    yield from _decades(low_s, high_s)
