"""A sample of durations, and how well each fitted law describes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import counted
from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.findings import Finding
from cprsim.figures.parts.laws import described, line_style
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import duration, percent, unit_of
from cprsim.figures.parts.thinning import by_log_odds, evenly
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.fitted_laws import survival as survival_of
from cprsim.survival.hazard import Hazard, hazard
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Floats, Sample

_PANEL_IN: Final = 1.8
_POINTS: Final = 400  # of a law's curve
_MOST_STEPS: Final = 1000  # of the data's: more can't be seen
_MOST_QUANTILES: Final = 150
_MOST_MARKS: Final = 60  # of censored durations
_SHORT: Final = 0.02  # half of what fails within this part of an axis is unseen unless it is log
_SPAN: Final = 30.0  # a decade and a half: beyond that an axis of durations is log
_STEEP: Final = 3.0  # so is one of rates beyond this
_BEYOND: Final = 10.0  # how far the best law's rate may reach beyond that of the data
_LOWEST: Final = 0.5  # a survival that stays above it is drawn from where it ends, else from 0
_PAST: Final = 1.02  # so far beyond the longest duration, that the curve's last step shows
_ROOM: Final = 1.15
_DIAGONAL: Final = ((0.0, 0.0), (1.0, 1.0))
_SEEN: Final[dict[str, Any]] = {"color": style.INK, "linewidth": 0.9}
_MARK: Final[dict[str, Any]] = {
    "linestyle": "none",
    "marker": "|",
    "markersize": 4.0,
    "markeredgewidth": 0.5,
    "markeredgecolor": style.INK,
}
_BAND: Final[dict[str, Any]] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}
_FAR: Final = 0.1  # Kolmogorov-Smirnov distance of a law that isn't near


@dataclass(frozen=True, eq=False)
class _Data:
    """A sample as all panels need it."""

    sample: Sample
    fits: Sequence[Fit]

    @cached_property
    def curve(self) -> KaplanMeier:
        return KaplanMeier.from_sample(self.sample)

    @cached_property
    def failed_s(self) -> Floats:
        return np.sort(self.sample.durations_s[self.sample.observed])

    @cached_property
    def unit(self) -> tuple[str, float]:
        """Unit of linear axes and of rates, and its seconds."""
        return unit_of(float(np.median(self.sample.durations_s)))

    @cached_property
    def first_s(self) -> float:
        """Where log axes begin: at the shortest failure, but not far below the shortest 5 %."""
        few_s = float(np.quantile(self.failed_s, 0.05, method="inverted_cdf"))
        return max(float(self.failed_s[0]), few_s / 10) / _ROOM

    @cached_property
    def wide(self) -> bool:
        """Whether ages span so much that only a log axis shows them."""
        return self.curve.last_s > _SPAN * _ROOM * self.first_s

    @cached_property
    def mostly_short(self) -> bool:
        """Whether a linear axis would leave no room for the shorter half of the failures."""
        failed = self.failed_s
        return len(failed) > 0 and float(np.median(failed)) < _SHORT * self.curve.last_s

    @property
    def laws(self) -> list[tuple[Distribution, dict[str, Any]]]:
        """Each law and how its line looks; the best one last, so that it covers the others."""
        return [
            (found.law, line_style(found.law, best=i == 0))
            for i, found in reversed(list(enumerate(self.fits)))
        ]


def survival(
    sample: Sample, fits: Sequence[Fit], title: str = "", more: Sequence[Finding] = ()
) -> Figure:
    """Draw a sample of durations and the laws fitted to it: survival, failure rate, quantiles.

    Parameters
    ----------
    sample
        What was seen, seconds.
    fits
        The laws fitted to it, the best first, as `cprsim.survival.fitted_laws.fit_all` gives them;
        none where there are too few failures.
    title
        Of what: the first note below.
    more
        Further panels.

    Returns
    -------
    matplotlib.figure.Figure
        Its first three axes are the survival (a share, 0 to 1), the failure rate (1/s) and the
        quantiles of the data over those of the laws; durations and ages are in seconds.
    """
    with style.styled():
        data = _Data(sample, fits)
        sheet = Sheet(3 + len(more), 2)
        survives, rates, quantiles, *others = sheet.axes
        _survival(survives, data)
        _rate(rates, data)
        _quantiles(quantiles, data)
        for found, axes in zip(more, others, strict=True):
            found.put(axes)
        sheet.key(_entries(data), "lower left" if len(more) % 2 else "right upper")
        return sheet.done(_finding(fits), title, [_facts(sample), *_notes(data)], _PANEL_IN)


def _finding(fits: Sequence[Fit]) -> str:
    """Say which law comes first, and how far its survival is off; that all are far off.

    It is the best by AIC, or the best of those that aren't far off.
    """
    if not fits:
        return ""
    first, off = fits[0].law.distribution, percent(fits[0].ks)
    by_aic = fits[0].aic <= min(each.aic for each in fits)
    if min(each.ks for each in fits) > _FAR:
        near, best = percent(_FAR), ", best by AIC," if by_aic else ""
        return f"No law is within {near} of the log; {first}{best} is up to {off} off"
    if by_aic:
        return f"{first.capitalize()} fits best by AIC: up to {off} off the log"
    return f"{first.capitalize()} is taken, though not best by AIC: up to {off} off the log"


def _facts(sample: Sample) -> str:
    counts = counted(sample.n, "duration")
    if not sample.censored and not sample.late:
        return f"{counts}, none censored; mean {duration(sample.mean_s)}"
    counts += f", {sample.censored:,} censored ({percent(sample.censored / sample.n)})"
    if sample.late:
        counts += f", {sample.late:,} watched from a later age"
    if not sample.failures:
        return f"{counts}; nothing failed"
    return f"{counts}; mean (time watched for each failure) {duration(sample.mtbf_s)}"


def _survival(axes: Axes, data: _Data) -> None:
    curve, log = data.curve, data.mostly_short
    steps = evenly(len(curve.times_s), _MOST_STEPS)
    times = np.concatenate(([0.0], curve.times_s[steps], [curve.last_s]))
    low, high = (_held(end[steps]) for end in curve.band())
    _ages(axes, data, log, "duration")
    axes.set(title="Survival", ylabel="share that lasts longer")
    axes.grid()
    shares = curve.at(times)
    if log:  # 0 has no place on it
        times[0] = min(axes.get_xlim()[0], times[1])
    axes.fill_between(times, low, high, step="post", **_BAND)
    axes.step(times, shares, where="post", zorder=5, **_SEEN)
    _censored(axes, data)
    grid = _grid(axes, log)
    lowest = min(low[-1], float(curve.at(curve.last_s)))
    for law, look in data.laws:
        left = survival_of(law, grid, curve.from_s)
        lowest = min(lowest, float(left[-1]))
        axes.plot(grid, left, **look)
    bottom = 1 - _ROOM * (1 - lowest) if _LOWEST < lowest < 1 else 0.0
    axes.set_ylim(bottom, 1 + 0.02 * (1 - bottom))
    ticks.shares(axes.yaxis)


def _censored(axes: Axes, data: _Data) -> None:
    """A mark on the curve where durations were cut short; where they crowd, for many at once."""
    cut_s = np.unique(data.sample.durations_s[np.logical_not(data.sample.observed)])
    scale = axes.xaxis.get_transform()
    low, high = scale.transform(np.asarray(axes.get_xlim()))
    places = np.round((scale.transform(cut_s) - low) / (high - low) * _MOST_MARKS)
    _, first = np.unique(places, return_index=True)
    if len(first):
        marked_s = cut_s[first]
        axes.plot(marked_s, data.curve.at(marked_s), zorder=5, **_MARK)


def _rate(axes: Axes, data: _Data) -> None:
    """The failure rate with no law assumed, and that of each law."""
    unit, _ = data.unit
    per = "year" if unit == "years" else unit
    axes.set(title="Failure rate", ylabel=f"failures per {per}")
    axes.grid()
    if not data.sample.failures:
        _instead(axes, "nothing failed")
        return
    found = hazard(data.sample)
    log = data.wide and (len(found.rate) > 1 or len(data.fits) > 0)
    _ages(axes, data, log, "age")
    edges = np.maximum(found.edges_s, axes.get_xlim()[0])
    grid = _grid(axes, log)
    rates = [(law.hazard(grid), look) for law, look in data.laws]
    _rates_axis(axes, data, found, rates[-1][0] if rates else found.rate)
    low = np.maximum(found.lower, axes.get_ylim()[0])
    axes.stairs(found.upper, edges, baseline=low, fill=True, **_BAND)
    axes.stairs(found.rate, edges, baseline=None, zorder=5, **_SEEN)
    for rate, look in rates:
        axes.plot(grid, rate, **look)


def _rates_axis(axes: Axes, data: _Data, found: Hazard, best: Floats) -> None:
    """The y axis of failure rates: all of the data's band, and what is near it of the best law."""
    least, most = float(found.lower[found.failures > 0].min()), float(found.upper.max())
    best = np.clip(best[best > 0], least / _BEYOND, most * _BEYOND)
    rates = np.concatenate((best, found.rate[found.failures > 0]))
    if rates.max() > _STEEP * rates.min():
        axes.set_yscale("log")
        axes.set_ylim(min(least, rates.min()) / _ROOM, max(most, rates.max()) * _ROOM)
    else:
        axes.set_ylim(0, _ROOM * most)
    ticks.numbers(axes.yaxis, 1 / data.unit[1])


def _quantiles(axes: Axes, data: _Data) -> None:
    """Failure times over the times at which each law expects as many to have failed."""
    axes.set(title="Quantiles", ylabel="quantile of the data")
    axes.grid()
    if not data.fits:
        _instead(axes, "no law fitted")
        return
    curve = data.curve
    # Of the two ends of a step the middle; at its lower end the last quantile would be infinite.
    left = (np.concatenate(([1.0], curve.survival[:-1])) + curve.survival) / 2
    some = by_log_odds(left, _MOST_QUANTILES)
    seen_s, left = curve.times_s[some], left[some]
    began = np.array([curve.from_s])
    expected = [(law.quantile(left * law.survival(began)), look) for law, look in data.laws]
    log = bool(seen_s[-1] > _SPAN * seen_s[0])
    _same_scales(axes, data, log, np.concatenate((seen_s, expected[-1][0])))
    axes.axline(*_DIAGONAL, transform=axes.transAxes, color=style.FAINT_INK, linewidth=0.6)
    for quantiles, look in expected[:-1]:
        axes.plot(np.where(quantiles > 0, quantiles, np.nan), seen_s, **look)
    quantiles, look = expected[-1]
    axes.plot(
        np.where(quantiles > 0, quantiles, np.nan),
        seen_s,
        linestyle="none",
        marker="o",
        markersize=3.0,
        markeredgewidth=0,
        color=look["color"],
        zorder=4,
    )


def _same_scales(axes: Axes, data: _Data, log: bool, durations_s: Floats) -> None:
    """Both axes over the same durations: the diagonal is where data and law agree."""
    if log:
        positive = durations_s[durations_s > 0]
        limits = float(positive.min()) / _ROOM, float(positive.max()) * _ROOM
        axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
        ticks.durations(axes.xaxis)
        ticks.durations(axes.yaxis)
    else:
        limits = 0.0, float(durations_s.max()) * 1.05
        axes.set(xlim=limits, ylim=limits)
        ticks.numbers(axes.xaxis, data.unit[1])
        ticks.numbers(axes.yaxis, data.unit[1])
    axes.set_xlabel("quantile of the law" if log else f"quantile of the law, {data.unit[0]}")


def _ages(axes: Axes, data: _Data, log: bool, what: str) -> None:
    """The x axis of durations, up to the longest, failed or not."""
    last_s = data.curve.last_s
    if log:
        axes.set_xscale("log")
        axes.set_xlim(data.first_s, last_s * _PAST)
        ticks.durations(axes.xaxis)
    else:
        axes.set_xlim(0, last_s * _PAST)
        ticks.numbers(axes.xaxis, data.unit[1])
    axes.set_xlabel(what if log else f"{what}, {data.unit[0]}")


def _grid(axes: Axes, log: bool) -> Floats:
    """Durations evenly across the axis, none of them 0."""
    low, high = axes.get_xlim()
    if log:
        return np.geomspace(low, high, _POINTS)
    return np.linspace(low, high, _POINTS + 1)[1:]


def _instead(axes: Axes, why: str) -> None:
    axes.set(xticks=[], yticks=[])
    middle: dict[str, Any] = {"ha": "center", "transform": axes.transAxes}
    axes.text(0.5, 0.5, why, size=style.small_pt(), color=style.FAINT_INK, **middle)


def _held(ends: Floats) -> Floats:
    """One end of the band from 0 to the longest duration; it keeps its value where S is 0."""
    ends = np.concatenate(([1.0], ends, [np.nan]))
    known = np.maximum.accumulate(np.where(np.isnan(ends), 0, np.arange(len(ends))))
    return ends[known]


def _entries(data: _Data) -> list[Entry]:
    """Say what each line is, and how far each law is from the data."""
    band = {"color": style.RULE, "linewidth": 7, "solid_capstyle": "butt"}
    facts = "Kaplan-Meier curve, binned failure rate, 95 % bands"
    entries = [Entry([band, _SEEN], "data", facts)]
    if data.sample.censored:
        entries.append(Entry([_SEEN, _MARK], "censored", "a mark can be several"))
    for i, found in enumerate(data.fits):
        distances = f"KS {percent(found.ks)}, RMSE {percent(found.rmse)}"
        look = line_style(found.law, best=i == 0)
        entries.append(Entry([look], described(found.law), distances))
    return entries


def _notes(data: _Data) -> list[str]:
    note = (
        "KS: largest distance between a law's survival and the Kaplan-Meier curve; RMSE: root mean "
        "square of it over time"
    )
    return [note] if data.fits else []
