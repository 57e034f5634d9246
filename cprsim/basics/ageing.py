"""Laws whose failure rate goes with age, and the tail of the gamma law where floats end."""

# ruff: noqa: D102  (`Law` and `AgeingLaw` say what each method gives)

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.laws import Floats, Law, Size

_LEAST: Final = float(np.finfo(np.float64).tiny)
_MOST_LOG: Final = 300.0  # of numbers whose product a float can hold
#: Beyond `_ALL` the incomplete gamma function is 1 but for rounding, for shapes below `_LARGE`.
_ALL: Final = 500.0
_LARGE: Final = 100.0
_TINY: Final = 1e-290  # nearer to 0 a probability loses digits
_FRACTIONS: Final = 2000


def log(values: Floats) -> Floats:
    """Logarithms of values that may round to 0 or below."""
    return np.asarray(np.log(np.maximum(values, _LEAST)))


def power(logs: Floats) -> Floats:
    """Numbers of these logarithms, cut off where a product of two would overflow a float."""
    return np.asarray(np.exp(np.minimum(logs, _MOST_LOG)))


class EndedLives:
    """Lives by node: the sums that densities at any pace take.

    `lasted`: shape (n,); `node`: whose each is, a number below `nodes`, shape (n,).
    """

    def __init__(self, lasted: Floats, node: NDArray[np.int64], nodes: int) -> None:
        self._lasted, self._node, self._nodes = lasted, node, nodes
        self.count = self.total(np.ones(len(lasted)))
        self.logs = log(lasted)
        self.of_logs, self.of_squares = self.total(self.logs), self.total(self.logs**2)

    def total(self, values: Floats) -> Floats:
        """Sums of a value of each life by node, shape (nodes, 1)."""
        return np.bincount(self._node, values, self._nodes).astype(np.float64)[:, np.newaxis]

    def powers(self, shape: float) -> Floats:
        """Sums of that power of each, shape (nodes, 1)."""
        return self.total(power(shape * self.logs))


class AgeingLaw(Law):
    """A law of one shape, whose failure rate goes with age. Its logarithms hold far in its tail."""

    @abstractmethod
    def log_density(self, t: Floats) -> Floats:
        """Logarithm of the density at `t` (any shape)."""

    @abstractmethod
    def log_survival(self, t: Floats) -> Floats:
        """Logarithm of the share of durations that exceed `t`, or of the least float."""

    @abstractmethod
    def log_left(self, t: Floats) -> Floats:
        """Logarithm of the share of durations under way of which more than `t` is left.

        Under way at a time chosen at random: the tail's area over the mean (D. R. Cox, "Renewal
        theory", 1962, ch. 5).
        """

    @abstractmethod
    def log_density_at(self, pace: Floats, lives: EndedLives) -> Floats:
        """Log-density of the lives of each node at each pace, shape (nodes, paces).

        `pace`: shape (paces,); at pace z durations are those of the law over z.
        """


class Weibull(AgeingLaw):
    """A failure rate that goes with a power of age: `shape` - 1.

    `OverflowError` where the scale is more than a float can hold, as of a shape below 0.006.
    """

    def __init__(self, mean: float, shape: float) -> None:
        super().__init__(mean, ("weibull", shape), mean / math.gamma(1 + 1 / shape))
        self._shape = shape

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.weibull(self._shape, size)

    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.standard_gamma(1 + 1 / self._shape, size)

    def long(self, drawn: Floats) -> Floats:
        # By logarithms: at a small shape the power alone is more than floats can hold.
        log_scale = math.log(self.mean) - math.lgamma(1 + 1 / self._shape)
        return np.asarray(np.exp(log_scale + np.log(drawn) / self._shape))

    def survival(self, t: Floats) -> Floats:
        return np.exp(-((t / self.scale) ** self._shape))

    def hazard(self, age: Floats) -> Floats:
        return self._shape / self.scale * (age / self.scale) ** (self._shape - 1)

    def quantile(self, survival: Floats) -> Floats:
        return self.scale * (-np.log(survival)) ** (1 / self._shape)

    def _log_passed(self, t: Floats) -> Floats:
        """Logarithm of the hazard that has passed by `t`: of t / scale, to the power of shape."""
        return self._shape * (log(t) - math.log(self.mean) + math.lgamma(1 + 1 / self._shape))

    def log_density(self, t: Floats) -> Floats:
        logs = self._log_passed(t)
        return math.log(self._shape) + logs - log(t) - power(logs)

    def log_survival(self, t: Floats) -> Floats:
        return -power(self._log_passed(t))

    def log_left(self, t: Floats) -> Floats:
        from scipy.special import gammaincc  # noqa: PLC0415  (scipy is slow to import)

        return log(np.asarray(gammaincc(1 / self._shape, power(self._log_passed(t)))))

    def log_density_at(self, pace: Floats, lives: EndedLives) -> Floats:
        logs = self._log_passed(pace)
        ended = lives.count * (math.log(self._shape) + logs) + (self._shape - 1) * lives.of_logs
        return np.asarray(ended - power(logs) * lives.powers(self._shape))


class Lognormal(AgeingLaw):
    """Durations whose logarithms are normal; `cv`: their standard deviation / mean.

    `OverflowError` where the square of `cv` is more than a float can hold.
    """

    def __init__(self, mean: float, cv: float) -> None:
        super().__init__(mean, ("lognormal", mean, cv))
        self._variance = math.log1p(cv**2)
        self._sigma = math.sqrt(self._variance)
        self._mu = math.log(mean) - self._variance / 2

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.lognormal(self._mu, self._sigma, size)

    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.lognormal(self._mu + self._sigma**2, self._sigma, size)

    def survival(self, t: Floats) -> Floats:
        from scipy.special import ndtr  # noqa: PLC0415  (scipy is slow to import)

        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((self._mu - np.log(t)) / self._sigma), dtype=np.float64)

    def hazard(self, age: Floats) -> Floats:
        return np.exp(self.log_density(age) - self.log_survival(age))

    def quantile(self, survival: Floats) -> Floats:
        from scipy.special import ndtri  # noqa: PLC0415

        return np.exp(self._mu - self._sigma * ndtri(survival))

    def _z(self, t: Floats) -> Floats:
        """Logarithms of `t` as a standard normal law has them."""
        return (log(t) - math.log(self.mean) + self._variance / 2) / self._sigma

    def log_density(self, t: Floats) -> Floats:
        unit = math.log(self._sigma) + math.log(2 * math.pi) / 2
        return np.asarray(-log(t) - unit - self._z(t) ** 2 / 2)

    def log_survival(self, t: Floats) -> Floats:
        from scipy.special import log_ndtr  # noqa: PLC0415

        return np.asarray(log_ndtr(-self._z(t)))

    def log_left(self, t: Floats) -> Floats:
        from scipy.special import ndtr  # noqa: PLC0415

        z = self._z(t)
        return log(np.asarray(ndtr(self._sigma - z) - t / self.mean * ndtr(-z)))

    def log_density_at(self, pace: Floats, lives: EndedLives) -> Floats:
        centre = self._mu - np.log(pace)
        squares = lives.of_squares - 2 * centre * lives.of_logs + lives.count * centre**2
        return (
            -lives.of_logs
            - lives.count * math.log(2 * math.pi * self._variance) / 2
            - squares / (2 * self._variance)
        )


class Gamma(AgeingLaw):
    """A failure rate that goes from infinite (shape < 1) or 0 (above 1) to that of an exponential.

    `shape` is k; the scale is mean / k.
    """

    def __init__(self, mean: float, shape: float) -> None:
        super().__init__(mean, ("gamma", shape), mean / shape)
        self._shape = shape

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.standard_gamma(self._shape, size)

    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.standard_gamma(self._shape + 1, size)

    def _x(self, t: Floats) -> Floats:
        return t * self._shape / self.mean

    def survival(self, t: Floats) -> Floats:
        from scipy.special import gammaincc  # noqa: PLC0415  (scipy is slow to import)

        return np.asarray(gammaincc(self._shape, self._x(t)), dtype=np.float64)

    def within(self, limit: float) -> tuple[float, float]:
        if self._shape >= _LARGE:
            return super().within(limit)
        ratio = limit * self._shape / self.mean
        over = _lower_gamma(self._shape, ratio)
        return over, self.mean * _lower_gamma(self._shape + 1, ratio) + limit * (1 - over)

    def hazard(self, age: Floats) -> Floats:
        return gamma_tail(self._shape, self._x(age))[1] / age

    def quantile(self, survival: Floats) -> Floats:
        from scipy.special import gammainccinv  # noqa: PLC0415

        return np.asarray(gammainccinv(self._shape, survival) * self.scale, dtype=np.float64)

    def log_density(self, t: Floats) -> Floats:
        x = self._x(t)
        return self._shape * log(x) - log(t) - x - math.lgamma(self._shape)

    def log_survival(self, t: Floats) -> Floats:
        return log(self.survival(t))

    def log_left(self, t: Floats) -> Floats:
        from scipy.special import gammaincc  # noqa: PLC0415

        shape, x = self._shape, self._x(t)
        return log(np.asarray(gammaincc(shape + 1, x) - x / shape * gammaincc(shape, x)))

    def log_density_at(self, pace: Floats, lives: EndedLives) -> Floats:
        rate = self._x(pace)
        ended = lives.count * (self._shape * np.log(rate) - math.lgamma(self._shape))
        return np.asarray(ended + (self._shape - 1) * lives.of_logs - rate * lives.powers(1.0))


#: By name; each is given by its mean and its shape or cv.
AGEING: Final[dict[str, Callable[[float, float], AgeingLaw]]] = {
    "weibull": Weibull,
    "gamma": Gamma,
    "lognormal": Lognormal,
}


def _lower_gamma(shape: float, x: float) -> float:
    """The regularized incomplete gamma function P by its series (DLMF 8.11.4).

    Here and not of scipy, which takes longer to import than a scenario to load.
    """
    if x > _ALL:
        return 1.0
    place, term = shape, 1 / shape
    total = term
    while term > total * 1e-17:
        place += 1
        term *= x / place
        total += term
    return min(total * math.exp(shape * math.log(x) - x - math.lgamma(shape)), 1.0)


def gamma_tail(k: float, z: Floats) -> tuple[Floats, Floats]:
    """Logarithm of the survival at `z` of a gamma law of scale 1, and z times its hazard there."""
    from scipy.special import gammaincc, gammaln  # noqa: PLC0415

    survival = np.asarray(gammaincc(k, z), dtype=np.float64)
    log_density = k * np.log(z) - z - float(gammaln(k))  # times z
    with np.errstate(divide="ignore"):
        log_survival = np.log(survival)
    far = survival < _TINY
    if far.any():
        log_survival[far] = log_density[far] + np.log(_fraction(k, z[far]))
    return log_survival, np.exp(log_density - log_survival)


def _fraction(k: float, z: Floats) -> Floats:
    """Survival divided by z times the density, far in the tail (z > k + 1).

    Legendre's continued fraction by Lentz's method, NIST Digital Library of Mathematical Functions
    8.9.2 (https://dlmf.nist.gov/8.9).
    """
    below = z + 1 - k
    ratio = 1 / below
    value, above = ratio.copy(), np.full_like(z, math.inf)
    for i in range(1, _FRACTIONS):
        factor = -i * (i - k)
        below = below + 2
        ratio = 1 / (factor * ratio + below)
        above = below + factor / above
        change = ratio * above
        value *= change
        if np.all(np.abs(change - 1) < 1e-15):
            break
    return value
