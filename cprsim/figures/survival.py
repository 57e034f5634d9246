"""A sample of durations, and how well each fitted law describes it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import counted
from cprsim.figures.parts import curves, style, texts, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import duration, number, percent, unit_of
from cprsim.figures.parts.thinning import by_log_odds, evenly
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.fitted_laws import survival as survival_of
from cprsim.survival.kaplan_meier import KaplanMeier, hazard
from cprsim.survival.sample import Floats, Sample

#: A further panel: draws on axes, and returns the sentence above them.
Panel = Callable[[Axes], str]

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
_LETTERS: Final = (32, 27)  # of a line above a further panel, and in a narrow figure
_FAR: Final = 0.1  # Kolmogorov-Smirnov distance of a law that isn't near
_SEEN: Final[dict[str, Any]] = {"color": style.INK, "linewidth": 0.9}
_MARK: Final[dict[str, Any]] = {
    "linestyle": "none",
    "marker": "|",
    "markersize": 4.0,
    "markeredgewidth": 0.5,
    "markeredgecolor": style.INK,
}
_BAND: Final[dict[str, Any]] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}


def line_style(law: Distribution, best: bool) -> dict[str, Any]:
    """Return the look of its line: the best law's is thick and whole, others' thin and dashed."""
    return {
        "color": style.LAW_COLOURS[law.distribution],
        "linewidth": 1.8 if best else 1.0,
        "linestyle": "-" if best else curves.dashed(law.distribution),
    }


def described(law: Distribution) -> str:
    """Return its name, mean and shape or cv, for people."""
    words = f"{law.distribution}, mean {duration(law.expected_s)}"
    if law.shape is not None:
        words += f", shape {number(law.shape)}"
    return words if law.cv is None else f"{words}, cv {number(law.cv)}"


def failures_per(unit: str) -> str:
    """Return the label of an axis of failure rates."""
    return f"failures per {'year' if unit == 'years' else unit}"


def draw_steps(axes: Axes, curve: KaplanMeier, first_s: float, *, to_end: bool = False) -> float:
    """Draw a Kaplan-Meier curve and its band from `first_s`; return the lower end of the band.

    `to_end`: up to the longest duration, failed or not.
    """
    some = evenly(len(curve.times_s), _MOST_STEPS)
    times = np.concatenate(([first_s], curve.times_s[some], [curve.last_s] * to_end))
    shares = np.concatenate(([1.0], curve.at(times[1:])))
    # The band keeps its ends where they aren't known: there the survival is 0, or the last one.
    low, high = (_held(np.concatenate(([1.0], end[some]))) for end in curve.band())
    below, above = (np.append(each, [each[-1]] * to_end) for each in (low, high))
    axes.fill_between(times, below, above, step="post", **_BAND)
    axes.step(times, shares, where="post", zorder=5, **_SEEN)
    return float(low[-1])


def _held(ends: Floats) -> Floats:
    """Return values, those that are unknown as the one before."""
    known = np.maximum.accumulate(np.where(np.isnan(ends), 0, np.arange(len(ends))))
    return ends[known]


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

    @property
    def laws(self) -> list[tuple[Distribution, dict[str, Any]]]:
        """Each law and how its line looks; the best one last, so that it covers the others."""
        return [
            (found.law, line_style(found.law, best=i == 0))
            for i, found in reversed(list(enumerate(self.fits)))
        ]


def survival(
    sample: Sample, fits: Sequence[Fit], title: str = "", more: Sequence[Panel] = ()
) -> Figure:
    """Draw a sample of durations and the laws fitted to it: survival, failure rate, quantiles.

    Parameters
    ----------
    sample
        What was seen, seconds.
    fits
        The laws fitted to it, the best first, as `cprsim.survival.fitted_laws.fit_all` gives them;
        none where there are too few failures.
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
        for draw, axes in zip(more, others, strict=True):
            axes.set_title(texts.wrapped(draw(axes), _LETTERS[sheet.narrow]))
        sheet.key(_entries(data), below=len(more) % 2 == 1)
        note = (
            "KS: largest distance between a law's survival and the Kaplan-Meier curve; RMSE: root "
            "mean square of it over time"
        )
        notes = [_facts(sample), note if fits else ""]
        return sheet.done(_finding(fits), title, notes, _PANEL_IN)


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
    curve, failed_s = data.curve, data.failed_s
    # A linear axis would leave no room for the shorter half of the failures.
    log = len(failed_s) > 0 and float(np.median(failed_s)) < _SHORT * curve.last_s
    _ages(axes, data, log, "duration")
    axes.set(title="Survival", ylabel="share that lasts longer")
    axes.grid()
    first_s = min(axes.get_xlim()[0], curve.times_s[0]) if log else 0.0
    lowest = draw_steps(axes, curve, first_s, to_end=True)
    lowest = min(lowest, float(curve.at(curve.last_s)))
    _censored(axes, data)
    grid = _grid(axes)
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
    """Draw the failure rate with no law assumed, and that of each law."""
    axes.set(title="Failure rate", ylabel=failures_per(data.unit[0]))
    axes.grid()
    if not data.sample.failures:
        _instead(axes, "nothing failed")
        return
    found = hazard(data.sample)
    wide = data.curve.last_s > _SPAN * _ROOM * data.first_s
    _ages(axes, data, wide and (len(found.rate) > 1 or len(data.fits) > 0), "age")
    grid = _grid(axes)
    rates = [(law.hazard(grid), look) for law, look in data.laws]
    # All of the data's band is within the axis, and what is near it of the best law.
    seen = found.failures > 0
    least, most = float(found.lower[seen].min()), float(found.upper.max())
    best = rates[-1][0] if rates else found.rate
    near = np.append(np.clip(best[best > 0], least / _BEYOND, most * _BEYOND), found.rate[seen])
    if near.max() > _STEEP * near.min():
        axes.set_yscale("log")
        axes.set_ylim(min(least, near.min()) / _ROOM, max(most, near.max()) * _ROOM)
    else:
        axes.set_ylim(0, _ROOM * most)
    ticks.numbers(axes.yaxis, 1 / data.unit[1])
    edges = np.maximum(found.edges_s, axes.get_xlim()[0])
    low = np.maximum(found.lower, axes.get_ylim()[0])
    axes.stairs(found.upper, edges, baseline=low, fill=True, **_BAND)
    axes.stairs(found.rate, edges, baseline=None, zorder=5, **_SEEN)
    for rate, look in rates:
        axes.plot(grid, rate, **look)


def _quantiles(axes: Axes, data: _Data) -> None:
    """Draw failure times over the times at which each law expects as many to have failed."""
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
    # The diagonal is where data and law agree: both axes are over the same durations.
    both = np.append(seen_s, expected[-1][0])
    limits = (both[both > 0].min() / _ROOM, both.max() * _ROOM) if log else (0, both.max() * 1.05)
    axes.set(xlim=limits, ylim=limits)
    _durations_on(axes, "x", data, log)
    _durations_on(axes, "y", data, log)
    axes.set_xlabel("quantile of the law" if log else f"quantile of the law, {data.unit[0]}")
    axes.axline((0, 0), (1, 1), transform=axes.transAxes, color=style.FAINT_INK, linewidth=0.6)
    # The best law has a point for each of the data's quantiles.
    marks: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.0}
    marks |= {"markeredgewidth": 0, "color": expected[-1][1]["color"], "zorder": 4}
    for quantiles, look in [*expected[:-1], (expected[-1][0], marks)]:
        axes.plot(np.where(quantiles > 0, quantiles, np.nan), seen_s, **look)


def _ages(axes: Axes, data: _Data, log: bool, what: str) -> None:
    """Set the x axis of durations, up to the longest, failed or not."""
    axes.set_xlim(data.first_s if log else 0, data.curve.last_s * _PAST)
    _durations_on(axes, "x", data, log)
    axes.set_xlabel(what if log else f"{what}, {data.unit[0]}")


def _durations_on(axes: Axes, along: Literal["x", "y"], data: _Data, log: bool) -> None:
    """Put durations on an axis, log or in the sample's unit."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    if log:
        axes.set(**{f"{along}scale": "log"})
        ticks.durations(axis)
    else:
        ticks.numbers(axis, data.unit[1])


def _grid(axes: Axes) -> Floats:
    """Return durations evenly across the axis, none of them 0."""
    low, high = axes.get_xlim()
    if axes.get_xscale() == "log":
        return np.geomspace(low, high, _POINTS)
    return np.linspace(low, high, _POINTS + 1)[1:]


def _instead(axes: Axes, why: str) -> None:
    axes.set(xticks=[], yticks=[])
    look: dict[str, Any] = {"size": style.small_pt(), "color": style.FAINT_INK, "ha": "center"}
    axes.text(0.5, 0.5, why, transform=axes.transAxes, **look)


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
