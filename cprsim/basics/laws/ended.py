"""Lives of nodes that ended in a failure, as the sums that their densities take."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TINY: Final = float(np.finfo(np.float64).tiny)
_MOST_LOG: Final = 300.0  # of numbers whose product a float can hold


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
