"""Samples like a given one, drawn from a fitted law: how far chance alone moves a fit."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cprsim.basics.distributions import Distribution
from cprsim.errors import LogError, UsageError
from cprsim.survival.distance import kolmogorov_smirnov
from cprsim.survival.fit import Fit, check_failures, check_spread, law_of
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.likelihood import ESTIMATE, Estimate
from cprsim.survival.sample import Floats, Sample


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Parameters fitted to each of many simulated samples.

    Parameters
    ----------
    means_s
        Their means, seconds, shape (replications,).
    shapes
        Their shapes (gamma, Weibull) or cvs (lognormal); None for the exponential.
    failed
        Samples left out: under 10 failures, all alike, or no finite mean.
    """

    means_s: Floats
    shapes: Floats | None
    failed: int

    @property
    def mean_se_s(self) -> float:
        """Standard error of the mean, seconds."""
        return float(self.means_s.std(ddof=1))

    @property
    def shape_se(self) -> float | None:
        """Standard error of the shape or cv; None for the exponential."""
        return None if self.shapes is None else float(self.shapes.std(ddof=1))

    def mean_interval_s(self, level: float = 0.95) -> tuple[float, float]:
        """Percentile interval of the mean, seconds."""
        return _interval(self.means_s, level)

    def shape_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Percentile interval of the shape or cv; None for the exponential."""
        return None if self.shapes is None else _interval(self.shapes, level)


def bootstrap(
    sample: Sample, fitted: Fit, rng: np.random.Generator, replications: int = 200
) -> Bootstrap:
    """Fit the law of `fitted` anew to samples drawn from it, censored as `sample` is.

    Parameters
    ----------
    sample
        What `fitted` was fitted to.
    rng
        Where the draws come from; its seed decides the result.
    replications
        How many samples; 200 are enough for standard errors, intervals ask for 1000.

    Raises
    ------
    UsageError
        If `replications` is under 2.
    LogError
        If fewer than two of the samples can be fitted.
    """
    if replications < 2:
        raise UsageError(f"replications is {replications}; a spread needs 2 or more")
    draws = Simulated(sample, fitted.law)
    found = []
    for _ in range(replications):
        like = draws.sample(rng)
        try:
            found.append((_refitted(like, fitted.law.distribution), like.scaled().unit_s))
        except (LogError, OverflowError):
            continue
    if len(found) < 2:
        raise LogError(f"{len(found)} of {replications} simulated samples could be fitted")
    shapes = [estimate.spread for estimate, _ in found if estimate.spread is not None]
    return Bootstrap(
        means_s=np.array([estimate.mean * unit_s for estimate, unit_s in found]),
        shapes=np.array(shapes) if shapes else None,
        failed=replications - len(found),
    )


@dataclass(frozen=True, eq=False)
class Simulated:
    """Samples of as many durations of `law` as `like` has, cut short as those were.

    Whoever was censored is again watched for just as long. How long a failed one would have been
    watched isn't known: that is drawn from the Kaplan-Meier curve of the censoring times, beyond
    the time it failed (Davison and Hinkley, "Bootstrap methods and their application", 1997,
    algorithm 3.2).
    """

    like: Sample
    law: Distribution

    @cached_property
    def _watching(self) -> KaplanMeier:
        """Survival of the watch itself: a failure is what cuts it short."""
        return KaplanMeier.of(Sample(self.like.durations_s, ~self.like.observed))

    def sample(self, rng: np.random.Generator) -> Sample:
        """One more sample; successive calls continue one sequence."""
        like, watched_s = self.like, np.full(self.like.n, np.inf)
        # A shape near 0 draws zeros, which are but very short.
        lasted_s = np.maximum(self.law.sample(rng, like.n), np.finfo(np.float64).tiny)
        if like.censored:
            watched_s[~like.observed] = like.durations_s[~like.observed]
            left = self._watching.at(like.durations_s[like.observed])
            until_s = self._watching.quantile(1 - left * rng.random(len(left)))
            watched_s[like.observed] = np.where(np.isnan(until_s), np.inf, until_s)
        return Sample(np.minimum(lasted_s, watched_s), lasted_s <= watched_s)


def distance_by_chance(draws: Simulated, rng: np.random.Generator) -> float:
    """Largest distance (0 to 1) of a simulated sample from the law fitted to it in turn."""
    like, name = draws.sample(rng), draws.law.distribution
    estimate = _refitted(like, name)
    again = law_of(name, estimate.mean * like.scaled().unit_s, estimate.spread)
    return kolmogorov_smirnov(KaplanMeier.of(like), again)


def _refitted(sample: Sample, name: str) -> Estimate:
    """The law `name` fitted to a sample, in units of the sample's mean."""
    check_failures(sample)
    check_spread(sample)
    return ESTIMATE[name](sample.scaled())


def _interval(values: Floats, level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise UsageError(f"level is {level:g}; it is a share between 0 and 1, e.g. 0.95")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
