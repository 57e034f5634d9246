"""Maximum likelihood of each law under right-censoring and left truncation.

On durations in units of their mean. A censored duration adds the probability of lasting longer; one
that came into sight late is divided by that of lasting until then (`Scaled`). All four likelihoods
are maximised in parameters in which that is safe; what comes out is the mean and the spread of a
`Distribution`.
Sums are NumPy's, not `@`: BLAS threads cost more than they save, and add up in any order.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cprsim.basics.ageing import gamma_tail
from cprsim.errors import LogError
from cprsim.survival.sample import Floats, Scaled

#: A logarithm, its slope and its curvature, at each of some places.
Terms: TypeAlias = tuple[Floats, Floats, Floats]
#: A standard law of logarithms: its log-density, or its log-survival.
Standard: TypeAlias = Callable[..., Terms]
#: Where lives came into sight late and the likelihood isn't concave.
_LONGEST_STEP = 0.5
#: Standardised logarithm of a duration at which a search begins, at most.
_FARTHEST = 20.0
# Width of the differences in log shape: errors of its fourth power and of rounding are alike small.
_STEP = 3e-3
_FIRST = np.array([1, -8, 0, 8, -1]) / (12 * _STEP)
_SECOND = np.array([-1, 16, -30, 16, -1]) / (12 * _STEP**2)
_LONGEST_GAMMA_STEP = 2.0  # sevenfold: farther from the start the curve may bend the other way
#: Parameters (2,) -> value, slopes (2,) and curvatures (2, 2); a value of -inf rules them out.
Curve: TypeAlias = Callable[[Floats], tuple[float, Floats, Floats]]
_CLOSE = 1e-9  # Newton's next error is the square of this
_STEPS = 200
_ROUNDING = 1e-13  # of a sum of thousands of terms, as a share of it


@dataclass(frozen=True)
class Estimate:
    """Parameters of one law with their standard errors, in the unit of its durations.

    `spread` is the shape of gamma and Weibull and the cv of the lognormal; None of the exponential.
    The standard errors come from the observed information, by the delta method.
    """

    mean: float
    mean_se: float
    spread: float | None
    spread_se: float | None
    log_likelihood: float


def exponential(data: Scaled) -> Estimate:
    """Closed form: the mean is the time watched for each failure."""
    failures = len(data.failed)
    mean = data.exposure / failures
    log_likelihood = -failures * (math.log(mean) + 1)
    return Estimate(mean, mean / math.sqrt(failures), None, None, log_likelihood)


def weibull(data: Scaled) -> Estimate:
    """Logarithms of durations have the smallest extreme value's law, of scale 1 / shape."""
    from scipy.special import digamma, gammaln  # noqa: PLC0415  (scipy is slow to import)

    mu, sigma, curvatures, log_likelihood = _log_location_scale(data, extreme)
    jacobian = np.array([[1.0, sigma * float(digamma(1 + sigma))], [0.0, -1.0]])
    log_mean = mu + float(gammaln(1 + sigma))
    return _estimate(log_mean, -math.log(sigma), jacobian, curvatures, log_likelihood)


def lognormal(data: Scaled) -> Estimate:
    """Logarithms of durations are normal."""
    mu, sigma, curvatures, log_likelihood = _log_location_scale(data, normal)
    variance = sigma**2
    jacobian = np.array([[1.0, variance], [0.0, -variance / math.expm1(-variance)]])
    # Of the cv, sqrt(exp(variance) - 1).
    log_cv = (variance + math.log(-math.expm1(-variance))) / 2
    return _estimate(mu + variance / 2, log_cv, jacobian, curvatures, log_likelihood)


def extreme(u: Floats, *, failed: bool) -> Terms:
    """The log-density of the standard law of the smallest extreme value, or its log-survival."""
    grown = np.exp(u)
    return (u - grown, 1 - grown, -grown) if failed else (-grown, -grown, -grown)


def normal(u: Floats, *, failed: bool) -> Terms:
    """The log-density of the standard normal law, or its log-survival."""
    if failed:
        return -(u**2 + math.log(2 * math.pi)) / 2, -u, -np.ones_like(u)
    from scipy.special import log_ndtr  # noqa: PLC0415

    outlived = np.asarray(log_ndtr(-u))
    mills = np.exp(-(u**2) / 2 - outlived) / math.sqrt(2 * math.pi)
    return outlived, -mills, -mills * (mills - u)


def _log_location_scale(data: Scaled, law: Standard) -> tuple[float, float, Floats, float]:
    """Location and scale of the logarithms, curvatures in (location, log scale), log-likelihood.

    Newton in (location / scale, 1 / scale), where the likelihood of failed and censored durations
    is concave.

    References
    ----------
    R. J. Olsen, "Note on the uniqueness of the maximum likelihood estimator for the Tobit model",
    Econometrica 46 (1978); J. Burridge, "A note on maximum likelihood estimation for regression
    models using grouped data", J. R. Statist. Soc. B 43 (1981), for all log-concave densities.
    """
    logs, others = np.log(data.failed), np.log(data.censored)
    centre = float(logs.mean())
    # Of logarithms with mean 0 and standard deviation 1, which the start fits but for censoring.
    width = float(np.concatenate((logs, others)).std())
    y, cut = (logs - centre) / width, (others - centre) / width

    def curve(parameters: Floats) -> tuple[float, Floats, Floats]:
        offset, slope = map(float, parameters)
        if slope <= 0:
            return -math.inf, np.zeros(2), np.eye(2)
        value, slopes = len(y) * math.log(slope), np.array([0.0, len(y) / slope])
        curvatures = np.diag([0.0, -len(y) / slope**2])
        for is_failed, u, weight in ((True, y, 1.0), (False, cut, data.counts)):
            with np.errstate(over="ignore", invalid="ignore"):  # a step too far, to be taken back
                terms = law(slope * u - offset, failed=is_failed)
                level, first, second = (weight * each for each in terms)
                value += float(level.sum())
                slopes += np.array([-first.sum(), (first * u).sum()])
                mixed = -(second * u).sum()
                curvatures += np.array([[second.sum(), mixed], [mixed, (second * u**2).sum()]])
        return value, slopes, curvatures

    # Far out a standard law has no density that a float holds.
    least = min(1.0, _FARTHEST / float(np.concatenate((y, cut)).max()))
    step = math.inf if (data.counts > 0).all() else _LONGEST_STEP
    (offset, slope), value, bends = maximum(curve, np.array([0.0, least]), step)
    inner = np.array([[slope / width, -offset], [0.0, -slope]])
    found = value - len(logs) * math.log(width) - float(logs.sum())
    mu, sigma = centre + width * offset / slope, width / slope
    return float(mu), float(sigma), inner.T @ bends @ inner, found


def _estimate(
    log_mean: float,
    log_spread: float,
    jacobian: Floats,
    curvatures: Floats,
    log_likelihood: float,
) -> Estimate:
    """An estimate from the curvatures in other parameters.

    `jacobian` holds the derivatives of (log mean, log spread) by those parameters.
    """
    covariance = jacobian @ np.linalg.inv(-curvatures) @ jacobian.T
    mean_se, spread_se = np.sqrt(np.diag(covariance)).tolist()
    mean, spread = math.exp(log_mean), math.exp(log_spread)
    return Estimate(mean, mean * mean_se, spread, spread * spread_se, log_likelihood)


def gamma(data: Scaled) -> Estimate:
    """Newton in (log mean, log shape)."""
    failures = len(data.failed)
    total, logs = float(data.failed.sum()), float(np.log(data.failed).sum())

    def curve(parameters: Floats) -> tuple[float, Floats, Floats]:
        failed = _failed(parameters, failures, total, logs)
        if not len(data.censored):
            return failed
        outlived = _outlived(parameters, data.censored, data.counts)
        return failed[0] + outlived[0], failed[1] + outlived[1], failed[2] + outlived[2]

    if len(data.censored):  # the exponential that fits
        start = np.array([math.log(data.exposure / failures), 0.0])
    else:  # T. P. Minka's approximation (2002)
        gap = math.log(total / failures) - logs / failures
        shape = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
        start = np.array([math.log(total / failures), math.log(shape)])
    (log_mean, log_shape), value, curvatures = maximum(curve, start, _LONGEST_GAMMA_STEP)
    return _estimate(float(log_mean), float(log_shape), np.eye(2), curvatures, value)


def _failed(
    parameters: Floats, failures: int, total: float, logs: float
) -> tuple[float, Floats, Floats]:
    """The terms of those that failed, from their number, sum and sum of logarithms."""
    from scipy.special import digamma, gammaln, polygamma  # noqa: PLC0415  (slow to import)

    log_mean, log_shape = map(float, parameters)
    k, load = math.exp(log_shape), total * math.exp(-log_mean)
    per_shape = logs - load + failures * (log_shape - log_mean + 1 - float(digamma(k)))
    value = k * (logs - load + failures * (log_shape - log_mean)) - logs
    value -= failures * float(gammaln(k))
    mean_slope = k * (load - failures)
    bend = k * per_shape + failures * (k - k**2 * float(polygamma(1, k)))
    return (
        value,
        np.array([mean_slope, k * per_shape]),
        np.array([[-k * load, mean_slope], [mean_slope, bend]]),
    )


def _outlived(parameters: Floats, cut: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
    """The terms of those censored or late; by differences in log shape: no closed form is known."""
    log_mean, log_shape = map(float, parameters)
    values, slopes = np.empty(5), np.empty(5)
    for at, steps in enumerate(range(-2, 3)):
        k = math.exp(log_shape + steps * _STEP)
        z = cut * (k * math.exp(-log_mean))
        log_survival, hazard = gamma_tail(k, z)
        values[at], slopes[at] = np.sum(counts * log_survival), np.sum(counts * hazard)
        if steps == 0:
            bend = -float(np.sum(counts * hazard * (k - z + hazard)))
    mixed = float(_FIRST @ slopes)
    return (
        float(values[2]),
        np.array([slopes[2], _FIRST @ values]),
        np.array([[bend, mixed], [mixed, _SECOND @ values]]),
    )


#: How to fit each law, by its name in a scenario.
ESTIMATE: dict[str, Callable[[Scaled], Estimate]] = {
    "exponential": exponential,
    "gamma": gamma,
    "weibull": weibull,
    "lognormal": lognormal,
}


class NoMaximumError(LogError):
    """That a likelihood climbs for ever, or has no top that could be found."""


def maximum(
    curve: Curve, start: Floats, longest_step: float = math.inf
) -> tuple[Floats, float, Floats]:
    """Parameters at the maximum of `curve`, its value there, and its curvatures.

    Newton's method with two safeguards: a direction in which the curve isn't concave is climbed as
    if it were as concave as it is convex, and a step that doesn't climb is halved. A curve that is
    concave everywhere needs no `longest_step`.

    Raises
    ------
    NoMaximumError
        If it finds none.
    """
    x, (value, slopes, curvatures), small = start, curve(start), False
    for _ in range(_STEPS):
        bends, axes = np.linalg.eigh(curvatures)
        bends = np.maximum(np.abs(bends), 1e-12 * np.abs(bends).max())
        step = axes @ ((axes.T @ slopes) / bends)
        step *= min(1.0, longest_step / float(np.abs(step).max(initial=math.ulp(0.0))))
        while True:
            there = curve(x + step)
            small = float(np.abs(step).max()) < _CLOSE
            # So near the top, whether a step climbs is a matter of rounding: halved, it would end
            # a square root of that away.
            if small or there[0] >= value - _ROUNDING * abs(value):
                break
            step = step / 2
        x, (value, slopes, curvatures) = x + step, there
        if small:
            break
    if small and np.all(np.linalg.eigvalsh(curvatures) < 0):
        return x, value, curvatures
    raise NoMaximumError("the likelihood of a law has no maximum that could be found")
