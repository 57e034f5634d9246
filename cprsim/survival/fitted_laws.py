"""Laws fitted to durations, with their errors and their distance from the data."""

import math
from dataclasses import dataclass

import numpy as np

from cprsim.basics.distributions import SPREAD, Distribution
from cprsim.errors import LogError, UsageError
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.likelihood import ESTIMATE, NoMaximumError
from cprsim.survival.sample import Floats, Sample

GRID_POINTS = 500
GRID_SHARE = 0.99
#: Below this many failures not even the shape's sign (wear-out or early failures) is known.
FEWEST_FAILURES = 10
_NORMAL_95 = 1.959964  # 97.5 % quantile of the normal law
_LARGEST_LOG = 300.0  # beyond it the interval says nothing, and a float overflows
_LEAST_SPREAD = 1e-4  # as a share of the longest duration; the likelihoods hardly resolve less


def kolmogorov_smirnov(curve: KaplanMeier, law: Distribution) -> float:
    """Largest distance between the curve and the law's survival, 0 to 1.

    Over all durations up to the longest, on both sides of each step; of lives that reach the age
    at which the curve begins.
    """
    after = survival(law, curve.times_s, curve.from_s)
    before = np.concatenate(([1.0], curve.survival[:-1]))
    (end,) = survival(law, np.array([curve.last_s]), curve.from_s)
    last = abs(float(curve.at(curve.last_s)) - float(end))
    return float(max(np.abs(curve.survival - after).max(), np.abs(before - after).max(), last))


def root_mean_square(curve: KaplanMeier, law: Distribution) -> float:
    """Root mean square of the distance between the curve and the law's survival, 0 to 1.

    On 500 times spread evenly from where the curve begins to its 99th percentile (interpolated
    between its steps), or to the longest duration where fewer have failed by then: the RMSE of
    Maeng et al.,
    "CPR: Understanding and Improving Failure Tolerant Training for Deep Learning Recommendation"
    (MLSys 2021). Times, not failures, have equal weight: where most gaps are short and
    a few very long, it says little about the short ones, and `kolmogorov_smirnov` all the more.
    """
    failed = np.concatenate(([0.0], 1 - curve.survival))
    end_s = np.interp(
        GRID_SHARE, failed, np.append(curve.from_s, curve.times_s), right=curve.last_s
    )
    grid = np.linspace(curve.from_s, end_s, GRID_POINTS)
    off = curve.at(grid) - survival(law, grid, curve.from_s)
    return float(np.sqrt(np.mean(off**2)))


def survival(law: Distribution, t_s: Floats, from_s: float = 0.0) -> Floats:
    """The law's survival at `t_s` (seconds), at which a steep law may overflow on its way to 0.

    `from_s`: of lives that reach this age, so that it is 1 up to there.
    """
    with np.errstate(over="ignore", under="ignore"):
        left = law.survival(t_s)
        if not from_s:
            return left
        reached = float(law.survival(np.array([from_s]))[0])
    return np.minimum(left / reached, 1.0) if reached else np.where(t_s > from_s, 0.0, 1.0)


@dataclass(frozen=True)
class Fit:
    """One law fitted by maximum likelihood under right-censoring.

    Parameters
    ----------
    law
        The law, as a scenario takes it.
    mean_se_s
        Standard error of its mean, seconds, from the observed information by the delta method.
    shape_se
        Standard error of its shape (gamma, Weibull) or its cv (lognormal); None (exponential).
    log_likelihood
        Of durations in seconds, censored ones by their probability of lasting longer.
    aic
        Akaike's criterion, 2 parameters - 2 log-likelihood; the smallest fits best.
    ks
        Largest distance between the Kaplan-Meier curve and the law's survival, 0 to 1.
    rmse
        Root mean square of that distance over time, 0 to 1: the CPR paper's figure.
    """

    law: Distribution
    mean_se_s: float
    shape_se: float | None
    log_likelihood: float
    aic: float
    ks: float
    rmse: float

    @property
    def spread(self) -> float | None:
        """Its shape (gamma, Weibull) or cv (lognormal); None (exponential)."""
        return self.law.shape if self.law.shape is not None else self.law.cv

    @property
    def mean_interval_s(self) -> tuple[float, float]:
        """95 % interval of the mean, seconds, from its standard error on a log scale."""
        return log_interval(self.law.expected_s, self.mean_se_s)

    @property
    def spread_interval(self) -> tuple[float, float] | None:
        """95 % interval of `spread`, in the same way."""
        if self.spread is None or self.shape_se is None:
            return None
        return log_interval(self.spread, self.shape_se)


def log_interval(value: float, se: float) -> tuple[float, float]:
    """95 % interval of a positive value, from its standard error on a log scale."""
    factor = math.exp(min(_NORMAL_95 * se / value, _LARGEST_LOG))
    return value / factor, value * factor


def fit(sample: Sample, name: str) -> Fit:
    """The law `name` (exponential, gamma, weibull or lognormal) that fits `sample` best.

    Raises
    ------
    UsageError
        If the law isn't one of these.
    LogError
        If fewer than 10 durations ended in a failure, the durations are all alike (only the
        exponential takes them), or no law with a finite mean fits.
    """
    if name not in ESTIMATE:
        raise UsageError(f"no fit of {name!r}; laws that can be fitted: {', '.join(ESTIMATE)}")
    check_failures(sample)
    return _fit(sample, name, KaplanMeier.from_sample(sample))


def fit_all(sample: Sample) -> list[Fit]:
    """Every law fitted to `sample`, the best by AIC first.

    A law that fits only with an infinite mean, or better and better the longer it is, is left out:
    no scenario could hold it. The exponential always has a mean.

    Raises
    ------
    LogError
        If fewer than 10 durations ended in a failure, or the durations are all alike.
    """
    check_failures(sample)
    check_spread(sample)
    curve, fits = KaplanMeier.from_sample(sample), []
    for name in ESTIMATE:
        try:
            fits.append(_fit(sample, name, curve))
        except NoMaximumError:
            continue
    return sorted(fits, key=lambda fitted: fitted.aic)


def law_of(name: str, mean_s: float, spread: float | None) -> Distribution:
    """The law of that name, mean (seconds) and shape or cv; `OverflowError` beyond all floats."""
    key = SPREAD[name]
    keys = {"distribution": name, "mean": f"{mean_s!r} s", **({key: spread} if key else {})}
    try:
        return Distribution.model_validate(keys)
    except ValueError as error:  # of positive numbers, only their size can be wrong
        raise OverflowError(str(error)) from None


def check_failures(sample: Sample) -> None:
    """Raise `LogError` where too few durations ended in a failure."""
    failures = sample.failures
    if failures < FEWEST_FAILURES:
        raise LogError(
            f"{failures} {'duration that ends' if failures == 1 else 'durations that end'} in a "
            f"failure {'is' if failures == 1 else 'are'} too few to fit a law; "
            f"{FEWEST_FAILURES} are needed"
        )


def check_spread(sample: Sample) -> None:
    """Raise `LogError` where the likelihood grows for ever as a law shrinks to one value."""
    shortest = float(sample.durations_s[sample.observed].min())
    longest = float(sample.durations_s.max())
    if longest - shortest <= _LEAST_SPREAD * longest:
        raise LogError(
            f"all {sample.failures} failures came after {shortest:.6g} s, to 0.01 %: "
            "there is no spread to fit a law to; use distribution = 'deterministic'"
        )


def _fit(sample: Sample, name: str, curve: KaplanMeier) -> Fit:
    data = sample.scaled()
    if name != "exponential":
        check_spread(sample)
    try:
        estimate = ESTIMATE[name](data)
        law = law_of(name, estimate.mean * data.unit_s, estimate.spread)
        ks, rmse = kolmogorov_smirnov(curve, law), root_mean_square(curve, law)
    except OverflowError:
        raise NoMaximumError(f"the {name} law fits only with an infinite mean") from None
    log_likelihood = estimate.log_likelihood - sample.failures * math.log(data.unit_s)
    return Fit(
        law=law,
        mean_se_s=estimate.mean_se * data.unit_s,
        shape_se=estimate.spread_se,
        log_likelihood=log_likelihood,
        aic=2 * (1 if estimate.spread is None else 2) - 2 * log_likelihood,
        ks=ks,
        rmse=rmse,
    )
