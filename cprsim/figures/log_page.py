"""A page of a failure log: its durations and laws, repairs, causes and nodes."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import counted
from cprsim.failures.logs.node_failures import NodeFailures
from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import duration, number, percent, short, unit_of, wrapped
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.fitted_laws import survival as survival_of
from cprsim.survival.kaplan_meier import KaplanMeier, hazard
from cprsim.survival.sample import Floats, Sample

_POINTS: Final = 400  # of a law's curve
_MOST_STEPS: Final = 1000  # of the data's: more can't be seen
_MOST_MARKS: Final = 60  # of censored durations
_SHORT: Final = 0.02  # half of what fails within this part of an axis is unseen unless it is log
_SPAN: Final = 30.0  # a decade and a half: beyond that an axis of durations is log
_STEEP: Final = 3.0  # so is one of rates beyond this
_BEYOND: Final = 10.0  # how far the best law's rate may reach beyond that of the data
_ROOM: Final = 1.15
_FAR: Final = 0.1  # Kolmogorov-Smirnov distance of a law that isn't near
_WORST: Final = 0.1  # share of the nodes of which the title speaks
#: Laws, the best first, and the looks of their lines.
Laws = list[tuple[Distribution, style.Look]]
_SEEN: Final[style.Look] = {"color": style.INK, "linewidth": 0.9, "zorder": 5}


@style.styled()
def log_page(
    sample: Sample,
    fits: Sequence[Fit],
    title: str = "",
    *,
    repairs: tuple[Sample, Sequence[Fit], bool] | None = None,
    causes: Mapping[str, tuple[int, float]] | None = None,
    nodes: NodeFailures | None = None,
) -> Figure:
    """Draw the durations of a log and the laws fitted to them, then repairs, causes and nodes.

    Its first two axes are the survival (a share, 0 to 1) and the failure rate (1/s), over seconds;
    then come those of repairs (a share over seconds), causes (failures) and nodes (a share of the
    failures over one of the nodes).

    `sample`: what was seen, seconds. `fits`: the laws fitted to it, the best first, as
    `cprsim.survival.fitted_laws.fit_all` gives them; none where there are too few failures.
    `repairs`: how long outages of nodes lasted, the laws fitted to that, the best first, and
    whether that one is adequate. `causes`: of the failures by name, the commonest first: how many
    there are, and the median of their repairs in seconds, nan if unknown; one alone is no panel.
    `nodes`: failures of each node; no panel where there is but one node.
    """
    laws: Laws = []
    for found in fits:
        distances = f"KS {percent(found.ks)}, RMSE {percent(found.rmse)}"
        look = _line_style(found.law, best=not laws)
        laws.append((found.law, look | {"label": f"{_described(found.law)}: {distances}"}))
    # Log axes begin at the shortest failure, but not far below the shortest 5 %.
    seen_s = sample.durations_s[sample.observed] if sample.failures else sample.durations_s
    few_s = float(np.quantile(seen_s, 0.05, method="inverted_cdf"))
    first_s = max(float(seen_s.min()), few_s / 10) / _ROOM
    panels: list[Callable[[Axes], str]] = [
        partial(_survival, sample, laws, first_s),
        partial(_rate, sample, laws, first_s),
    ]
    if repairs is not None:
        panels.append(partial(_repairs, *repairs))
    if causes is not None and len(causes) > 1:
        panels.append(partial(_causes, causes))
    if nodes is not None and len(nodes.counts) > 1:
        panels.append(partial(_nodes, nodes))
    sheet = Sheet(len(panels), 2)
    for draw, axes in zip(panels, sheet.axes, strict=True):
        axes.set_title(wrapped(draw(axes), 27 if sheet.narrow else 32))
    notes = [_facts(sample)]
    if fits:
        notes.append(
            "KS: largest distance between a law's survival and the Kaplan-Meier curve; RMSE: root "
            "mean square of it over time"
        )
    key: Literal["right", "below"] = "right" if len(panels) % 2 else "below"
    return sheet.done(_finding(fits), title, notes, 1.8, key)


def _line_style(law: Distribution, best: bool) -> style.Look:
    """Return the look of its line: the best law's is thick and whole, others' thin and dashed."""
    return {
        "color": style.LAW_COLOURS[law.distribution],
        "linewidth": 1.8 if best else 1.0,
        "zorder": 2.2 if best else 2.0,
        "linestyle": "-" if best else style.LAW_DASHES[law.distribution],
    }


def _described(law: Distribution) -> str:
    """Return its name, mean and shape or cv, for people."""
    words = f"{law.distribution}, mean {duration(law.expected_s)}"
    if law.shape is not None:
        words += f", shape {number(law.shape)}"
    return words if law.cv is None else f"{words}, cv {number(law.cv)}"


def _steps(axes: Axes, curve: KaplanMeier, first_s: float) -> float:
    """Draw a Kaplan-Meier curve with its band, from `first_s` to the longest duration.

    Returns the lower end of the band.
    """
    some = _evenly(len(curve.times_s), _MOST_STEPS)
    times = np.concatenate(([first_s], curve.times_s[some], [curve.last_s]))
    shares = np.concatenate(([1.0], curve.at(times[1:])))
    # The band keeps its ends where they aren't known: there the survival is 0, or the last one.
    below, above = (pd.Series([1.0, *end[some], np.nan]).ffill() for end in curve.band())
    axes.fill_between(times, below, above, step="post", **marks.BAND)
    words = "data: Kaplan-Meier curve, binned failure rate, 95 % bands"
    axes.step(times, shares, where="post", label=words, **_SEEN)
    return float(below.iloc[-1])


def _evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return up to `most` of the places 0 to `count` - 1, evenly, the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def _finding(fits: Sequence[Fit]) -> str:
    """Say which law comes first, and how far its survival is off; that all are far off.

    It is the best by AIC, or the best of those that aren't far off.
    """
    if not fits:
        return ""
    first, off = fits[0].law.distribution, f"up to {percent(fits[0].ks)} off"
    by_aic = fits[0].aic <= min(each.aic for each in fits)
    if min(each.ks for each in fits) > _FAR:
        best = ", best by AIC," if by_aic else ""
        return f"No law is within {percent(_FAR)} of the log; {first}{best} is {off}"
    how = "fits best by AIC" if by_aic else "is taken, though not best by AIC"
    return f"{first.capitalize()} {how}: {off} the log"


def _facts(sample: Sample) -> str:
    """Say how many durations there are, how many are censored or late, and their mean."""
    said = counted(sample.n, "duration")
    if not sample.censored and not sample.late:
        return f"{said}, none censored; mean {duration(sample.mtbf_s)}"
    said += f", {sample.censored:,} censored ({percent(sample.censored / sample.n)})"
    said += f", {sample.late:,} watched from a later age" * bool(sample.late)
    if not sample.failures:
        return f"{said}; nothing failed"
    return f"{said}; mean (time watched for each failure) {duration(sample.mtbf_s)}"


def _survival(sample: Sample, laws: Laws, from_s: float, axes: Axes) -> str:
    """Draw the share that lasts longer, and that of each law; log from `from_s`."""
    curve = KaplanMeier.from_sample(sample)
    # A linear axis would leave no room for the shorter half of the failures.
    half_s = float(np.median(sample.durations_s[sample.observed])) if sample.failures else np.inf
    log = half_s < _SHORT * curve.last_s
    ages = _ages(axes, sample, from_s if log else 0.0, "duration")
    first_s = min(from_s, curve.times_s[0]) if log else 0.0
    lowest = min(_steps(axes, curve, first_s), float(curve.at(curve.last_s)))
    cut_s = np.unique(sample.durations_s[np.logical_not(sample.observed)])
    if len(cut_s):
        cut_s = cut_s[_evenly(len(cut_s), _MOST_MARKS)]
        marked: style.Look = {"markeredgecolor": style.INK, "markeredgewidth": 0.5}
        label = "censored: a mark can be several"
        axes.plot(cut_s, curve.at(cut_s), "|", markersize=4, zorder=5, label=label, **marked)
    for law, look in laws:
        left = survival_of(law, ages, curve.from_s)
        lowest = min(lowest, float(left[-1]))
        axes.plot(ages, left, **look)
    # Where most survive, the axis begins near the least share.
    bottom = 1 - _ROOM * (1 - lowest) if 0.5 < lowest < 1 else 0.0
    top = 1 + 0.02 * (1 - bottom)
    ticks.scale(axes.yaxis, (bottom, top), "share that lasts longer", ticks.shares)
    return "Survival"


def _rate(sample: Sample, laws: Laws, from_s: float, axes: Axes) -> str:
    """Draw the failure rate with no law assumed, and that of each law; log from `from_s`."""
    unit, unit_s = unit_of(float(np.median(sample.durations_s)))
    label = f"failures per {'year' if unit == 'years' else unit}"
    if not sample.failures:
        axes.set(xticks=[], yticks=[], ylabel=label)
        axes.text(0.5, 0.5, "nothing failed", ha="center", transform=axes.transAxes)
        return "Failure rate"
    found = hazard(sample)
    wide = float(sample.durations_s.max()) > _SPAN * _ROOM * from_s
    log_x = wide and (len(found.rate) > 1 or laws)
    ages = _ages(axes, sample, from_s if log_x else 0.0, "age")
    rates = [law.hazard(ages) for law, _ in laws]
    # All of the data's band is within the axis, and what is near it of the best law.
    seen = found.failures > 0
    least, most = float(found.lower[seen].min()), float(found.upper.max())
    best = rates[0] if rates else found.rate
    near = np.append(np.clip(best[best > 0], least / _BEYOND, most * _BEYOND), found.rate[seen])
    log, limits = 0, (0.0, _ROOM * most)
    if near.max() > _STEEP * near.min():
        log, limits = 10, (min(least, near.min()) / _ROOM, max(most, near.max()) * _ROOM)
    ticks.scale(axes.yaxis, limits, label, partial(ticks.numbers, factor=1 / unit_s), log=log)
    edges = np.maximum(found.edges_s, axes.get_xlim()[0])
    low = np.maximum(found.lower, limits[0])
    axes.stairs(found.upper, edges, baseline=low, fill=True, **marks.BAND)
    axes.stairs(found.rate, edges, baseline=None, **_SEEN)
    for rate, (_, look) in zip(rates, laws, strict=True):
        axes.plot(ages, rate, **look)
    return "Failure rate"


def _ages(axes: Axes, sample: Sample, from_s: float, what: str) -> Floats:
    """Set the x axis of durations up to the longest, log from above 0; return ages across it."""
    to_s = float(sample.durations_s.max()) * 1.02
    if from_s > 0:
        ticks.scale(axes.xaxis, (from_s, to_s), what, ticks.durations, log=10)
        return np.geomspace(from_s, to_s, _POINTS)
    unit, unit_s = unit_of(float(np.median(sample.durations_s)))
    in_units = partial(ticks.numbers, factor=unit_s)
    ticks.scale(axes.xaxis, (0, to_s), f"{what}, {unit}", in_units)
    return np.linspace(0, to_s, _POINTS + 1)[1:]


def _repairs(sample: Sample, fits: Sequence[Fit], is_adequate: bool, axes: Axes) -> str:
    """Draw the share of outages that last longer; the best law of `fits`, if there is one."""
    curve = KaplanMeier.from_sample(sample)
    label = "length of an outage"
    if fits:
        label += f"; line: {_described(fits[0].law)}{'' if is_adequate else ' (not adequate)'}"
    # Shorter ones are left of the axis.
    first_s = float(np.quantile(sample.durations_s, 0.02)) / _ROOM
    limits = first_s, curve.last_s * _ROOM
    ticks.scale(axes.xaxis, limits, wrapped(label, 46), ticks.durations, log=10)
    ticks.scale(axes.yaxis, (0, 1.02), f"of {sample.n:,} outages last longer", ticks.shares)
    _steps(axes, curve, min(first_s, curve.times_s[0]))
    for found in fits[:1]:
        grid = np.geomspace(first_s, curve.last_s, 300)
        axes.plot(grid, survival_of(found.law, grid), **_line_style(found.law, best=True))
    half = f"Half of the outages are over after {duration(curve.median_s)}"
    if np.isnan(curve.median_s):
        half = "More than half of the outages went on"
    return f"{half}; mean {duration(curve.restricted_mean_s)}"


def _causes(causes: Mapping[str, tuple[int, float]], axes: Axes) -> str:
    """Draw a bar a cause, the commonest first, with its median repair behind it."""
    rows, letters = range(len(causes)), 12 if style.is_narrow() else 22
    counts, medians_s = zip(*causes.values(), strict=True)
    marks.name_rows(axes, [short(name, letters) for name in causes])
    axes.set(xlim=(0, counts[0]), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.barh(rows, counts, 0.68, color=style.LAW_COLOURS["gamma"])
    medians = ["" if math.isnan(each_s) else f", {duration(each_s)}" for each_s in medians_s]
    said = [f"{count:,}{median}" for count, median in zip(counts, medians, strict=True)]
    marks.write(axes, rows, counts, said, weight="normal")
    axes.set_xlabel("failures by cause" + ", median repair" * any(medians))
    share = counts[0] / sum(counts)
    return f"{short(next(iter(causes)), 24)}: {100 * share:.0f} % of the failures"


def _nodes(nodes: NodeFailures, axes: Axes) -> str:
    """Draw the share of failures on the worst share of nodes (a Lorenz curve)."""
    mean, low, high = nodes.by_chance()
    at = np.linspace(0, 1, len(mean))
    known = f"{len(nodes.counts):,} nodes"
    if nodes.unseen:
        known += f", {nodes.unseen:,} (estimated) never failed"
    label = f"share of the nodes, worst first; {known}"
    ticks.scale(axes.xaxis, (0, 1.02), label, ticks.shares)
    ticks.scale(axes.yaxis, (0, 1.02), "of the failures", ticks.shares)
    faint, worst = style.FAINT_INK, style.LAW_COLOURS["weibull"]
    axes.fill_between(at, low, high, **marks.BAND)
    axes.plot(at, mean, linewidth=0.9, label="alike nodes, 95 %", color=faint)
    axes.plot((0, 1), (0, 1), "--", linewidth=0.6, label="the same on each", color=faint)
    axes.plot(at, nodes.shares, zorder=4, label="the log", color=worst, linewidth=1.6)
    axes.legend(loc="lower right")
    chance = float(np.interp(_WORST, at, mean))
    said = f"The worst tenth of the nodes has {100 * nodes.worst_tenth:.0f} % of the failures"
    return f"{said}; by chance {100 * chance:.0f} %"
