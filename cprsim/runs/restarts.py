"""Restarts that a job needs, compared with the number that its launcher allows."""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.errors import UsageError
from cprsim.failures.hits import Hit
from cprsim.runs.by_cause import watched
from cprsim.runs.fleet_result import FleetResult
from cprsim.runs.result import Result
from cprsim.sim.engine import play
from cprsim.sim.observer import BackgroundTask, Observer

_SHARES: Final = (0.5, 0.95, 0.99)


class Restarts(NamedTuple):
    """Restarts of a job under one policy: each failure that strikes it takes one.

    `p50`, `p95`, `p99`: percentiles over runs. `within`: the share of runs that need no more than
    `most` restarts; `low`, `high`: its 95 % interval by Clopper and Pearson. `no_save`: starts of a
    job that end with a failure before their first save has ended, mean of the runs that are played
    again, watched.
    """

    p50: float
    p95: float
    p99: float
    most: int
    within: float
    low: float
    high: float
    no_save: float

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **{name: getattr(self, name) for name in ("p50", "p95", "p99")},
            "max_restarts": self.most,
            "within": {"mean": self.within, "ci95": [self.low, self.high]},
            "starts_without_a_save": self.no_save,
        }


class StartsWithoutASave(Observer):
    """Counts starts of a job that end with a failure before their first save has ended.

    `count`: of all runs. A save that a failure cuts ends at the same instant, and is none.
    """

    def __init__(self) -> None:
        self.count, self._first_s = 0, math.inf

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Note when the first save ends, of which spans may follow one another."""
        if cause == "save" and start_s <= self._first_s:
            self._first_s = end_s

    def background(
        self,
        task: BackgroundTask,
        start_s: float,  # noqa: ARG002  (the observer's)
        end_s: float,
        completed: bool,
    ) -> None:
        """Note when the first save in the background ends."""
        if task.kind == "save" and completed:
            self._first_s = min(self._first_s, end_s)

    def failure(self, at_s: float, hit: Hit) -> None:  # noqa: ARG002  (the observer's)
        """Count the start that ends."""
        self.count += self._first_s >= at_s
        self.over()

    def over(self) -> None:
        """Begin with another start."""
        self._first_s = math.inf


def check_most(most: int) -> None:
    """Raise `UsageError` for a number of restarts that is below 0 or infinite."""
    if not 0 <= most < math.inf:
        raise UsageError(f"max_restarts {most:g} is out of range: it must be >= 0, e.g. 3")


def restarts(result: Result, most: int) -> dict[str, Restarts]:
    """Return the restarts that each policy of a run needs, compared with `most`, by its name.

    Launchers count them so: torchrun's `--max-restarts`, `maxRestarts` of training operators.

    Raises
    ------
    UsageError
        If `most` is negative, and for a fleet.
    """
    from scipy.stats import binomtest  # noqa: PLC0415  (slow to import)

    check_most(most)
    if isinstance(result, FleetResult):
        raise UsageError("restarts are of one job, and this is a fleet; run one of its jobs")
    found = {}
    for name in result.plans:
        failures = result.kept.values(name, "failures")
        p50, p95, p99 = np.quantile(failures, _SHARES, method="inverted_cdf").tolist()
        within = int((failures <= most).sum())
        ends = binomtest(within, len(failures)).proportion_ci()
        share = within / len(failures)
        starts, count = StartsWithoutASave(), watched(result)
        for replication in range(count):
            play(result.scenario, name, result.seed, replication, starts)
            starts.over()
        found[name] = Restarts(
            p50, p95, p99, most, share, float(ends.low), float(ends.high), starts.count / count
        )
    return found
