"""The gamma likelihood under right-censoring and left truncation."""

import math

import numpy as np

from cprsim.basics.laws.gamma import gamma_tail
from cprsim.survival.newton import maximum
from cprsim.survival.sample import Floats, Scaled

# Width of the differences in log shape: errors of its fourth power and of rounding are alike small.
_STEP = 3e-3
_FIRST = np.array([1, -8, 0, 8, -1]) / (12 * _STEP)
_SECOND = np.array([-1, 16, -30, 16, -1]) / (12 * _STEP**2)
_LONGEST_STEP = 2.0  # sevenfold: farther from the start the curve may bend the other way


def gamma_maximum(data: Scaled) -> tuple[Floats, float, Floats]:
    """Log mean and log shape, the log-likelihood, and its curvatures in them."""
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
    else:
        start = _start(failures, total, logs)
    return maximum(curve, start, _LONGEST_STEP)


def _start(failures: int, total: float, logs: float) -> Floats:
    """T. P. Minka's approximation (2002), of complete durations."""
    gap = math.log(total / failures) - logs / failures
    shape = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    return np.array([math.log(total / failures), math.log(shape)])


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
