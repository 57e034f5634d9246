"""Numbers and durations as people read them, and ticks at round ones, as many as have room."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

from cprsim.basics.units import SECONDS
from cprsim.figures.parts import layout
from cprsim.figures.parts.style import SMALL_PT

Floats = NDArray[np.float64]
Which = Literal["x", "y"]
Tick = tuple[float, str]

_TICK_ROOM_IN: Final = 0.1  # that a tick's text may reach beyond its axis
_MOST_TICKS: Final = 8
_LINES_APART: Final = 1.8  # from one tick's text to the next above, at least

_YEAR_S: Final = 365.25 * SECONDS["d"]
#: Units of durations, and from how many on each is used.
_UNITS: Final = {
    "years": (_YEAR_S, 2),
    "d": (SECONDS["d"], 4),
    "h": (SECONDS["h"], 1),
    "min": (SECONDS["min"], 1),
    "s": (1.0, 0),
}
_UNITS_OF_LOG_S: Final = (1e-4, 1e6 * _YEAR_S)  # beyond these, log axes are in seconds
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
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit in which people give such a duration, and its seconds."""
    return next((u, factor) for u, (factor, least) in _UNITS.items() if seconds >= least * factor)


def duration(seconds: float) -> str:
    """A duration for people, three significant digits; also years, and any size."""
    unit, factor = unit_of(seconds)
    return f"{number(seconds / factor)} {unit}"


def number(value: float) -> str:
    """Three significant digits, all of them from 1,000 to a million; powers of ten beyond."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if mantissa == "1" else f"{mantissa}×{power}"


def number_ticks(
    axes: Axes,
    which: Which,
    length_in: float,
    factor: float = 1.0,
    suffix: str = "",
    beyond: float | None = None,
) -> None:
    """Round ticks within the limits, in units of `factor`, as many as have room.

    The axis is linear or log. `length_in`: of it, inches. `suffix` stands behind each number.
    `beyond`: where the longest bar ends; the axis is made longer where the last tick wouldn't stand
    there or farther.
    """
    axis = _axis(axes, which)
    low, high = (end / factor for end in axis.get_view_interval())
    some = _decades(low, high) if axis.get_scale() == "log" else _even(low, high)
    _set_ticks(axis, length_in, some, factor, suffix, beyond)


def duration_ticks(axes: Axes, which: Which, length_in: float) -> None:
    """Ticks at durations that people know (1 min, 1 h, 1 d) on a log axis in seconds."""
    axis = _axis(axes, which)
    _set_ticks(axis, length_in, _durations(*axis.get_view_interval()))


def value_ticks(axes: Axes, which: Which, length_in: float, ticks: Sequence[Tick]) -> None:
    """These ticks, or every second, third ... of them, as have room."""
    axis = _axis(axes, which)
    sets = (list(ticks[::stride]) for stride in range(1, len(ticks) + 1))
    chosen = next(some for some in sets if len(some) == 1 or _have_room(axis, length_in, some))
    axis.set_ticks([value for value, _ in chosen], [text for _, text in chosen])
    axis.set_minor_locator(NullLocator())


def share_of(axis: Axis, values: ArrayLike) -> Floats:
    """How far along its axis each value stands, 0 to 1."""
    scale = axis.get_transform()
    low, high = scale.transform(np.asarray(axis.get_view_interval()))
    return np.asarray((scale.transform(np.asarray(values, dtype=np.float64)) - low) / (high - low))


def _axis(axes: Axes, which: Which) -> Axis:
    return axes.xaxis if which == "x" else axes.yaxis


def _even(low: float, high: float) -> Iterator[list[Tick]]:
    """Ever fewer evenly spaced ticks."""
    for steps in range(5, 0, -1):
        values = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        # To the rounding of the steps: 0.30000000000000004 is 0.3.
        places = max(0, 2 - math.floor(math.log10(values[1] - values[0])))
        yield [(float(v), number(round(float(v), places))) for v in values]


def _decades(low: float, high: float) -> Iterator[list[Tick]]:
    """Ever fewer ticks from `low` to `high`, all of them round."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        yield [(d * 10.0**p, number(d * 10.0**p)) for p in powers for d in digits]
    for stride in (2, 3, 5, 10, 20, 50, 100):
        yield [(10.0**p, number(10.0**p)) for p in powers if p % stride == 0]


def _durations(low_s: float, high_s: float) -> Iterator[list[Tick]]:
    """Durations in their own units, ever coarser; beyond all units, decades of seconds."""
    units = {**SECONDS, "y": _YEAR_S}
    least_s, most_s = _UNITS_OF_LOG_S
    for steps in _DURATION_STEPS if least_s < low_s and high_s < most_s else ():
        yield [(n * units[u], f"{n:,} {u}") for u, some in steps.items() for n in some]
    for ticks in _decades(low_s, high_s):
        yield [(value, f"{text} s") for value, text in ticks]


def _set_ticks(
    axis: Axis,
    length_in: float,
    sets: Iterable[list[Tick]],
    factor: float = 1.0,
    suffix: str = "",
    beyond: float | None = None,
) -> None:
    """The first of the sets of which two or more are within the limits and all have room.

    The upper limit is raised to the first tick that isn't short of `beyond`.
    """
    low, most = axis.get_view_interval()
    slack = 1e-9 * (most - low)  # of rounding
    chosen: list[Tick] = []
    for ticks in sets:
        high = most
        if beyond is not None:
            far = ((v * factor, t) for v, t in ticks if v * factor >= beyond - slack)
            high = max(most, _room_for(axis, length_in, *min(far, default=(most, "")), suffix))
            _limit(axis, low, high)
        shown = [
            (value * factor, text + suffix)
            for value, text in ticks
            if low - slack <= value * factor <= high + slack
        ]
        if 1 < len(shown) <= _MOST_TICKS and _have_room(axis, length_in, shown):
            chosen = shown
            break
        chosen = chosen or shown[:1]
    axis.set_ticks([value for value, _ in chosen], [text for _, text in chosen])
    axis.set_minor_locator(NullLocator())


def _room_for(axis: Axis, length_in: float, at: float, text: str, suffix: str) -> float:
    """Where the axis has to end so that a tick at its end has room for its text."""
    low, _ = axis.get_view_interval()
    half_in = 0.0 if isinstance(axis, YAxis) else layout.text_width_in(text + suffix, SMALL_PT) / 2
    share = max(0.0, half_in - _TICK_ROOM_IN) / length_in
    scale = axis.get_transform()
    first, last = scale.transform(np.array([low, at]))
    (end,) = scale.inverted().transform(np.array([first + (last - first) / (1 - share)]))
    return float(max(end, at))


def _limit(axis: Axis, low: float, high: float) -> None:
    set_limits = axis.axes.set_ylim if isinstance(axis, YAxis) else axis.axes.set_xlim
    set_limits(low, high)


def _have_room(axis: Axis, length_in: float, ticks: list[Tick]) -> bool:
    at_in = length_in * share_of(axis, [value for value, _ in ticks])
    if isinstance(axis, YAxis):
        return bool(np.all(np.diff(at_in) > _LINES_APART * layout.height_in([""], SMALL_PT)))
    halves = np.array([layout.text_width_in(text, SMALL_PT) for _, text in ticks]) / 2
    apart = np.all((at_in - halves)[1:] - (at_in + halves)[:-1] > 2 * layout.PAD_PT / 72)
    return bool(apart and at_in[-1] + halves[-1] <= length_in + _TICK_ROOM_IN)
