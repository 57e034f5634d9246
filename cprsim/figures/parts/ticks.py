"""Ticks at round values, as many as their texts have room for."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, FuncFormatter, Locator, MaxNLocator, NullLocator

from cprsim.basics.units import SECONDS
from cprsim.figures.parts.texts import YEAR_S, number

_MOST: Final = 8
_LETTER: Final = 0.62  # width of one, as a share of the size of the text
_STEPS: Final = [1, 2, 2.5, 5, 10]
_DURATIONS_S: Final = (1e-4, 1e6 * YEAR_S)  # beyond these, log axes are in seconds
_UNITS: Final = {**SECONDS, "y": YEAR_S}
#: Ticks of log axes of durations, finest first.
_DURATION_STEPS: Final[tuple[dict[str, tuple[int, ...]], ...]] = (
    {
        "ms": (1, 2, 5, 10, 20, 50, 100, 200, 500),
        "s": (1, 2, 5, 10, 20),
        "min": (1, 2, 5, 10, 20),
        "h": (1, 2, 5, 10),
        "d": (1, 2, 5, 10, 20, 50, 100, 200),
        "y": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    },
    {
        "ms": (1, 10, 100),
        "s": (1, 10),
        "min": (1, 10),
        "h": (1, 6),
        "d": (1, 7, 30),
        "y": (1, 10, 100, 1000),
    },
    {"ms": (1,), "s": (1,), "min": (1,), "h": (1,), "d": (1, 30), "y": (1, 100)},
    {"ms": (1,), "s": (1,), "h": (1,), "d": (30,), "y": (10, 1000)},
)

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
        box = axis.axes.get_window_extent()
        size_pt = axis.majorTicks[0].label1.get_size()
        per_pt = axis.axes.figure.dpi / 72
        along = axis.axes.transData.transform([(v, v) for v in values])
        if not isinstance(axis, XAxis):
            return bool(np.diff(along[:, 1]).min() > 1.7 * size_pt * per_pt)
        letters = np.array([len(self._text(v)) for v in values])
        halves = (letters * _LETTER + 0.8) * size_pt * per_pt / 2
        at = along[:, 0]
        apart = (at - halves)[1:] > (at + halves)[:-1]
        return bool(apart.all() and at[-1] + halves[-1] < box.x1 + 2 * size_pt * per_pt)


class WithStrip(Locator):
    """The ticks of another locator beyond the edge of a strip, and one within it at `middle`."""

    def __init__(self, beyond: Locator, middle: float, edge: float) -> None:
        self._beyond, self._middle, self._edge = beyond, middle, edge

    def __call__(self) -> Any:
        """Return the ticks of the axis as it is."""
        ratio = self._edge / self._middle
        return np.asarray([self._middle, *(v for v in self._beyond() if v > self._edge * ratio)])


def with_zero(beyond: Formatter, middle: float) -> Formatter:
    """Return a formatter that writes 0 at `middle`, where a strip has what is 0."""
    return FuncFormatter(lambda value, at: "0" if value == middle else beyond(value, at))


def numbers(axis: Axis, factor: float = 1.0, suffix: str = "") -> None:
    """Put round numbers on an axis, linear or log, in units of `factor`.

    Call it when the scale of the axis is set. `suffix` follows each number.
    """
    even = axis.get_scale() != "log"

    def candidates(low: float, high: float) -> Iterator[list[float]]:
        for values in (_even if even else _decades)(low / factor, high / factor):
            yield [factor * value for value in values]

    def text(value: float) -> str:
        return number(float(f"{value / factor:.9g}")) + suffix

    _set(axis, candidates, text)


def shares(axis: Axis) -> None:
    """Put round percentages on an axis of shares."""
    numbers(axis, 0.01, " %")


def durations(axis: Axis) -> None:
    """Put durations that people know (1 min, 1 h, 1 d) on a log axis in seconds."""
    names = {count * _UNITS[u]: f"{count:,} {u}" for u, some in _named() for count in some}

    def text(value: float) -> str:
        return names.get(value, f"{number(value)} s")

    _set(axis, _durations, text)


def named(axis: Axis, at: dict[float, str], keep: float | None = None) -> None:
    """Put these names at these values of an axis.

    Every second, third ... where room is short, among them `keep`.
    """
    values = sorted(at)
    first = values.index(keep) if keep in at else 0

    def candidates(_: float, __: float) -> Iterator[list[float]]:
        return (values[first % stride :: stride] for stride in range(1, len(values) + 1))

    _set(axis, candidates, lambda value: at.get(value, ""))


def _named() -> Iterator[tuple[str, tuple[int, ...]]]:
    return (each for steps in _DURATION_STEPS for each in steps.items())


def _set(axis: Axis, candidates: Candidates, text: Text) -> None:
    axis.set_major_locator(RoomyLocator(candidates, text))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_locator(NullLocator())


def _even(low: float, high: float) -> Iterator[list[float]]:
    """Ever fewer evenly spaced ticks."""
    for steps in range(5, 0, -1):
        yield [float(v) for v in MaxNLocator(steps, steps=_STEPS).tick_values(low, high)]


def _decades(low: float, high: float) -> Iterator[list[float]]:
    """Ever fewer ticks from `low` to `high`, all of them round."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        yield [d * 10.0**p for p in powers for d in digits]
    for stride in (2, 3, 5, 10, 20, 50, 100):
        yield [10.0**p for p in powers if p % stride == 0]


def _durations(low_s: float, high_s: float) -> Iterator[list[float]]:
    """Durations in their own units, ever coarser; beyond all units, decades of seconds."""
    least_s, most_s = _DURATIONS_S
    for steps in _DURATION_STEPS if least_s < low_s and high_s < most_s else ():
        yield [n * _UNITS[u] for u, some in steps.items() for n in some]
    yield from _decades(low_s, high_s)
