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

import numpy as np

from cprsim.survival.gamma import gamma_maximum
from cprsim.survival.newton import maximum
from cprsim.survival.sample import Floats, Scaled

#: Logarithm of the least shape of a Weibull law; below, no float holds its mean.
_LEAST_LOG_SHAPE = -7.0
#: In the units of `_tobit`, where lives came into sight late and the likelihood isn't concave.
_LONGEST_STEP = 0.5


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
    """The one root of the profile likelihood of the shape; the scale follows in closed form.

    J. D. Kalbfleisch and R. L. Prentice, "The statistical analysis of failure time data" (2002),
    section 3.4.
    """
    from scipy.special import digamma, gammaln  # noqa: PLC0415  (scipy is slow to import)

    failures = len(data.failed)
    logs = np.log(np.concatenate((data.failed, data.censored)))
    top = float(logs.max())  # powers of the longest duration can't overflow
    counts = np.concatenate((np.ones(failures), data.counts))
    shape = _weibull_shape(logs - top, counts, failures)
    powers = counts * np.exp(shape * (logs - top))
    log_scale = top + math.log(powers.sum() / failures) / shape
    log_mean = log_scale + float(gammaln(1 + 1 / shape))

    # With u = shape (y - log scale), e^u is the cumulative hazard; it sums to the failures.
    u = shape * (logs - log_scale)
    hazard = counts * np.exp(u)
    log_likelihood = failures * (math.log(shape) - 1) + float(np.sum((u - logs)[:failures]))
    # In (log shape, log scale).
    mixed = shape * float(np.sum(hazard * u))
    curvatures = np.array(
        [[-failures - float(np.sum(hazard * u**2)), mixed], [mixed, -failures * shape**2]]
    )
    jacobian = np.array([[-float(digamma(1 + 1 / shape)) / shape, 1.0], [1.0, 0.0]])
    return _estimate(log_mean, math.log(shape), jacobian, curvatures, log_likelihood)


def _weibull_shape(logs: Floats, counts: Floats, failures: int) -> float:
    """The shape k that fits logarithms y <= 0, those of the failures first.

    `sum(y e^(ky)) / sum(e^(ky)) - 1/k` climbs, from below, through the mean of y over the failures;
    where lives came into sight late it may stay above, and the likelihood climbs with the mean.

    Raises
    ------
    OverflowError
        If no shape fits whose law has a mean that a float holds.
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (scipy is slow to import)

    mean = float(logs[:failures].mean())

    def excess(log_shape: float) -> float:
        powers = counts * np.exp(math.exp(log_shape) * logs)
        return float(np.sum(powers * logs) / powers.sum()) - math.exp(-log_shape) - mean

    high = 1.0
    while excess(high) < 0:
        high += 1.0
    low = high - 1.0
    while excess(low) > 0:
        low -= 1.0
        if low < _LEAST_LOG_SHAPE:
            raise OverflowError
    return math.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))


def gamma(data: Scaled) -> Estimate:
    """Newton in (log mean, log shape)."""
    (log_mean, log_shape), log_likelihood, curvatures = gamma_maximum(data)
    return _estimate(log_mean, log_shape, np.eye(2), curvatures, log_likelihood)


def lognormal(data: Scaled) -> Estimate:
    """Newton in (mu / sigma, 1 / sigma), where the likelihood of censored durations is concave.

    R. J. Olsen, "Note on the uniqueness of the maximum likelihood estimator for the Tobit model",
    Econometrica 46 (1978).
    """
    logs, censored = np.log(data.failed), np.log(data.censored)
    failures, centre = len(logs), float(logs.mean())
    # Of logarithms with mean 0 and standard deviation 1, which the start fits but for censoring.
    width = float(np.concatenate((logs, censored)).std())
    y, cut = (logs - centre) / width, (censored - centre) / width
    sums = float(y.sum()), float(np.sum(y**2))

    def curve(parameters: Floats) -> tuple[float, Floats, Floats]:
        return _tobit(parameters, failures, sums, cut, data.counts)

    step = math.inf if (data.counts > 0).all() else _LONGEST_STEP
    (offset, slope), value, bends = maximum(curve, np.array([0.0, 1.0]), step)
    sigma, mu = width / slope, centre + width * offset / slope
    # To (mu, log sigma), at the maximum; from them to (log mean, log cv).
    inner = np.array([[slope / width, -offset], [0.0, -slope]])
    outer = np.array([[1.0, sigma**2], [0.0, -(sigma**2) / math.expm1(-(sigma**2))]])
    log_likelihood = value - failures * math.log(width) - float(logs.sum())
    return _estimate(
        mu + sigma**2 / 2, _log_cv(sigma**2), outer, inner.T @ bends @ inner, log_likelihood
    )


def _log_cv(variance: float) -> float:
    """Logarithm of standard deviation / mean of a lognormal: log sqrt(exp(variance) - 1)."""
    return (variance + math.log(-math.expm1(-variance))) / 2


def _tobit(
    parameters: Floats,
    failures: int,
    sums: tuple[float, float],
    cut: Floats,
    counts: Floats,
) -> tuple[float, Floats, Floats]:
    """Log-likelihood of normal values in offset = mu / sigma and slope = 1 / sigma."""
    from scipy.special import log_ndtr  # noqa: PLC0415

    offset, slope = map(float, parameters)
    if slope <= 0:
        return -math.inf, np.zeros(2), np.eye(2)
    first, second = sums
    beyond = slope * cut - offset
    outlived = log_ndtr(-beyond)
    mills = np.exp(-(beyond**2) / 2 - outlived) / math.sqrt(2 * math.pi)
    tilt = counts * mills
    bend = tilt * (mills - beyond)
    squares = slope**2 * second - 2 * slope * offset * first + failures * offset**2
    value = failures * (math.log(slope) - math.log(2 * math.pi) / 2) - squares / 2
    value += float(np.sum(counts * outlived))
    slopes = np.array(
        [
            slope * first - failures * offset + tilt.sum(),
            failures / slope - slope * second + offset * first - np.sum(tilt * cut),
        ]
    )
    mixed = first + float(np.sum(bend * cut))
    curvatures = np.array(
        [
            [-failures - bend.sum(), mixed],
            [mixed, -failures / slope**2 - second - np.sum(bend * cut**2)],
        ]
    )
    return float(value), slopes, curvatures


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


#: How to fit each law, by its name in a scenario.
ESTIMATE: dict[str, Callable[[Scaled], Estimate]] = {
    "exponential": exponential,
    "gamma": gamma,
    "weibull": weibull,
    "lognormal": lognormal,
}
