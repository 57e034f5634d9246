"""Streams of random numbers, one for each cause, so that draws in one move nothing in another.

A stream costs some 40 microseconds to make, more than a vectorised replication may take. So causes
of which a replication needs a few numbers have one for each *cohort* of `COHORT` consecutive
replications, from which all of them draw at once, a row each.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Replications that share streams. Part of every result's identity: never change it.
COHORT = 256


class Cause(IntEnum):
    """Purposes of streams; the numbers are part of every result's identity: never reuse one."""

    FAILURE_TIME = 0
    VICTIM = 1
    RESCHEDULE = 2
    NODE_LIFE = 3
    REPLAY = 4
    BURST_TIME = 5
    BURST_VICTIM = 6
    SEVERITY = 7
    JOB_VALUE = 8
    SAVE_VOID = 9
    LOAD_FAILED = 10
    OUTAGE = 11
    FRAILTY = 12
    NOTICE = 13
    FALSE_ALARM = 14
    SILENT = 16
    SAVE_TORN = 17
    START_SCHEDULE = 20
    START_INITIALISE = 21
    START_COMPILE = 22
    START_COMPILE_WARM = 23
    SHUTDOWN = 24
    DETECT = 25
    RESTART = 26
    RESTART_FAILS = 27
    OFFENDER = 28
    JOB_ARRIVAL = 29
    DOMAIN = 30
    REPAIR = 31
    CAUSE_REPAIR = 32
    REGROUP = 33


def stream(seed: int, number: int, cause: Cause, entity: int = 0) -> np.random.Generator:
    """The generator of one cause (and entity of it) in one replication or cohort."""
    sequence = np.random.SeedSequence(seed, spawn_key=(number, int(cause), entity))
    return np.random.Generator(np.random.PCG64(sequence))


Sampler: TypeAlias = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


class CohortDraws:
    """Numbers of one cause for the replications of a cohort, a row each.

    `sample(rng, size)` draws an array of shape `size`. Columns are drawn when they are needed, for
    all rows at once: what a row holds depends neither on the others nor on who asks for what.
    """

    _LEAST = 8

    def __init__(
        self,
        sample: Sampler,
        seed: int,
        cohort: int,
        cause: Cause,
        entity: int = 0,
    ) -> None:
        self._sample = sample
        self._key, self._entity = (seed, cohort, cause), entity
        self._rng: np.random.Generator | None = None
        self._drawn = np.empty((COHORT, 0))

    def upto(self, columns: int) -> NDArray[np.float64]:
        """At least so many columns, shape (COHORT, >= columns)."""
        while self._drawn.shape[1] < columns:
            self._rng = self._rng or stream(*self._key, self._entity)
            # Doubling keeps the number of calls small.
            more = self._sample(self._rng, (COHORT, max(self._LEAST, self._drawn.shape[1])))
            self._drawn = np.concatenate([self._drawn, more], axis=1)
        return self._drawn
