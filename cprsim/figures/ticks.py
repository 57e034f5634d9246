"""Round ticks with their units, and limits that hold every value."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullLocator

from cprsim.basics.units import SECONDS
from cprsim.figures import style
from cprsim.figures.texts import LETTER, YEAR_S, number, unit_of

#: Steps of ticks on a log axis, the finest first; the first is for axes of about a decade.
_LOG_STEPS: Final = ((1, 2, 3, 4, 6, 8), (1, 2, 5), (1, 3), (1,))
#: Durations that people know, for log axes: many, fewer, few.
_DURATIONS: Final = (
    "1 2 5 10 20 50 100 200 500 ms, 1 2 5 10 20 s, 1 2 5 10 20 min, 1 2 5 10 h, "
    "1 2 5 10 20 50 100 200 500 d, 1 2 5 10 20 50 100 200 500 y",
    "1 10 100 ms, 1 10 s, 1 10 min, 1 6 h, 1 7 30 d, 1 10 100 10000 y",
    "1 ms, 1 s, 1 min, 1 h, 1 30 d, 1 100 10000 y",
)
_SECONDS: Final = {**SECONDS, "y": YEAR_S}
_MOST_ON_Y: Final = 8
_USED: Final = 0.85  # of the width of an axis, once keys and labels have their room
_ROOM: Final = 1.25  # beyond the outermost values of a log axis


def scale(
    axis: Axis,
    limits: tuple[float, float],
    label: str = "",
    ticks: "Callable[[Axis], None] | Mapping[float, str] | None" = None,
    *,
    log: int = 0,
) -> None:
    """Set the limits, the label, the ticks and the grid of an axis.

    `ticks`: what puts them on it, numbers by default, or their names by value. `log`: the base of
    its logarithm, if it has one.
    """
    axes: Any = axis.axes
    name = axis.axis_name  # type: ignore[attr-defined]  # of each axis
    if log:
        getattr(axes, f"set_{name}scale")("log", base=log)
    axes.set(**{f"{name}lim": limits}, **({f"{name}label": label} if label else {}))
    axis.grid(visible=True)
    if isinstance(ticks, Mapping):
        show(axis, [ticks])
    else:
        (ticks or numbers)(axis)


def show(axis: Axis, choices: Iterable[Mapping[float, str]], most: int = 0) -> None:
    """Put names at their values: the first choice that has room, or a part of the last.

    `most`: how many names have room; estimated if not given.
    """
    for names in choices:
        room = most or _room(axis, names.values())
        if len(names) <= room:
            break
    shown = sorted(names)[:: -(-len(names) // room) or 1]
    axis.set_ticks(shown, [names[value] for value in shown])
    axis.set_minor_locator(NullLocator())


def _room(axis: Axis, texts: Iterable[str]) -> int:
    """Return about how many texts have room along an axis; two at least."""
    if axis.axis_name == "y":  # type: ignore[attr-defined]  # of each axis
        return _MOST_ON_Y
    axes: Any = axis.axes
    width_pt = 72 * _USED * axes.bbox.width / axes.figure.dpi
    text_pt = style.small_pt() * (LETTER * max(map(len, texts), default=1) + 0.7)
    return max(2, int(width_pt / text_pt))


def numbers(axis: Axis, factor: float = 1.0, suffix: str = "") -> None:
    """Put round numbers on an axis, linear or log, in units of `factor`; `suffix` follows each."""
    low, high = (end / factor for end in axis.get_view_interval())
    slack = 1e-9 * (high - low)
    locators: list[Locator]
    if axis.get_scale() == "log":
        steps = _LOG_STEPS[int(high > 12 * low) :]
        locators = [LogLocator(subs=digits, numticks=99) for digits in steps]
    else:
        locators = [MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]) for count in range(6, 0, -1)]
    ticks = (
        [at for at in locator.tick_values(low, high) if low - slack <= at <= high + slack]
        for locator in locators
    )
    show(axis, ({factor * at: number(at) + suffix for at in some} for some in ticks))


def shares(axis: Axis) -> None:
    """Put round percentages on an axis of shares."""
    numbers(axis, 0.01, " %")


def durations(axis: Axis) -> None:
    """Put durations that people know (1 min, 1 h, 1 d) on a log axis in seconds."""
    low_s, high_s = axis.get_view_interval()
    choices: list[dict[float, str]] = []
    for known in _DURATIONS:
        pairs = [(int(n), unit) for *ns, unit in map(str.split, known.split(", ")) for n in ns]
        names = {n * _SECONDS[unit]: f"{n:,} {unit}" for n, unit in pairs}
        choices.append({at_s: name for at_s, name in names.items() if low_s <= at_s <= high_s})
    choices = [names for names in choices if len(names) > 1]
    if choices:
        show(axis, choices)
    else:  # less than a step, or beyond all units
        unit, factor = unit_of(high_s)
        numbers(axis, factor, f" {unit}")


def log_limits(values: Any, least_span: float, room: float = _ROOM) -> tuple[float, float]:
    """Return limits beyond all values > 0 by the factor `room`, at least `least_span` apart."""
    values = np.asarray(values, dtype=np.float64)
    there = values[np.isfinite(values) & (values > 0)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (1.0, 1.0)
    room = max(room, (least_span * low / high) ** 0.5)
    return low / room, high * room
