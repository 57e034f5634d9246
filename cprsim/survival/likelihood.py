"""Maximum likelihood of each law under right-censoring, on durations in units of their mean.

A censored duration adds the probability of lasting longer. All four likelihoods are maximised in
parameters in which that is safe; what comes out is the mean and the spread of a `Distribution`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cprsim.survival.gamma import gamma_maximum
from cprsim.survival.newton import maximum
from cprsim.survival.sample import Floats, Scaled


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
    mean = float(data.failed.sum() + data.censored.sum()) / failures
    log_likelihood = -failures * (math.log(mean) + 1)
    return Estimate(mean, mean / math.sqrt(failures), None, None, log_likelihood)


def weibull(data: Scaled) -> Estimate:
    """The one root of the profile likelihood of the shape; the scale follows in closed form.

    With y = log x, `sum(y e^(ky)) / sum(e^(ky)) - 1/k` climbs to the mean of y over the failures
    (Kalbfleisch and Prentice 2002, section 3.4).
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (scipy is slow to import)
    from scipy.special import digamma, gammaln  # noqa: PLC0415

    failures = len(data.failed)
    logs = np.log(np.concatenate((data.failed, data.censored)))
    top = float(logs.max())
    below = logs - top  # powers of the longest duration can't overflow
    failed_below = float(below[:failures].mean())

    def excess(log_shape: float) -> float:
        shape = math.exp(log_shape)
        powers = np.exp(shape * below)
        return float(powers @ below / powers.sum()) - 1 / shape - failed_below

    high = 1.0
    while excess(high) < 0:
        high += 1.0
    low = high - 1.0
    while excess(low) > 0:
        low -= 1.0
    shape = math.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    powers = np.exp(shape * below)
    log_scale = top + math.log(powers.sum() / failures) / shape

    # In (log shape, log scale), u = shape (y - log scale): the sum of e^u is the failures.
    u = shape * (logs - log_scale)
    hazard = np.exp(u)
    mixed = shape * float(hazard @ u)
    curvatures = np.array(
        [[-failures - float(hazard @ u**2), mixed], [mixed, -failures * shape**2]]
    )
    jacobian = np.array([[-float(digamma(1 + 1 / shape)) / shape, 1.0], [1.0, 0.0]])
    log_likelihood = failures * (math.log(shape) - 1) + float(np.sum((u - logs)[:failures]))
    log_mean = log_scale + float(gammaln(1 + 1 / shape))
    return _estimate(log_mean, math.log(shape), jacobian, curvatures, log_likelihood)


def gamma(data: Scaled) -> Estimate:
    """Newton in (log mean, log shape)."""
    (log_mean, log_shape), log_likelihood, curvatures = gamma_maximum(data)
    return _estimate(log_mean, log_shape, np.eye(2), curvatures, log_likelihood)


def lognormal(data: Scaled) -> Estimate:
    """Newton in (mu / sigma, 1 / sigma), where the likelihood is concave.

    R. J. Olsen, "Note on the uniqueness of the maximum likelihood estimator for the Tobit model",
    Econometrica 46 (1978).
    """
    logs, censored = np.log(data.failed), np.log(data.censored)
    failures, centre = len(logs), float(logs.mean())
    # Of logarithms with mean 0 and standard deviation 1, which the start then fits.
    width = float(logs.std()) or float(np.abs(censored - centre).max())
    y, cut = (logs - centre) / width, (censored - centre) / width
    sums = float(y.sum()), float(y @ y)

    def curve(parameters: Floats) -> tuple[float, Floats, Floats]:
        return _tobit(parameters, failures, sums, cut)

    (offset, slope), value, bends = maximum(curve, np.array([0.0, 1.0]))
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
    parameters: Floats, failures: int, sums: tuple[float, float], cut: Floats
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
    bend = mills * (mills - beyond)
    squares = slope**2 * second - 2 * slope * offset * first + failures * offset**2
    value = failures * (math.log(slope) - math.log(2 * math.pi) / 2) - squares / 2 + outlived.sum()
    slopes = np.array(
        [
            slope * first - failures * offset + mills.sum(),
            failures / slope - slope * second + offset * first - mills @ cut,
        ]
    )
    mixed = first + float(bend @ cut)
    curvatures = np.array(
        [
            [-failures - bend.sum(), mixed],
            [mixed, -failures / slope**2 - second - bend @ cut**2],
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
