"""Failures by the hour of the day and by the day of the week."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.findings import Finding
from cprsim.figures.parts.texts import unit_of
from cprsim.survival.calendar_rates import Cycle

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS: Final = {float(hour): f"{hour}:00" for hour in range(0, 25, 6)}
_ROOM: Final = 1.08


def by_hour(hours: Cycle, zone: str) -> Finding:
    """Draw the rate in each hour, with the mean of all."""
    says = "No hours have more failures than chance explains"
    if hours.is_sure:
        first, last, ratio = hours.busiest
        says = f"{first}:00 to {last + 1}:00 has {ratio:.2g} times the rate of the other hours"
    return _finding(hours, _says(hours, says), f"by hour ({zone})", _HOURS)


def by_weekday(days: Cycle, zone: str) -> Finding:
    """Draw the rate on each day of the week, with the mean of all."""
    says = "No days have more failures than chance explains"
    if days.is_sure:
        first, last, ratio = days.busiest
        which = _DAYS[first] if first == last else f"{_DAYS[first]} to {_DAYS[last]}"
        have = "has" if first == last else "have"
        says = f"{which} {have} {ratio:.2g} times the rate of the other days"
    at = {i + 0.5: day for i, day in enumerate(_DAYS)}
    return _finding(days, _says(days, says), f"by weekday ({zone})", at)


def _says(cycle: Cycle, says: str) -> str:
    return "Too few failures to see a pattern" if cycle.p is None else says


def _finding(cycle: Cycle, says: str, which: str, at: Mapping[float, str]) -> Finding:
    unit, seconds = unit_of(1 / cycle.mean_rate)
    per = "year" if unit == "years" else unit

    def draw(axes: Axes) -> None:
        axes.grid(axis="y")
        size = len(cycle.counts)
        x, rate, (low, high) = np.arange(size) + 0.5, cycle.rate, cycle.band
        axes.set(xlim=(0, size), ylim=(0, _ROOM * float(np.nanmax(high))))
        ticks.named(axes.xaxis, dict(at))
        ticks.numbers(axes.yaxis, 1 / seconds)
        axes.set(xlabel=f"{which}, 95 % intervals, mean", ylabel=f"failures per {per}")
        if cycle.is_sure:
            first, last, _ = cycle.busiest
            ends = [(first, last + 1)] if first <= last else [(first, size), (0, last + 1)]
            for span in ends:
                axes.axvspan(*span, facecolor=style.RULE, alpha=0.5, linewidth=0)
        axes.axhline(cycle.mean_rate, color=style.FAINT_INK, linewidth=0.9)
        axes.errorbar(
            x,
            rate,
            yerr=(rate - low, high - rate),
            fmt="o",
            markersize=3.0,
            color=style.LAW_COLOURS["gamma"],
            elinewidth=0.9,
            capsize=0,
        )

    return Finding(says, draw)
