"""The lognormal law."""

# ruff: noqa: D102  (law.py says what each method gives)

import math

import numpy as np

from cprsim.basics.laws.ended import EndedLives, Floats, log
from cprsim.basics.laws.law import AgeingLaw, Size


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
