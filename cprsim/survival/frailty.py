"""Nodes that fail at rates of their own: a gamma frailty fitted to their lives, and tested.

A node's lives are those of a law over a factor of the node's own, gamma distributed with mean 1:
the shared frailty of D. G. Clayton (Biometrika 65, 1978) on the pace of a life. A node is of any
age at the start of the watch: what is left of its first life has the density S / mean (D. R. Cox,
"Renewal theory", 1962, ch. 5).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.ageing import AGEING, EndedLives
from cprsim.basics.distributions import Distribution
from cprsim.survival.fitted_laws import law_of, log_interval
from cprsim.survival.sample import Floats

#: Logarithms of the mean over that of an exponential law, and of the shape or cv.
BOUNDS: Final = ((-3.0, 6.0), (math.log(0.05), math.log(100.0)))
#: How a search finds slopes: by one-sided differences it ends as far as 1e-4 from the top.
SLOPE: Final = "3-point"
#: Digits of what a search finds that are the same whatever a processor's last bit of a logarithm.
#: Simulations take no more: another bit is another random stream.
_AGREED: Final = 4
#: Logarithms of variances looked for: nodes of the least differ by 3 %, of the most one in a
#: thousand has most failures.
_VARIANCES = (math.log(1e-3), math.log(50.0))
_START = math.log(0.3)
#: Twice the log-likelihood that a frailty has to gain: 3 standard errors. At the edge of what a
#: variance can be, chance does so once in 741 logs (S. G. Self and K.-Y. Liang, JASA 82, 1987).
_SURE = 9.0
#: Of an integral over factors: steps in standard deviations of what is known of a node, share of
#: all factors beyond its ends, hazard below which a life has surely not ended, standard deviations
#: beyond the largest known factor, least and most steps; points, and steps of
#: Newton's method, by which they are placed.
_STEP, _BEYOND, _NOTHING, _MARGIN, _LEAST, _STEPS = 0.75, 1e-10, 1e-6, 8.0, 24, 600
_KNOWN, _NEWTON = 200, 2
#: Of a numeric second derivative, in logarithms of what is estimated.
_APART = 1e-2


@dataclass(frozen=True, eq=False)
class Histories:
    """Lives of each node from the start of a watch to its end."""

    #: Time from the start to the first failure, or to when one stopped watching for it, of each
    #: node, seconds, shape (nodes,). A node is of any age at the start.
    first_s: Floats
    #: Whether that ended in a failure, shape (nodes,).
    failed: NDArray[np.bool_]
    #: Later lives of all nodes, each from its start, seconds > 0, shape (n,).
    lasted_s: Floats
    #: Whether each ended in a failure, shape (n,).
    observed: NDArray[np.bool_]
    #: Whose it is, a number below `nodes`, shape (n,).
    node: NDArray[np.int64]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.first_s)

    @cached_property
    def unit_s(self) -> float:
        """Time watched for each failure, seconds: the mean of exponential lives."""
        return float(self.first_s.sum() + self.lasted_s.sum()) / self.failures

    @property
    def failures(self) -> int:
        """Number of lives that ended in a failure."""
        return int(self.failed.sum() + self.observed.sum())

    @cached_property
    def complete(self) -> EndedLives:
        """Later lives that ended in a failure, in units."""
        lasted = self.lasted_s[self.observed] / self.unit_s
        return EndedLives(lasted, self.node[self.observed], self.nodes)

    @cached_property
    def ended(self) -> NDArray[np.int64]:
        """Failures of each node, shape (nodes,)."""
        return np.bincount(self.node[self.observed], minlength=self.nodes) + self.failed

    @cached_property
    def watched_s(self) -> Floats:
        """Up time of each node, seconds, shape (nodes,)."""
        return self.first_s + np.bincount(self.node, self.lasted_s, self.nodes)


def alike_likelihood(data: Histories, name: str, mean: float, spread: float) -> float:
    """Return that of a law with this mean, in units of `unit_s`, and that shape or cv."""
    law = AGEING[name](mean, spread)
    later, first = data.lasted_s / data.unit_s, data.first_s / data.unit_s
    ended = law.log_density(later[data.observed]).sum()
    lives = ended + law.log_survival(later[~data.observed]).sum()
    starts = law.log_survival(first[data.failed]) - math.log(mean)
    return float(lives + starts.sum() + law.log_left(first[~data.failed]).sum())


@dataclass(frozen=True)
class Frail:
    """Lives by one law at paces of their own."""

    #: Of the lives of a node whose factor is 1. Its mean is the time of all nodes per failure.
    law: Distribution
    #: Of the factors, and its 95 % interval.
    variance: float
    interval: tuple[float, float]
    #: The law that fits best if all nodes are alike.
    alike: Distribution
    #: Twice the log-likelihood that the variance adds.
    gain: float

    @property
    def is_sure(self) -> bool:
        """Return whether nodes differ by more than chance, by three standard errors."""
        return self.gain > _SURE


def fit_frailty(data: Histories) -> Frail:
    """The law and the variance of the factors that fit best, by maximum likelihood.

    Both with the frailty and without the law is the best of Weibull, gamma and lognormal: else a
    frailty would make up for what is wrong with a law.
    """
    from scipy.optimize import minimize  # noqa: PLC0415  (scipy is slow to import)

    def agreed(log: float) -> float:
        return float(f"{math.exp(log):.{_AGREED}g}")

    def law(name: str, log_mean: float, log_spread: float) -> Distribution:
        return law_of(name, agreed(log_mean + math.log(data.unit_s)), agreed(log_spread))

    def alike(at: Floats, name: str) -> float:
        return -alike_likelihood(data, name, *np.exp(at).tolist())

    def frail(at: Floats, name: str) -> float:
        return -log_likelihood(data, name, *np.exp(at).tolist())

    one = {name: minimize(alike, (0.0, 0.0), (name,), bounds=BOUNDS, jac=SLOPE) for name in AGEING}
    bounds = (*BOUNDS, _VARIANCES)
    own = {
        name: minimize(frail, (*each.x.tolist(), _START), (name,), bounds=bounds, jac=SLOPE)
        for name, each in one.items()
    }
    without = min(one, key=lambda name: float(one[name].fun))
    name = min(own, key=lambda name: float(own[name].fun))
    log_mean, log_spread, log_variance = own[name].x.tolist()
    variance, error = agreed(log_variance), _error(lambda at: frail(at, name), own[name].x)
    return Frail(
        law=law(name, log_mean, log_spread),
        variance=variance,
        interval=log_interval(variance, variance * error),
        alike=law(without, *one[without].x.tolist()),
        gain=2 * max(float(one[without].fun) - float(own[name].fun), 0.0),
    )


def _error(lacking: Callable[[Floats], float], best: Floats) -> float:
    """Standard error of the last parameter, from the observed information."""
    moves = np.eye(len(best)) * _APART

    def bend(one: Floats, other: Floats) -> float:
        ends = ((a * b, lacking(best + a * one + b * other)) for a in (1, -1) for b in (1, -1))
        return sum(sign * each for sign, each in ends) / (4 * _APART**2)

    try:
        variance = float(np.linalg.inv([[bend(a, b) for b in moves] for a in moves])[-1, -1])
    except np.linalg.LinAlgError:
        return math.inf
    return math.sqrt(variance) if variance > 0 else math.inf


def log_likelihood(
    data: Histories, name: str, mean: float, spread: float, variance: float
) -> float:
    """Return that of a law with this mean, in units of `data.unit_s`, and that shape or cv.

    The mean of each node's likelihood over its factor, by the trapezoidal rule in a function of it.
    """
    from scipy.special import gammainc, logsumexp  # noqa: PLC0415

    prior, law = 1 / variance, AGEING[name](mean, spread)
    u, weight = _grid(data, name, mean, spread, prior)
    z = np.exp(u)
    inside = prior * math.log(prior) - math.lgamma(prior) + prior * (u - z) + np.log(weight)
    inside = inside + law.log_density_at(z, data.complete)
    first, cut = data.first_s / data.unit_s, data.lasted_s[~data.observed] / data.unit_s
    lived = law.log_survival(cut[:, np.newaxis] * z)
    np.add.at(inside, data.node[~data.observed], lived)
    came = law.log_survival(first[data.failed][:, np.newaxis] * z)
    inside[data.failed] += came + u - math.log(mean)
    watched, which = np.unique(first[~data.failed], return_inverse=True)
    inside[~data.failed] += law.log_left(watched[:, np.newaxis] * z)[which]
    each = logsumexp(inside, axis=1)
    # Below the least factor of the grid nothing fails: of nodes that never did, that is seen, too.
    never = ~data.failed & (data.watched_s == data.first_s)
    # The sum continues with steps as wide as the first one; it is not the integral.
    half = prior * weight[0]
    below = gammainc(prior, prior * z[0]) * half / math.tanh(half)
    each[never] = np.logaddexp(each[never], math.log(below) if below > 0 else -math.inf)
    return float(each.sum())


def _grid(
    data: Histories, name: str, mean: float, spread: float, prior: float
) -> tuple[Floats, Floats]:
    """Logarithms of factors, and their weights in an integral over all that have any.

    They lie as closely as nodes need: one that fails d times shows its factor, of about d
    mean lives in the time watched, to 1 / sqrt(prior + d), in logarithms.
    """
    from scipy.special import gammaincinv  # noqa: PLC0415

    ended, lives = data.ended, data.watched_s / data.unit_s / mean
    # Information of a life on its pace, as of shape 1; of a lognormal, 1 / its variance of logs.
    told = max(1 / math.log1p(spread**2) if name == "lognormal" else spread**2, 1.0)
    least, most = gammaincinv(prior, np.array([_BEYOND, 1 - _BEYOND])) / prior
    nothing = _NOTHING ** (1 / min(spread, 1.0)) if name == "weibull" else _NOTHING
    longest, seen = float(lives.max()), float(((prior + ended) / (prior + lives)).max())
    low = math.log(max(least, nothing / longest))
    high = math.log(max(most, seen)) + _MARGIN / math.sqrt(prior + float(ended.max()) * told)

    def per_unit(u: Floats | float) -> Floats:
        """Steps by unit of u."""
        return np.sqrt(1 + prior + told * longest * np.exp(u)) / _STEP

    least_per_unit = math.sqrt(1 + prior) / _STEP

    def steps(u: Floats | float) -> Floats:
        """The integral of `per_unit`."""
        each = per_unit(u)
        return 2 * each + least_per_unit * (u - 2 * np.log(each + least_per_unit))

    first, last = steps(low), steps(high)
    count = min(max(math.ceil(last - first), _LEAST), _STEPS)
    wanted, known = np.linspace(first, last, count + 1), np.linspace(low, high, _KNOWN)
    u = np.interp(wanted, steps(known), known)
    for _ in range(_NEWTON):  # on to rounding errors: a rough likelihood has many tops
        u = u - (steps(u) - wanted) / per_unit(u)
    weight = (last - first) / count / per_unit(u)
    weight[[0, -1]] /= 2
    return u, weight
