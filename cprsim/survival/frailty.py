"""Nodes that fail at rates of their own: a gamma frailty fitted to their lives, and tested.

A node's lives are those of a law over a factor of the node's own, gamma distributed with mean 1:
the shared frailty of D. G. Clayton (Biometrika 65, 1978) on the pace of a life. Laws are Weibull,
of which the exponential is one: there the likelihood of a node takes two sums over its lives.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.survival.fitted_laws import law_of
from cprsim.survival.sample import Floats

#: What is looked for, in logarithms: the mean over that of an exponential law, the shape, the
#: variance; nodes of the least differ by 3 %, of the most one in thousand has most failures.
_LAWS = ((-3.0, 3.0), (math.log(0.05), math.log(20.0)))
_VARIANCES = (math.log(1e-3), math.log(50.0))
#: Twice the log-likelihood that a frailty has to gain: 3 standard errors. At the edge of what a
#: variance can be, chance does so once in 741 logs (S. G. Self and K.-Y. Liang, JASA 82, 1987).
_SURE = 9.0
_NORMAL_95 = 1.959964  # 97.5 % quantile of the normal law
_LARGEST_LOG = 300.0  # beyond it the interval says nothing, and a float overflows
#: Of an integral over factors: steps in standard deviations of the narrowest integrand, share of
#: all factors beyond its ends, hazard below which a life has surely not ended, most steps.
_STEP, _BEYOND, _NOTHING, _STEPS = 0.5, 1e-10, 1e-6, 4000
#: Of a numeric second derivative, in logarithms of what is estimated.
_APART = 1e-2


@dataclass(frozen=True, eq=False)
class Histories:
    """What was seen of each node from the start of a watch to its end.

    Parameters
    ----------
    first_s
        Time from the start to the first failure, or to when one stopped watching for it, of each
        node, seconds, shape (nodes,). A node is of any age at the start.
    failed
        Whether that ended in a failure, shape (nodes,).
    lasted_s
        Later lives of all nodes, each from its start, seconds > 0, shape (n,).
    observed
        Whether each ended in a failure, shape (n,).
    node
        Whose it is, a number below `nodes`, shape (n,).
    """

    first_s: Floats
    failed: NDArray[np.bool_]
    lasted_s: Floats
    observed: NDArray[np.bool_]
    node: NDArray[np.int64]

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.first_s)

    @property
    def failures(self) -> int:
        """How many lives ended in one."""
        return int(self.failed.sum() + self.observed.sum())


@dataclass(frozen=True)
class Frail:
    """Lives by a Weibull law at paces of their own.

    Parameters
    ----------
    law
        Of the lives of a node whose factor is 1. Its mean is the time of all nodes per failure.
    variance
        Of the factors.
    interval
        The 95 % interval of the variance.
    alike
        The Weibull law that fits best if all nodes are alike.
    gain
        Twice the log-likelihood that the variance adds.
    """

    law: Distribution
    variance: float
    interval: tuple[float, float]
    alike: Distribution
    gain: float

    @property
    def is_sure(self) -> bool:
        """Whether nodes differ by more than chance, by three standard errors."""
        return self.gain > _SURE


class _Sums(NamedTuple):
    """Of each node, of lives in units of a mean: what the likelihood at a shape needs."""

    ended: Floats
    hazards: Floats
    unfailed: Floats
    constant: float


def fit_frailty(data: Histories) -> Frail:
    """The Weibull law and the variance of the factors that fit best, by maximum likelihood.

    A node is of any age at the start: what is left of its first life has the density S / mean.
    """
    from scipy.optimize import minimize  # noqa: PLC0415  (scipy is slow to import)

    unit_s = float(data.first_s.sum() + data.lasted_s.sum()) / data.failures

    def lacking(at: Floats) -> float:
        return -_log_likelihood(data, unit_s, *at)

    alike = minimize(lacking, (0.0, 0.0), bounds=_LAWS)
    found = minimize(lacking, (*alike.x, 0.0), bounds=(*_LAWS, _VARIANCES))
    log_variance = float(found.x[-1])
    spread = min(_NORMAL_95 * _error(lacking, found.x), _LARGEST_LOG)
    return Frail(
        law=_law(unit_s, found.x),
        variance=math.exp(log_variance),
        interval=(math.exp(log_variance - spread), math.exp(log_variance + spread)),
        alike=_law(unit_s, alike.x),
        gain=2 * max(float(alike.fun - found.fun), 0.0),
    )


def _law(unit_s: float, at: Floats) -> Distribution:
    return law_of("weibull", unit_s * math.exp(at[0]), math.exp(at[1]))


def _error(lacking: Callable[[Floats], float], best: Floats) -> float:
    """Standard error of the last parameter, from the observed information."""
    moves = np.eye(len(best)) * _APART

    def bend(one: Floats, other: Floats) -> float:
        ends = ((a * b, lacking(best + a * one + b * other)) for a in (1, -1) for b in (1, -1))
        return sum(sign * each for sign, each in ends) / (4 * _APART**2)

    bends = np.array([[bend(one, other) for other in moves] for one in moves])
    try:
        variance = float(np.linalg.inv(bends)[-1, -1])
    except np.linalg.LinAlgError:
        return math.inf
    return math.sqrt(variance) if variance > 0 else math.inf


def _log_likelihood(
    data: Histories,
    unit_s: float,
    log_mean: float,
    log_shape: float,
    log_variance: float | None = None,
) -> float:
    """Of durations in units of `unit_s`; without a variance nodes are alike."""
    shape = math.exp(log_shape)
    sums = _sums(data, unit_s * math.exp(log_mean), shape)
    constant = sums.constant - data.failures * log_mean
    if log_variance is None:
        return constant - float(sums.hazards.sum()) + float(_log_left(shape, sums.unfailed).sum())
    return constant + _log_mixed(sums, shape, math.exp(log_variance))


def _sums(data: Histories, mean_s: float, shape: float) -> _Sums:
    scale = math.gamma(1 + 1 / shape) / mean_s  # one over that of the law
    later, first = (data.lasted_s * scale) ** shape, (data.first_s * scale) ** shape
    ended = np.bincount(data.node[data.observed], minlength=data.nodes)
    hazards = np.where(data.failed, first, 0.0)
    np.add.at(hazards, data.node, later)
    # Densities of a life in units of the mean; a first one is what was left, of density S / mean.
    unit = math.log(shape) + math.lgamma(1 + 1 / shape)
    logs = np.log(data.lasted_s[data.observed] * scale)
    constant = len(logs) * unit + (shape - 1) * float(logs.sum())
    unfailed = np.where(data.failed, 0.0, first)
    return _Sums(np.asarray(shape * ended + data.failed, np.float64), hazards, unfailed, constant)


def _log_left(shape: float, hazard: Floats) -> Floats:
    """Logarithm of the share of lives under way that last longer than a time of that hazard."""
    from scipy.special import gammaincc  # noqa: PLC0415

    return np.asarray(np.log(np.maximum(gammaincc(1 / shape, hazard), np.finfo(float).tiny)))


def _log_mixed(sums: _Sums, shape: float, variance: float) -> float:
    """The likelihood of each node on the mean over its factor, as a sum of logarithms."""
    from scipy.special import gammainc, gammaincinv, logsumexp  # noqa: PLC0415

    prior = 1 / variance
    seen = (prior + sums.ended) / (prior + (sums.hazards + sums.unfailed) ** (1 / shape) * shape)
    width = 1 / math.sqrt(prior + float(sums.ended.max()) * max(shape, 1.0))
    least, most = variance * gammaincinv(prior, np.array([_BEYOND, 1 - _BEYOND]))
    largest = max(float((sums.hazards + sums.unfailed).max()), 1.0)
    low = math.log(max(least, (_NOTHING / largest) ** (1 / shape)))
    high = math.log(max(most, float(seen.max()))) + 8 * width
    u = np.linspace(low, high, int(min(max((high - low) / (_STEP * width), 40), _STEPS)) + 1)
    z = np.exp(u)
    weight = np.full(len(u), u[1] - u[0])
    weight[[0, -1]] /= 2
    density = prior * math.log(prior) - math.lgamma(prior) + prior * (u - z) + np.log(weight)
    powers = z**shape
    inside = density + sums.ended[:, np.newaxis] * u - sums.hazards[:, np.newaxis] * powers
    late, index = np.unique(sums.unfailed, return_inverse=True)
    left = np.stack([_log_left(shape, each * powers) for each in late])
    logs = logsumexp(inside + left[index], axis=1)
    never = (sums.ended == 0) & (sums.hazards == 0)
    below = gammainc(prior, prior * math.exp(low))
    logs[never] = np.logaddexp(logs[never], math.log(below) if below > 0 else -math.inf)
    return float(logs.sum())
