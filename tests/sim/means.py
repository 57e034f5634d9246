"""Means of many runs, which exact forms give."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.batch import engine as batch
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

Values = NDArray[np.float64]


def measured(
    scenario: Scenario, column: str, runs: int, policy: str = "it", seed: int = 1
) -> Values:
    """Return a column of the ledger in so many runs."""
    values: Values = batch.simulate(scenario, [policy], range(runs), seed)
    return values[:, 0, COLUMNS.index(column)]


def assert_mean(values: Values, exact: float, within: float = math.inf) -> None:
    """Hold the mean to an exact value, within 3 standard errors; of them each `within` a share."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert error < within * values.mean()
    assert abs(values.mean() - exact) <= 3 * error, (values.mean(), exact, error)


def more_s(
    job: Callable[..., Scenario], useful_s: tuple[int, int], runs: int, seed: int, **keys: Any
) -> Values:
    """Return what a longer job takes beyond a shorter one, whose training is its first part, s."""
    short_s, long_s = (
        measured(job(job={"useful_time": f"{each_s} s"}, **keys), "wall", runs, seed=seed)
        for each_s in useful_s
    )
    return long_s - short_s
