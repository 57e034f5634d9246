"""Round ticks with their units, and limits that hold every value."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import MaxNLocator, NullLocator

from cprsim.basics.units import SECONDS
from cprsim.figures import style
from cprsim.figures.texts import LETTER, YEAR_S, number, unit_of

#: Digits of ticks within a decade, the finest first; that one where there is but one.
_DIGITS: Final = ((1, 2, 3, 4, 6, 8), (1, 2, 5), (1, 3), (1,))
#: Durations that people know, for log axes: many, and few.
_DURATIONS: Final[tuple[dict[str, tuple[int, ...]], ...]] = (
    {
        **dict.fromkeys(("ms", "d", "y"), (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        **dict.fromkeys(("s", "min"), (1, 2, 5, 10, 20)),
        "h": (1, 2, 5, 10),
    },
    {
        "ms": (1, 10, 100),
        **dict.fromkeys(("s", "min"), (1, 10)),
        "h": (1, 6),
        "d": (1, 7, 30),
        "y": (1, 10, 100, 10_000),
    },
    {"ms": (1,), "s": (1,), "min": (1,), "h": (1,), "d": (1, 30), "y": (1, 100, 10_000)},
)
_SECONDS: Final = {**SECONDS, "y": YEAR_S}
_MOST_BESIDE: Final = 8  # ticks of a y axis
_USED: Final = 0.85  # of the width of an axis, once keys and labels have their room
_ROOM: Final = 1.25  # beyond the outermost values of a log axis


def scale(
    axis: Axis,
    limits: tuple[float, float],
    label: str = "",
    ticks: "Callable[[Axis], None] | Mapping[float, str] | None" = None,
    *,
    log: int = 0,
    keep: float | None = None,
) -> None:
    """Set the limits, the label, the ticks and the grid of an axis.

    `ticks`: what puts them on it, numbers by default, or their names by value. `log`: the base of
    its logarithm, if it has one. `keep`: a value that is among the ticks.
    """
    axes: Any = axis.axes
    name = axis.axis_name  # type: ignore[attr-defined]  # of each axis
    if log:
        getattr(axes, f"set_{name}scale")("log", base=log)
    axes.set(**{f"{name}lim": limits}, **({f"{name}label": label} if label else {}))
    axis.grid(visible=True)
    if isinstance(ticks, Mapping):
        show(axis, ticks, keep)
    else:
        (ticks or numbers)(axis)


def show(axis: Axis, names: Mapping[float, str], keep: float | None = None, most: int = 0) -> None:
    """Put these names at these values, or at every second, third ... where room is short.

    `keep`: a value that is among those. `most`: how many have room; estimated if not given.
    """
    values = sorted(names)
    stride = max(1, -(-len(values) // (most or _room(axis, names.values()))))
    first = 0 if keep is None or keep not in names else values.index(keep) % stride
    shown = values[first::stride]
    axis.set_ticks(shown, [names[value] for value in shown])
    axis.set_minor_locator(NullLocator())


def _room(axis: Axis, texts: Iterable[str]) -> int:
    """Return about how many texts have room along an axis; two at least."""
    if axis.axis_name == "y":  # type: ignore[attr-defined]  # of each axis
        return _MOST_BESIDE
    axes: Any = axis.axes
    width_pt = 72 * _USED * axes.bbox.width / axes.figure.dpi
    return max(
        2, int(width_pt / (style.small_pt() * (LETTER * max(map(len, texts), default=1) + 0.7)))
    )


def numbers(axis: Axis, factor: float = 1.0, suffix: str = "") -> None:
    """Put round numbers on an axis, linear or log, in units of `factor`; `suffix` follows each."""
    low, high = (end / factor for end in axis.get_view_interval())
    slack = 1e-9 * (high - low)
    at: Any = []
    for digits in _DIGITS[int(high > 12 * low) :] if axis.get_scale() == "log" else range(6, 0, -1):
        if isinstance(digits, tuple):
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            at = [digit * 10.0**power for power in powers for digit in digits]
        else:
            at = MaxNLocator(digits, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        at = [float(f"{each:.9g}") for each in at if low - slack <= each <= high + slack]
        names = {factor * each: number(each) + suffix for each in at}
        if len(names) <= _room(axis, names.values() or [suffix]):
            break
    show(axis, names)


def shares(axis: Axis) -> None:
    """Put round percentages on an axis of shares."""
    numbers(axis, 0.01, " %")


def durations(axis: Axis) -> None:
    """Put durations that people know (1 min, 1 h, 1 d) on a log axis in seconds."""
    low_s, high_s = axis.get_view_interval()
    for steps in _DURATIONS:
        names = {n * _SECONDS[unit]: f"{n:,} {unit}" for unit in steps for n in steps[unit]}
        names = {at_s: name for at_s, name in names.items() if low_s <= at_s <= high_s}
        if len(names) < 2:  # less than a step, or beyond all units
            unit, factor = unit_of(high_s)
            numbers(axis, factor, f" {unit}")
            return
        if len(names) <= _room(axis, names.values()):
            break
    show(axis, names)


def log_limits(values: Any, least_span: float, room: float = _ROOM) -> tuple[float, float]:
    """Return limits beyond all values > 0 by the factor `room`, at least `least_span` apart."""
    values = np.asarray(values, dtype=np.float64)
    there = values[np.isfinite(values) & (values > 0)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (1.0, 1.0)
    room = max(room, (least_span * low / high) ** 0.5)
    return low / room, high * room
