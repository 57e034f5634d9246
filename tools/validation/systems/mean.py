"""Means over replications, with their standard errors."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.engines import chosen, simulate
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

Floats = NDArray[np.float64]


class Mean(NamedTuple):
    """A mean and its standard error."""

    value: float
    error: float

    @property
    def told(self) -> str:
        """The error in words."""
        return f"standard error {self.error:.2g}"

    def z(self, other: "Mean") -> float:
        """Return how far it lies above another, in standard errors of both."""
        return (self.value - other.value) / math.hypot(self.error, other.error)


def mean_of(values: Floats) -> Mean:
    """Over independent replications."""
    return Mean(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


def ratio_of(part: Floats, whole: Floats) -> Mean:
    """A ratio of two means over the same replications, its error by the delta method."""
    ratio = float(part.sum() / whole.sum())
    return Mean(ratio, mean_of((part - ratio * whole) / whole.mean()).error)


def played(scenario: Scenario, policy: str, replications: int, seed: int) -> dict[str, Floats]:
    """The ledgers of one policy, by column."""
    engines = chosen(scenario, [policy], "auto")
    rows = simulate(scenario, engines, range(replications), seed)[:, 0, :]
    return dict(zip(COLUMNS, rows.T, strict=True))
