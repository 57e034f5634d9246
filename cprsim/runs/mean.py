"""A mean of replications, and how far it may be off."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.result import finite
from cprsim.runs.summaries import half_width


class Mean(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Mean":
        """That of replications, shape (replications,)."""
        return cls.around(float(values.mean()), float(half_width(values)))

    @classmethod
    def around(cls, mean: float, half: float) -> "Mean":
        """With an interval of twice `half`."""
        return cls(mean, mean - half, mean + half)

    def or_more(self, much: float) -> "Mean":
        """With an interval that ends so much later."""
        return self._replace(high=self.high + much)

    def columns(self, name: str) -> dict[str, float]:
        """Return its columns of a table: under that name, and its ends, `_low` and `_high`."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}

    def document(self) -> dict[str, Any]:
        """Return its entry of a JSON document."""
        return {"mean": finite(self.mean), "ci95": [finite(self.low), finite(self.high)]}
