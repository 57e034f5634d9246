"""The protocol of a law of durations: draws, and how long it lasts."""

from abc import ABC, abstractmethod
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TINY: Final = float(np.finfo(np.float64).tiny)
_MOST_LOG: Final = 300.0  # of numbers whose product a float can hold
Key = tuple[object, ...]
Size = int | tuple[int, ...]

#: Of an integral of the survival, which is then good to 1e-5 for all laws but listed values.
_POINTS: Final = 2001


def log(values: Floats) -> Floats:
    """Logarithms of values that may round to 0 or below."""
    return np.asarray(np.log(np.maximum(values, _TINY)))


def power(logs: Floats) -> Floats:
    """Numbers of these logarithms, or the largest whose product with another a float can hold."""
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
