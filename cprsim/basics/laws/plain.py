"""Laws without a shape: the exponential, one duration, uniform ones, and those of a list."""

# ruff: noqa: D102  (law.py says what each method gives)

import math
from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np

from cprsim.basics.laws.law import Floats, Law, Size


class Exponential(Law):
    """Failures at one rate, whatever the age."""

    def __init__(self, mean: float) -> None:
        super().__init__(mean, ("exponential",), mean)

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.standard_exponential(size)

    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.standard_gamma(2.0, size)

    def survival(self, t: Floats) -> Floats:
        return np.exp(-t / self.mean)

    def within(self, limit: float) -> tuple[float, float]:
        over = -math.expm1(-limit / self.mean)
        return over, self.mean * over

    def hazard(self, age: Floats) -> Floats:
        return np.full(age.shape, 1 / self.mean)

    def quantile(self, survival: Floats) -> Floats:
        return -self.mean * np.log(survival)


class Deterministic(Law):
    """Always the mean."""

    def __init__(self, mean: float) -> None:
        super().__init__(mean, ("deterministic",), mean)

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:  # noqa: ARG002
        return np.ones(size)

    standard_long = standard

    def survival(self, t: Floats) -> Floats:
        return np.where(t < self.mean, 1.0, 0.0)


class Uniform(Law):
    """Any duration up to twice the mean."""

    def __init__(self, mean: float) -> None:
        super().__init__(mean, ("uniform",), 2 * mean)

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.random(size)

    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.sqrt(rng.random(size))

    def survival(self, t: Floats) -> Floats:
        return np.clip(1.0 - t / self.scale, 0.0, 1.0)


#: By name, those that are given by their mean alone.
BY_MEAN: Final[dict[str, Callable[[float], Law]]] = {
    "exponential": Exponential,
    "deterministic": Deterministic,
    "uniform": Uniform,
}


class Empirical(Law):
    """Any of a list, with equal chance."""

    def __init__(self, durations: tuple[float, ...]) -> None:
        super().__init__(math.fsum(durations) / len(durations), ("empirical", durations))
        self._values = np.asarray(durations)

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(self._values)

    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.asarray(self._values[rng.integers(len(self._values), size=size)])

    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.choice(self._values, size, p=self._values / self._values.sum())

    def survival(self, t: Floats) -> Floats:
        beyond = np.searchsorted(self._sorted, t, side="right")
        return np.asarray(1.0 - beyond / self._sorted.size)
