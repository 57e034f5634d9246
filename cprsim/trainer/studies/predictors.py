"""The measure of loss that foretells the drop of AUC: PLS, lost updates, or lost change."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from cprsim.basics.units import listed
from cprsim.runs.summaries import Mean
from cprsim.trainer.studies.slope import Floats

#: Of the bootstrap: resamples of the seeds, and the seed of these.
_RESAMPLES, _SEED = 2000, 0
#: Of fewer seeds a bootstrap has too few samples that differ to show which measure is best: of two
#: that are equally good it names one far more often than in one case of twenty.
_FEWEST: Final = 5
#: Measures that differ by less than this share of the largest share one rank.
_TIED: Final = 0.01


class Predictor(NamedTuple):
    """The quality with which a measure foretells the drop of AUC.

    `measure`: its column in the table of runs. `explained`: share of the variance of the drops that
    one line through the origin explains, the same for all policies; below 0 where their mean
    explains more. `ranked`: Spearman's rank correlation with the drops; 0 where the measure is the
    same everywhere.
    """

    measure: str
    explained: Mean
    ranked: Mean


class Contest(NamedTuple):
    """Measures that are held against the same drops.

    `points`: how many drops. `predictors`: all that took part. `explain`, `rank`: measures that
    explain most, and that rank best: one that is better than all others, or those of which none is
    shown to be, or none if none is shown to foretell anything.
    """

    points: int
    predictors: tuple[Predictor, ...]
    explain: tuple[str, ...]
    rank: tuple[str, ...]

    @property
    def best(self) -> str:
        """The best measure, and its quality, in a clause."""
        explained = {each.measure: each.explained.mean for each in self.predictors}
        ranked = {each.measure: each.ranked.mean for each in self.predictors}
        return (
            f"{_named(self.explain, explained, 'explains most of it', 'explains any of it')}, "
            f"{_named(self.rank, ranked, 'ranks it best', 'ranks it')}"
        )


def contest(measures: Mapping[str, Floats], drops: Floats) -> Contest:
    """Hold measures against drops, all of shape (seeds, points).

    Notes
    -----
    Points are means over the seeds. Intervals are of 2,000 bootstrap samples of the seeds (Efron
    and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13: percentiles), the same for
    all measures, so that these are compared by their differences in each sample. With fewer than
    five seeds none is named the best.
    """
    seeds, points = drops.shape
    samples = np.random.default_rng(_SEED).integers(seeds, size=(_RESAMPLES, seeds))

    def means(values: Floats) -> Floats:
        """Return those of all seeds, then of each sample, which one by one take little memory."""
        return np.array([values[each].mean(axis=0) for each in (np.arange(seeds), *samples)])

    mean_drops = means(drops)
    of = {name: means(each) for name, each in measures.items()}
    explained = {name: explained_share(each, mean_drops) for name, each in of.items()}
    ranked = {name: rank_correlation(each, mean_drops) for name, each in of.items()}
    predictors = tuple(
        Predictor(name, _interval(explained[name]), _interval(ranked[name])) for name in of
    )
    if seeds < _FEWEST:
        return Contest(points, predictors, tuple(of), tuple(of))
    return Contest(points, predictors, _leading(explained), _leading(ranked))


def explained_share(measure: Floats, drops: Floats) -> Floats:
    """Share of the variance of drops that slope x measure explains, along the last axis.

    The slope is that of least squares; 1 - sum((drop - slope x measure)^2) / sum((drop - mean)^2).
    """
    squares = np.square(measure).sum(axis=-1)
    slope = np.divide(
        (measure * drops).sum(axis=-1), squares, out=np.zeros_like(squares), where=squares > 0
    )
    left = np.square(drops - slope[..., np.newaxis] * measure).sum(axis=-1)
    spread = np.square(drops - drops.mean(axis=-1, keepdims=True)).sum(axis=-1)
    share: Floats = 1 - np.divide(left, spread, out=np.ones_like(left), where=spread > 0)
    return share


def rank_correlation(measure: Floats, drops: Floats) -> Floats:
    """Spearman's, along the last axis; measures that are nearly the same are tied."""
    from scipy.stats import rankdata  # noqa: PLC0415  (scipy is slow to import)

    largest = np.abs(measure).max(axis=-1, keepdims=True)
    steps = np.round(measure / np.where(largest > 0, largest, 1) / _TIED)
    ranks = (rankdata(each, axis=-1) for each in (steps, drops))
    first, second = (each - each.mean(axis=-1, keepdims=True) for each in ranks)
    scale = np.sqrt(np.square(first).sum(axis=-1) * np.square(second).sum(axis=-1))
    found: Floats = np.divide(
        (first * second).sum(axis=-1), scale, out=np.zeros_like(scale), where=scale > 0
    )
    return found


def _interval(values: Floats) -> Mean:
    """Return the first value, and the interval by the samples after it."""
    low, high = np.quantile(values[1:], (0.025, 0.975))
    return Mean(float(values[0]), float(low), float(high))


def _leading(values: Mapping[str, Floats]) -> tuple[str, ...]:
    """The largest, and those that it isn't shown to be larger than; of those above 0 alone."""
    sound = {name: each for name, each in values.items() if _interval(each).low > 0}
    if not sound:
        return ()
    leader = max(sound, key=lambda name: sound[name][0])
    return tuple(name for name in sound if _interval(sound[leader] - sound[name]).low <= 0)


def _named(names: tuple[str, ...], values: Mapping[str, float], does: str, none: str) -> str:
    if len(names) > 1:
        return f"undecided which of {listed(names)} {does}"
    return f"{names[0]} {does} ({values[names[0]]:.2f})" if names else f"none {none}"
