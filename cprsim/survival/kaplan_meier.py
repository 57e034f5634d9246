"""Estimates with no law assumed: survival, failure rate, and a test of groups.

Lives may be cut short, or come into sight late.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cprsim.basics.periods import ROUNDING
from cprsim.errors import LogError
from cprsim.survival.sample import Floats, Sample

_PER_BIN: Final = 25  # failures: the band is then about 40 % either way
_MOST_BINS: Final = 20
_MISS: Final = (1 - 0.95) / 2
#: As likely by chance as three standard errors.
_SURE: Final = 0.0027


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """Kaplan-Meier (product-limit) estimate of the survival: a step down at each failure time.

    Notes
    -----
    Where lives come into sight late, few may be at risk at the least ages: if all of them fail, the
    curve is 0 from there on, whatever is seen later.

    References
    ----------
    E. L. Kaplan and P. Meier, "Nonparametric estimation from incomplete observations", JASA 53
    (1958); J. D. Kalbfleisch and R. L. Prentice, "The statistical analysis of failure time data"
    (2002), section 1.4, for the variance and the log(-log) band.
    """

    #: Distinct durations that ended in a failure, seconds, ascending, shape (k,).
    times_s: Floats
    #: How many failed at each of them.
    failures: NDArray[np.int64]
    #: How many were watched then; one censored at the same duration counts, one that comes into
    #: sight at it doesn't.
    at_risk: NDArray[np.int64]
    #: Share that lasts longer, at each of them: 1 before the first, constant in between.
    survival: Floats
    #: Longest duration, failed or censored: beyond it the data say nothing.
    last_s: float
    #: The least age at which one came into sight: before it the data say nothing either, so that
    #: `survival` is that of lives that get there.
    from_s: float = 0.0

    @classmethod
    def from_sample(cls, sample: Sample) -> Self:
        """The curve of a sample; flat at 1 where nothing failed."""
        times, failures = np.unique(sample.durations_s[sample.observed], return_counts=True)
        at_risk = sample.at_risk(times)
        survival = np.cumprod((at_risk - failures) / at_risk, dtype=np.float64)
        ends_s = float(sample.entered_s.min()), float(sample.durations_s.max())
        return cls(times, failures, at_risk, survival, from_s=ends_s[0], last_s=ends_s[1])

    @property
    def median_s(self) -> float:
        """The median, seconds; nan where fewer than half have failed by the end."""
        return float(self.quantile(0.5))

    def band(self) -> tuple[Floats, Floats]:
        """Pointwise 95 % band of `survival`, by the normal approximation of log(-log S).

        Lower and upper end at each of `times_s`, from 0 to 1; nan where the curve is 0.
        """
        left = self.at_risk - self.failures
        terms = self.failures / (self.at_risk * np.maximum(left, 1).astype(np.float64))
        # Greenwood's variance of the logarithm; 0 where the curve is 0, for want of an estimate.
        variance = np.where(left > 0, np.cumsum(terms), 0.0)
        z = NormalDist().inv_cdf((1 + 0.95) / 2)
        log = np.log(np.where(self.survival > 0, self.survival, np.nan))
        spread = np.exp(z * np.sqrt(variance) / np.abs(log))
        return np.exp(log * spread), np.exp(log / spread)

    def at(self, t_s: ArrayLike) -> Floats:
        """Share that lasts longer than `t_s` (seconds); its last value beyond `last_s`."""
        steps = np.searchsorted(self.times_s, np.asarray(t_s, dtype=np.float64), side="right")
        return np.concatenate(([1.0], self.survival))[steps]

    def quantile(self, share: ArrayLike) -> Floats:
        """First time by which `share` (0 to 1) have failed, seconds; nan where that many never do.

        Of an even number of complete durations, `quantile(0.5)` is the smaller of the middle two.
        """
        shares = np.asarray(share, dtype=np.float64)
        reached = np.searchsorted(1 - self.survival, shares - ROUNDING)
        return np.where(shares > 0, np.append(self.times_s, np.nan)[reached], 0.0)

    @property
    def restricted_mean_s(self) -> float:
        """Mean of min(duration, `last_s`), seconds: the area under the curve up to there."""
        edges = np.concatenate(([0.0], self.times_s, [self.last_s]))
        return float(np.sum(np.diff(edges) * np.concatenate(([1.0], self.survival))))

    def typical(self, size: int) -> Floats:
        """`size` durations that represent the curve, seconds: one for each equal share of it.

        Raises `LogError` if nothing failed.
        """
        return self.durations((np.arange(size) + 0.5) / size)

    def durations(self, failed: Floats) -> Floats:
        """The duration by which each of these shares, from 0 to below 1, have failed, seconds.

        Of random shares it is a draw from the curve. Raises `LogError` if nothing failed.

        Notes
        -----
        The curve gives each observed failure time its drop of survival as probability. Where the
        longest duration is censored, a share S(last) > 0 outlives the data; it gets the tail
        `S(t) = S(last) ** (t / last)` of Brown, Hollander and Korwar (1974), i.e. the failure rate
        that, held from 0 on, would have led to S(last). Failing all of them at `last_s` (Efron)
        would draw a burst that no data show, and leaving them out a law that fails too soon.
        """
        left = float(self.at(self.last_s))
        if left == 1:
            raise LogError("nothing failed: there is no duration to draw")
        # In their order: among many steps, looking for random shares takes three times as long.
        order, steps = np.argsort(failed), np.empty(len(failed), np.intp)
        steps[order] = np.searchsorted(1 - self.survival, failed[order], side="right")
        drawn = np.append(self.times_s, self.last_s)[steps]
        beyond = steps == len(self.times_s)
        if beyond.any():
            drawn[beyond] *= np.log1p(-failed[beyond]) / math.log(left)
        return drawn


class Hazard(NamedTuple):
    """Failure rate, taken as constant within each of b bins of age.

    `edges_s`: ages at which the bins start and end, seconds, from the least age that was watched to
    the longest duration, shape (b + 1,); a failure at an edge belongs to the bin that ends there.
    `exposure_s`: time watched at such ages of all durations together. `rate`: failures / exposure,
    1/s; `lower` and `upper`: its exact Poisson 95 % band, pointwise.
    """

    edges_s: Floats
    failures: NDArray[np.int64]
    exposure_s: Floats
    rate: Floats
    lower: Floats
    upper: Floats


def hazard(sample: Sample, bins: int | None = None) -> Hazard:
    """Failure rate in bins that hold about as many failures each.

    Durations that were cut short add exposure until then, those that came into sight late from
    there. Some ended in a failure. `bins`: how many, no more than failures; if not given, one for
    25 failures, but 1 to 20. Ties can leave fewer.

    Notes
    -----
    The band is Garwood's, from the chi-squared law (F. Garwood, Biometrika 28, 1936), as if the
    edges had been chosen before the failures were seen; being quantiles of them, they make the
    band a little too wide.
    """
    failed = sample.durations_s[sample.observed]
    if bins is None:
        bins = min(max(len(failed) // _PER_BIN, 1), _MOST_BINS)
    from_s, last_s = float(sample.entered_s.min()), float(sample.durations_s.max())
    inner = np.quantile(failed, np.arange(1, bins) / bins, method="inverted_cdf")
    edges = np.unique(np.concatenate(([from_s], inner[inner < last_s], [last_s])))
    failures = np.bincount(np.searchsorted(edges, failed) - 1, minlength=len(edges) - 1)
    watched = [
        np.minimum(sample.durations_s, edge).sum() - np.minimum(sample.entered_s, edge).sum()
        for edge in edges
    ]
    exposure = np.diff(watched)
    lower, upper = (each / exposure for each in poisson_band(failures))
    return Hazard(edges, failures, exposure, failures / exposure, lower, upper)


def poisson_band(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The exact 95 % band (Garwood 1936) of the expected number of events, for each count."""
    from scipy.special import gammaincinv  # noqa: PLC0415  (scipy is slow to import)

    few = np.where(counts > 0, gammaincinv(np.maximum(counts, 1), _MISS), 0.0)
    return few, np.asarray(gammaincinv(counts + 1, 1 - _MISS), dtype=np.float64)


class LogRank(NamedTuple):
    """The log-rank test of several samples.

    `chi2`: how far the groups' ends are from what each would have if all were alike. `freedom`: its
    degrees of freedom, one less than there are groups. `p`: chance of at least as much if all are
    of one law.

    References
    ----------
    R. Peto and J. Peto, "Asymptotically efficient rank invariant test procedures", J. R. Statist.
    Soc. A 135 (1972); J. P. Klein and M. L. Moeschberger, "Survival analysis" (2003), section 7.3.
    """

    chi2: float
    freedom: int
    p: float

    @property
    def is_sure(self) -> bool:
        """Return whether the samples differ beyond chance, as by three standard errors."""
        return self.p < _SURE


def log_rank(samples: Sequence[Sample]) -> LogRank | None:
    """Compare samples of independent durations, cut short or seen from a later age on.

    None where there are less than two, or nothing to compare: none ends while durations of
    two of them go on.
    """
    if len(samples) < 2:
        return None
    failed = [each.durations_s[each.observed] for each in samples]
    ends = np.unique(np.concatenate(failed))
    # Shape (k, times): how many of each group are watched then, and how many end.
    at_risk = np.array([each.at_risk(ends) for each in samples])
    ended = np.array(
        [np.bincount(np.searchsorted(ends, each), minlength=len(ends)) for each in failed]
    )
    every, all_ended = at_risk.sum(axis=0), ended.sum(axis=0)
    share = at_risk / every
    apart = (ended - share * all_ended).sum(axis=1)
    # Of all that are at risk those that end then, drawn without putting back.
    weight = all_ended * (every - all_ended) / np.maximum(every - 1, 1)
    variance = np.diag(share @ weight) - (share * weight) @ share.T
    # Less where a group has none left when the first duration of another ends.
    freedom = int(np.linalg.matrix_rank(variance, hermitian=True))
    if not freedom:
        return None
    chi2 = float(apart @ np.linalg.pinv(variance, hermitian=True) @ apart)
    from scipy.stats import chi2 as law  # noqa: PLC0415  (slow to import)

    return LogRank(chi2, freedom, float(law.sf(chi2, freedom)))
