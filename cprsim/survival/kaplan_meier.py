"""The survival curve that the data draw by themselves, with no law assumed."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cprsim.basics.periods import ROUNDING
from cprsim.errors import LogError
from cprsim.survival.sample import Floats, Sample


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """Kaplan-Meier (product-limit) estimate of the survival: a step down at each failure time.

    Parameters
    ----------
    times_s
        Distinct durations that ended in a failure, seconds, ascending, shape (k,).
    failures
        How many failed at each of them.
    at_risk
        How many were watched then; one censored at the same duration counts, one that comes into
        sight at it doesn't.
    survival
        Share that lasts longer, at each of them: 1 before the first, constant in between.
    last_s
        Longest duration, failed or censored: beyond it the data say nothing.
    from_s
        The least age at which one came into sight: before it the data say nothing either, so that
        `survival` is that of lives that get there.

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

    times_s: Floats
    failures: NDArray[np.int64]
    at_risk: NDArray[np.int64]
    survival: Floats
    last_s: float
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

    @property
    def _greenwood(self) -> Floats:
        """Variance of the logarithm of `survival`; 0 where that is 0, for want of an estimate."""
        left = self.at_risk - self.failures
        terms = self.failures / (self.at_risk * np.maximum(left, 1).astype(np.float64))
        return np.where(left > 0, np.cumsum(terms), 0.0)

    def band(self) -> tuple[Floats, Floats]:
        """Pointwise 95 % band of `survival`, by the normal approximation of log(-log S).

        Lower and upper end at each of `times_s`, from 0 to 1; nan where the curve is 0.
        """
        z = NormalDist().inv_cdf((1 + 0.95) / 2)
        log = np.log(np.where(self.survival > 0, self.survival, np.nan))
        spread = np.exp(z * np.sqrt(self._greenwood) / np.abs(log))
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

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw `size` durations from the curve, seconds.

        Raises
        ------
        LogError
            If nothing failed.

        Notes
        -----
        The curve gives each observed failure time its drop of survival as probability. Where the
        longest duration is censored, a share S(last) > 0 outlives the data; it gets the tail
        `S(t) = S(last) ** (t / last)` of Brown, Hollander and Korwar (1974), i.e. the failure rate
        that, held from 0 on, would have led to S(last). Failing all of them at `last_s` (Efron)
        would draw a burst that no data show, and leaving them out a law that fails too soon.
        """
        return self._by(rng.random(size))

    def typical(self, size: int) -> Floats:
        """`size` durations that stand for the curve, seconds: one for each equal share of it.

        Raises
        ------
        LogError
            If nothing failed.
        """
        return self._by((np.arange(size) + 0.5) / size)

    def _by(self, failed: Floats) -> Floats:
        """The duration by which each of these shares, from 0 to below 1, have failed, seconds."""
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
