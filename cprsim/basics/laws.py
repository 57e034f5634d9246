"""Laws of durations: draws, and how long each lasts; of laws without a shape, all of it.

One class a law, for draws of traces, fits of lives, and pictures of both.
"""

# ruff: noqa: D102  (`Law` says what each method gives)

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Key = tuple[object, ...]
Size = int | tuple[int, ...]

#: Of an integral of the survival, which is then good to 1e-5 for all laws but listed values.
_POINTS: Final = 2001


class Law(ABC):
    """A law of durations, in seconds or in any other unit.

    What it draws is `scale` times a standard number, to the last bit what NumPy draws of the law.
    So laws of one `key` draw the same, but for the scale. Of a lognormal that can't be had (the
    exponential of NumPy's generators is another than `numpy.exp`), nor of a list of durations:
    their key is all that they are, and their scale is 1.

    Parameters
    ----------
    mean
        Of the durations.
    key
        What the standard numbers depend on.
    scale
        What they are times.
    """

    def __init__(self, mean: float, key: Key, scale: float = 1.0) -> None:
        self.mean, self.key, self.scale = mean, key, scale

    @abstractmethod
    def standard(self, rng: np.random.Generator, size: Size) -> Floats:
        """Draw standard numbers, an array of shape `size`."""

    @abstractmethod
    def standard_long(self, rng: np.random.Generator, size: Size) -> Floats:
        """Draw what `long` makes durations of that are chosen in proportion to their length."""

    def long(self, drawn: Floats) -> Floats:
        """Durations that were drawn in proportion to their length."""
        return self.scale * drawn

    @abstractmethod
    def survival(self, t: Floats) -> Floats:
        """Probability that a duration exceeds `t` (>= 0; any shape)."""

    def within(self, limit: float) -> tuple[float, float]:
        """Probability that a duration is over by `limit` (> 0), and the mean of the shorter."""
        # The survival may fall steeply at 0: so the points lie more closely there.
        t = limit * np.linspace(0.0, 1.0, _POINTS) ** 2
        alive = self.survival(t)
        until = ((alive[1:] + alive[:-1]) / 2 * np.diff(t)).sum()
        return float(1 - alive[-1]), float(until)

    def hazard(self, age: Floats) -> Floats:  # noqa: ARG002
        """Failure rate at that age (> 0, any shape): density / survival."""
        raise TypeError(f"the {self.key[0]} law has no density")

    def quantile(self, survival: Floats) -> Floats:  # noqa: ARG002
        """Durations that are outlasted with these chances (between 0 and 1; any shape)."""
        raise TypeError(f"the {self.key[0]} law has no density")


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
