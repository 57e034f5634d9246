"""A page of a failure log: its durations and laws, repairs, causes, nodes and the clock."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.failures.logs.node_failures import Concentration
from cprsim.figures.parts import bars, curves, style, texts, ticks
from cprsim.figures.parts.texts import duration, unit_of
from cprsim.figures.survival import Panel, described, draw_steps, failures_per, line_style, survival
from cprsim.survival.calendar_rates import CalendarRates, Cycle
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.fitted_laws import survival as survival_of
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS: Final = {float(hour): f"{hour}:00" for hour in range(0, 25, 6)}
_WORST: Final = 0.1  # share of the nodes of which the title speaks
_FEW: Final = 0.02  # shorter outages are left of the axis
_LETTERS: Final = (22, 12)  # of a cause, and in a narrow figure


class CauseCount(NamedTuple):
    """A cause, its failures, and the median of its repairs, seconds; nan if unknown."""

    name: str
    failures: int
    median_s: float = math.nan


def log_page(
    sample: Sample,
    fits: Sequence[Fit],
    title: str = "",
    *,
    repairs: tuple[Sample, Sequence[Fit], bool] | None = None,
    causes: Sequence[CauseCount] = (),
    nodes: Concentration | None = None,
    calendar: CalendarRates | None = None,
    zone: str = "UTC",
) -> Figure:
    """Draw the durations of a log and their laws, then repairs, causes, nodes and the clock.

    Parameters
    ----------
    sample, fits, title
        As of `cprsim.figures.survival.survival`.
    repairs
        How long outages of nodes lasted, the laws fitted to that, the best first, and whether that
        one is adequate.
    causes
        Of the failures, the commonest first; one alone is no panel.
    nodes
        Failures of each node; no panel where there is but one node.
    calendar, zone
        Failures by hour and weekday, and whose hours these are.

    Returns
    -------
    matplotlib.figure.Figure
        After the three axes of `survival` come those of repairs (a share over
        seconds), causes (failures), failures a second over hours and weekdays, and nodes (a share
        of the failures over one of the nodes).
    """
    found = list[Panel]()
    if repairs is not None:
        found.append(partial(_repairs, *repairs))
    if len(causes) > 1:
        found.append(partial(_causes, causes))
    spread, clock = list[Panel](), list[Panel]()
    if nodes is not None and len(nodes.counts) > 1:
        spread = [partial(_nodes, nodes)]
    if calendar is not None:
        clock = [partial(_hours, calendar.hours, zone), partial(_weekdays, calendar.weekdays, zone)]
    # Two are side by side, after the three of `survival`: hours and weekdays are in one row.
    found += [*clock, *spread] if len(found) % 2 else [*spread, *clock]
    return survival(sample, fits, title, found)


def _repairs(sample: Sample, fits: Sequence[Fit], is_adequate: bool, axes: Axes) -> str:
    """Draw the share of outages that last longer; the best law of `fits`, if there is one."""
    curve = KaplanMeier.from_sample(sample)
    label = "length of an outage"
    if fits:
        label += f"; line: {described(fits[0].law)}{'' if is_adequate else ' (not adequate)'}"
    first_s = float(np.quantile(sample.durations_s, _FEW)) / 1.15
    axes.set(xscale="log", xlim=(first_s, curve.last_s * 1.15), ylim=(0, 1.02))
    axes.grid()
    ticks.durations(axes.xaxis)
    ticks.shares(axes.yaxis)
    axes.set(xlabel=texts.wrapped(label, 46), ylabel=f"of {sample.n:,} outages last longer")
    draw_steps(axes, curve, min(first_s, curve.times_s[0]))
    for found in fits[:1]:
        grid = np.geomspace(first_s, curve.last_s, 300)
        axes.plot(grid, survival_of(found.law, grid), **line_style(found.law, best=True))
    half = (
        "More than half of the outages went on"
        if np.isnan(curve.median_s)
        else f"Half of the outages are over after {duration(curve.median_s)}"
    )
    return f"{half}; mean {duration(curve.restricted_mean_s)}"


def _causes(causes: Sequence[CauseCount], axes: Axes) -> str:
    """Draw a bar a cause, the commonest first, with its median repair behind it."""
    first, letters = causes[0], _LETTERS[style.is_narrow()]
    rows, counts = range(len(causes)), [each.failures for each in causes]
    axes.set(ylim=(len(causes) - 0.5, -0.5), xlim=(0, first.failures), xticks=[])
    axes.set_yticks(rows, [texts.short(each.name, letters) for each in causes])
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)
    axes.barh(rows, counts, 0.68, color=style.LAW_COLOURS["gamma"])
    for row, (_, count, median_s) in enumerate(causes):
        median = "" if math.isnan(median_s) else f", {duration(median_s)}"
        bars.beyond(axes, (count, row), f"{count:,}{median}")
    repaired = not all(math.isnan(each.median_s) for each in causes)
    axes.set_xlabel("failures by cause" + ", median repair" * repaired)
    share = _whole(first.failures / sum(counts))
    return f"{texts.short(first.name, 24)}: {share} of the failures"


def _nodes(nodes: Concentration, axes: Axes) -> str:
    """Draw the share of failures on the worst share of nodes (a Lorenz curve)."""
    mean, low, high = nodes.by_chance()
    at = np.linspace(0, 1, len(mean))
    counted = f"{len(nodes.counts):,} nodes"
    if nodes.unseen:
        counted += f", {nodes.unseen:,} (estimated) never failed"
    axes.grid()
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    ticks.shares(axes.xaxis)
    ticks.shares(axes.yaxis)
    axes.set(xlabel=f"share of the nodes, worst first; {counted}", ylabel="of the failures")
    faint: dict[str, Any] = {"color": style.FAINT_INK}
    axes.fill_between(at, low, high, facecolor=style.RULE, linewidth=0)
    axes.plot(at, mean, linewidth=0.9, label="alike nodes, 95 %", **faint)
    equal: dict[str, Any] = {"linewidth": 0.6, "linestyle": curves.dashed("weibull")}
    axes.plot((0, 1), (0, 1), label="the same on each", **equal, **faint)
    seen: dict[str, Any] = {"color": style.LAW_COLOURS["weibull"], "linewidth": 1.6}
    axes.plot(at, nodes.shares, zorder=4, label="the log", **seen)
    axes.legend(loc="lower right")
    chance = float(np.interp(_WORST, at, mean))
    said = f"The worst tenth of the nodes has {_whole(nodes.of_worst(_WORST))} of the failures"
    return f"{said}; by chance {_whole(chance)}"


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"


def _hours(hours: Cycle, zone: str, axes: Axes) -> str:
    """Draw the rate in each hour, with the mean of all."""
    _rates(axes, hours, f"by hour ({zone})", _HOURS)
    if not hours.is_sure:
        return _unsure(hours, "hours")
    first, last, ratio = hours.busiest
    return f"{first}:00 to {last + 1}:00 has {ratio:.2g} times the rate of the other hours"


def _weekdays(days: Cycle, zone: str, axes: Axes) -> str:
    """Draw the rate on each day of the week, with the mean of all."""
    _rates(axes, days, f"by weekday ({zone})", {i + 0.5: day for i, day in enumerate(_DAYS)})
    if not days.is_sure:
        return _unsure(days, "days")
    first, last, ratio = days.busiest
    which = f"{_DAYS[first]} has" if first == last else f"{_DAYS[first]} to {_DAYS[last]} have"
    return f"{which} {ratio:.2g} times the rate of the other days"


def _unsure(cycle: Cycle, parts: str) -> str:
    if cycle.p is None:
        return "Too few failures to see a pattern"
    return f"No {parts} have more failures than chance explains"


def _rates(axes: Axes, cycle: Cycle, which: str, at: Mapping[float, str]) -> None:
    """Draw failures a second in each part of a cycle; the busiest parts on a grey ground."""
    unit, seconds = unit_of(1 / cycle.mean_rate)
    size, rate, (low, high) = len(cycle.counts), cycle.rate, cycle.band
    axes.grid(axis="y")
    axes.set(xlim=(0, size), ylim=(0, 1.08 * float(np.nanmax(high))))
    ticks.named(axes.xaxis, dict(at))
    ticks.numbers(axes.yaxis, 1 / seconds)
    axes.set(xlabel=f"{which}, 95 % intervals, mean", ylabel=failures_per(unit))
    if cycle.is_sure:
        first, last, _ = cycle.busiest
        for span in [(first, last + 1)] if first <= last else [(first, size), (0, last + 1)]:
            axes.axvspan(*span, facecolor=style.RULE, alpha=0.5, linewidth=0)
    axes.axhline(cycle.mean_rate, color=style.FAINT_INK, linewidth=0.9)
    look: dict[str, Any] = {"fmt": "o", "markersize": 3.0, "elinewidth": 0.9, "capsize": 0}
    look["color"] = style.LAW_COLOURS["gamma"]
    axes.errorbar(np.arange(size) + 0.5, rate, yerr=(rate - low, high - rate), **look)
