"""The Weibull law."""

# ruff: noqa: D102  (law.py says what each method gives)

import math

import numpy as np

from cprsim.basics.laws.ended import EndedLives, Floats, log, power
from cprsim.basics.laws.law import AgeingLaw, Size


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
