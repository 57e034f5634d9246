"""The measure of loss that foretells the drop of AUC: PLS, lost updates, or lost change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.selection.words import listed

Floats = NDArray[np.float64]
#: Of the bootstrap: resamples of the seeds, and the seed of these.
_RESAMPLES: Final = 2000
_SEED: Final = 0
_ENDS: Final = (0.025, 0.975)
#: Of fewer seeds a bootstrap has too few samples that differ to show which measure is best: of two
#: that are equally good it names one far more often than in one case of twenty.
_FEWEST: Final = 5
#: Measures that differ by less than this share of the largest share one rank.
_TIED: Final = 0.01


@dataclass(frozen=True)
class Predictor:
    """The quality with which a measure foretells the drop of AUC.

    `measure`: its column in the table of runs. `explained`, `explained_low`, `explained_high`:
    share of the variance of the drops that one line through the origin explains, the same for all
    policies, and the 95 % interval of that; below 0 where their mean explains more. `ranked`,
    `ranked_low`, `ranked_high`: Spearman's rank correlation with the drops, and its 95 % interval;
    0 where the measure is the same everywhere.
    """

    measure: str
    explained: float
    explained_low: float
    explained_high: float
    ranked: float
    ranked_low: float
    ranked_high: float


@dataclass(frozen=True)
class Contest:
    """Measures that are held against the same drops.

    `points`: how many drops. `predictors`: all that took part. `explain`, `rank`: measures that
    explain most, and that rank best: one that is better than all others, or those of which none is
    shown to be, or none if none is shown to foretell anything.
    """

    points: int
    predictors: tuple[Predictor, ...]
    explain: tuple[str, ...]
    rank: tuple[str, ...]


def contest(measures: Mapping[str, Floats], drops: Floats) -> Contest:
    """Hold measures against drops, all of shape (seeds, points).

    Notes
    -----
    Points are means over the seeds. Intervals are of 2,000 bootstrap samples of the seeds (Efron
    and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13: percentiles), the same for
    all measures, so that these are compared by their differences in each sample. With fewer than
    five seeds none is named the best.
    """
    seeds = drops.shape[0]
    samples = np.random.default_rng(_SEED).integers(seeds, size=(_RESAMPLES, seeds))
    everything = np.concatenate([np.arange(seeds)[np.newaxis], samples])
    mean_drops = _means(drops, everything)
    explained, ranked = {}, {}
    for name, each in measures.items():
        means = _means(each, everything)
        explained[name] = explained_share(means, mean_drops)
        ranked[name] = rank_correlation(means, mean_drops)
    predictors = [
        Predictor(name, *_interval(explained[name]), *_interval(ranked[name])) for name in measures
    ]
    if seeds < _FEWEST:
        return Contest(drops.shape[1], tuple(predictors), tuple(measures), tuple(measures))
    return Contest(drops.shape[1], tuple(predictors), _leading(explained), _leading(ranked))


def told(found: Contest) -> str:
    """Return the best measure, and its quality, in a clause."""
    explained = {each.measure: each.explained for each in found.predictors}
    ranked = {each.measure: each.ranked for each in found.predictors}
    return (
        f"{_best(found.explain, explained, 'explains most of it', 'explains any of it')}, "
        f"{_best(found.rank, ranked, 'ranks it best', 'ranks it')}"
    )


def _best(names: tuple[str, ...], values: Mapping[str, float], does: str, none: str) -> str:
    if len(names) > 1:
        return f"undecided which of {listed(names)} {does}"
    return f"{names[0]} {does} ({values[names[0]]:.2f})" if names else f"none {none}"


def _means(values: Floats, samples: NDArray[np.int64]) -> Floats:
    """Return the means of each sample of seeds, shape (samples, points)."""
    # A sample at a time takes little memory.
    return np.array([values[each].mean(axis=0) for each in samples])


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
    first, second = rankdata(steps, axis=-1), rankdata(drops, axis=-1)
    first -= first.mean(axis=-1, keepdims=True)
    second -= second.mean(axis=-1, keepdims=True)
    scale = np.sqrt(np.square(first).sum(axis=-1) * np.square(second).sum(axis=-1))
    found: Floats = np.divide(
        (first * second).sum(axis=-1), scale, out=np.zeros_like(scale), where=scale > 0
    )
    return found


def _interval(values: Floats) -> tuple[float, float, float]:
    """Return the first value, and the interval by the samples after it."""
    low, high = np.quantile(values[1:], _ENDS)
    return float(values[0]), float(low), float(high)


def _leading(values: Mapping[str, Floats]) -> tuple[str, ...]:
    """The largest, and those that it isn't shown to be larger than; of those above 0 alone."""
    sound = {name: each for name, each in values.items() if _interval(each)[1] > 0}
    if not sound:
        return ()
    leader = max(sound, key=lambda name: sound[name][0])
    return tuple(name for name in sound if _interval(sound[leader] - sound[name])[1] <= 0)
