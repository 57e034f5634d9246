"""Nodes of a log that are there at a time, and at each failure."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cprsim.failures.hits import none_of
from cprsim.failures.logs.coincidence import sizes
from cprsim.failures.logs.log import FailureLog
from cprsim.survival.sample import Floats, Integers


class Attendance:
    """The nodes that are there between two changes, and at each failure of a log.

    Nodes are those of the log's population, or those that fail where it has none. `there`: whether
    each is, shape (periods, nodes).
    """

    def __init__(self, log: FailureLog) -> None:
        self._log = log
        failing, self._numbers = np.unique(log.machines, return_inverse=True)
        numbers = failing
        if log.population is not None:
            numbers, self._numbers = np.arange(log.population), log.machines
        ends_s = log.start_s, log.start_s + log.span_s
        came_s, left_s = (np.clip(each(numbers), *ends_s) for each in (log.came, log.left))
        changes_s = np.unique(np.concatenate([came_s, left_s, ends_s]))
        after_s = changes_s[1:] if len(changes_s) > 1 else changes_s
        self._lasts_s = after_s - changes_s[: len(after_s)]
        self.there: NDArray[np.bool_] = (came_s <= changes_s[: len(after_s), np.newaxis]) & (
            left_s >= after_s[:, np.newaxis]
        )
        self.counts: Integers = self.there.sum(axis=1)
        self._periods = np.searchsorted(after_s, log.times_s, side="right")
        # A failure at the very end is of the last period.
        self._periods = np.minimum(self._periods, len(after_s) - 1)

    @property
    def most(self) -> int:
        """The largest number of nodes that are there at once."""
        return int(self.counts.max())

    def places(self, order: Integers) -> Integers:
        """Return the place of the node of each failure among those there, in that order of nodes.

        Nodes that the order lacks, or that are not there, have the place -1. Shape (n,).
        """
        places, there = np.full(self.there.shape, -1), self.there[:, order]
        places[:, order] = np.where(there, np.cumsum(there, axis=1) - 1, -1)
        return places[self._periods, self._numbers]

    def clock_s(self, nodes: int) -> tuple[Floats, float]:
        """Return when each failure is on a clock that stops while fewer nodes are there.

        And how long that clock runs from the start of the log to its end, s.
        """
        still_s = np.where(self.counts < nodes, self._lasts_s, 0.0)
        runs_s = self._log.watched_s - float(still_s.sum())
        return self._log.times_s - np.cumsum(still_s)[self._periods], runs_s

    def whole_jobs(self, nodes: int) -> Integers:
        """Return how many jobs of so many nodes those there make at each failure, shape (n,)."""
        return self.counts[self._periods] // nodes

    @cached_property
    def logs(self) -> dict[int, FailureLog]:
        """The failures of the log, by how many nodes are there when they strike."""
        counts = self.counts[self._periods]
        return {
            int(count): self._log.only(np.flatnonzero(counts == count))
            for count in np.unique(counts)
        }

    @cached_property
    def _sizes(self) -> dict[int, dict[int, int]]:
        """Numbers of nodes that fail at one instant, and how often, by the number that is there."""
        return {there: sizes(log) for there, log in self.logs.items()}

    def failures_of(self, nodes: int, job: int | None = None) -> float:
        """Expected failures that hit some of `nodes` random nodes, while a job has as many.

        `job`: nodes of the job, if these are but some of them.
        """
        return math.fsum(
            math.fsum(count * (1 - none_of(nodes, there, size)) for size, count in found.items())
            for there, found in self._sizes.items()
            if there >= (job or nodes)
        )

    def outages_a_node(self, nodes: int) -> float:
        """Expected failures of one of those there, while so many are."""
        return math.fsum(
            sum(size * count for size, count in found.items()) / there
            for there, found in self._sizes.items()
            if there >= nodes
        )
