"""What was seen of nodes that fail and come back, and the law of their lives if all are alike.

A node is of any age at the start of the watch: what is left of its first life has the density
S / mean (D. R. Cox, "Renewal theory", 1962, ch. 5).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.once import once
from cprsim.survival.fitted_laws import law_of
from cprsim.survival.sample import Floats

#: Logarithms of the mean over that of an exponential law, and of the shape or cv.
BOUNDS: Final = ((-3.0, 6.0), (math.log(0.05), math.log(100.0)))
_TINY: Final = float(np.finfo(np.float64).tiny)
_MOST_LOG: Final = 300.0  # of numbers whose product a float can hold


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

    @once
    def unit_s(self) -> float:
        """Time watched for each failure, seconds: the mean of exponential lives."""
        return float(self.first_s.sum() + self.lasted_s.sum()) / self.failures

    @property
    def failures(self) -> int:
        """How many lives ended in one."""
        return int(self.failed.sum() + self.observed.sum())

    @once
    def complete(self) -> "Complete":
        """Later lives that ended in a failure, in units."""
        lasted = self.lasted_s[self.observed] / self.unit_s
        return Complete(lasted, self.node[self.observed], self.nodes)

    @once
    def ended(self) -> NDArray[np.int64]:
        """Failures of each node, shape (nodes,)."""
        return np.bincount(self.node[self.observed], minlength=self.nodes) + self.failed

    @once
    def watched_s(self) -> Floats:
        """Up time of each node, seconds, shape (nodes,)."""
        return self.first_s + np.bincount(self.node, self.lasted_s, self.nodes)


class Alike(NamedTuple):
    """A law of lives, and its log-likelihood of durations in units of `Histories.unit_s`.

    `at`: the logarithms of its mean, in these units, and of its shape or cv.
    """

    law: Distribution
    at: tuple[float, float]
    log_likelihood: float


class _Logs(Protocol):
    """Logarithms of a law at some times."""

    @property
    def density(self) -> Floats:
        """Of its density."""

    @property
    def survival(self) -> Floats:
        """Of the share of lives that last longer."""

    @property
    def left(self) -> Floats:
        """Of the share of lives under way of which more than that is left."""


def fits_alike(data: Histories) -> dict[str, Alike]:
    """The Weibull, gamma and lognormal law that fit all nodes, by maximum likelihood, by name."""
    return {name: _fit(data, name) for name in LOGS}


def _fit(data: Histories, name: str) -> Alike:
    from scipy.optimize import minimize  # noqa: PLC0415  (scipy is slow to import)

    def lacking(at: Floats) -> float:
        return -log_likelihood(data, name, *np.exp(at).tolist())

    best = minimize(lacking, (0.0, 0.0), bounds=BOUNDS)
    log_mean, log_spread = best.x.tolist()
    law = law_of(name, data.unit_s * math.exp(log_mean), math.exp(log_spread))
    return Alike(law, (log_mean, log_spread), -float(best.fun))


def log_likelihood(data: Histories, name: str, mean: float, spread: float) -> float:
    """Of a law with that mean, in units of `unit_s`, and that shape or cv."""
    later, first = data.lasted_s / data.unit_s, data.first_s / data.unit_s

    def law(t: Floats) -> _Logs:
        return LOGS[name](t, mean, spread)

    lives = law(later[data.observed]).density.sum() + law(later[~data.observed]).survival.sum()
    starts = law(first[data.failed]).survival - math.log(mean)
    return float(lives + starts.sum() + law(first[~data.failed]).left.sum())


class _Weibull:
    def __init__(self, t: Floats, mean: float, shape: float) -> None:
        self._t, self._shape = t, shape
        self._logs = shape * (_log(t) - math.log(mean) + math.lgamma(1 + 1 / shape))
        self._hazard = np.exp(np.minimum(self._logs, _MOST_LOG))

    @property
    def density(self) -> Floats:
        return math.log(self._shape) + self._logs - _log(self._t) - self._hazard

    @property
    def survival(self) -> Floats:
        return -self._hazard

    @property
    def left(self) -> Floats:
        from scipy.special import gammaincc  # noqa: PLC0415

        return _log(np.asarray(gammaincc(1 / self._shape, self._hazard)))


class _Gamma:
    def __init__(self, t: Floats, mean: float, shape: float) -> None:
        self._t, self._shape = t, shape
        self._x = t * shape / mean

    @property
    def density(self) -> Floats:
        return self._shape * _log(self._x) - _log(self._t) - self._x - math.lgamma(self._shape)

    @property
    def survival(self) -> Floats:
        from scipy.special import gammaincc  # noqa: PLC0415

        return _log(np.asarray(gammaincc(self._shape, self._x)))

    @property
    def left(self) -> Floats:
        from scipy.special import gammaincc  # noqa: PLC0415

        shape, x = self._shape, self._x
        return _log(np.asarray(gammaincc(shape + 1, x) - x / shape * gammaincc(shape, x)))


class _Lognormal:
    def __init__(self, t: Floats, mean: float, cv: float) -> None:
        self._t, self._mean = t, mean
        variance = math.log1p(cv**2)
        self._sigma = math.sqrt(variance)
        self._z = (_log(t) - math.log(mean) + variance / 2) / self._sigma

    @property
    def density(self) -> Floats:
        unit = math.log(self._sigma) + math.log(2 * math.pi) / 2
        return np.asarray(-_log(self._t) - unit - self._z**2 / 2)

    @property
    def survival(self) -> Floats:
        from scipy.special import log_ndtr  # noqa: PLC0415

        return np.asarray(log_ndtr(-self._z))

    @property
    def left(self) -> Floats:
        from scipy.special import ndtr  # noqa: PLC0415

        longer = ndtr(self._sigma - self._z) - self._t / self._mean * ndtr(-self._z)
        return _log(np.asarray(longer))


def _log(values: Floats) -> Floats:
    """Logarithms of values that may round to 0 or below."""
    return np.asarray(np.log(np.maximum(values, _TINY)))


#: By the name of the law.
LOGS: Final[dict[str, Callable[[Floats, float, float], _Logs]]] = {
    "weibull": _Weibull,
    "gamma": _Gamma,
    "lognormal": _Lognormal,
}


class Complete:
    """Lives that ended in a failure, by node: the sums that densities at any pace take.

    `lasted`: in units, shape (n,); `node`: whose each is, below `nodes`.
    """

    def __init__(self, lasted: Floats, node: NDArray[np.int64], nodes: int) -> None:
        self._lasted, self._node, self._nodes = lasted, node, nodes
        self.count = self.total(np.ones(len(lasted)))
        self.logs = _log(lasted)
        self.of_logs, self.of_squares = self.total(self.logs), self.total(self.logs**2)

    def total(self, values: Floats) -> Floats:
        """Sums of a value of each life by node, shape (nodes, 1)."""
        return np.bincount(self._node, values, self._nodes).astype(np.float64)[:, np.newaxis]

    def powers(self, shape: float) -> Floats:
        """Sums of that power of each, shape (nodes, 1)."""
        return self.total(np.exp(np.minimum(shape * self.logs, _MOST_LOG)))


def _weibull_lives(lives: Complete, z: Floats, mean: float, shape: float) -> Floats:
    logs = np.log(z) - math.log(mean) + math.lgamma(1 + 1 / shape)
    ended = lives.count * (math.log(shape) + shape * logs) + (shape - 1) * lives.of_logs
    return np.asarray(ended - np.exp(np.minimum(shape * logs, _MOST_LOG)) * lives.powers(shape))


def _gamma_lives(lives: Complete, z: Floats, mean: float, shape: float) -> Floats:
    rate = z * shape / mean
    ended = lives.count * (shape * np.log(rate) - math.lgamma(shape))
    return np.asarray(ended + (shape - 1) * lives.of_logs - rate * lives.powers(1.0))


def _lognormal_lives(lives: Complete, z: Floats, mean: float, cv: float) -> Floats:
    variance = math.log1p(cv**2)
    centre = math.log(mean) - variance / 2 - np.log(z)
    squares = lives.of_squares - 2 * centre * lives.of_logs + lives.count * centre**2
    return (
        -lives.of_logs
        - lives.count * math.log(2 * math.pi * variance) / 2
        - squares / (2 * variance)
    )


#: Log-density of the lives of each node at each pace z, shape (nodes, paces), by the law's name.
COMPLETE: Final[dict[str, Callable[[Complete, Floats, float, float], Floats]]] = {
    "weibull": _weibull_lives,
    "gamma": _gamma_lives,
    "lognormal": _lognormal_lives,
}
