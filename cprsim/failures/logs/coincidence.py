"""Whether nodes fail together more often than independent ones would."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.failures.hit import none_of
from cprsim.failures.logs.log import FailureLog

#: Failures of different nodes at most this far apart are taken for one event, s.
CLOSE_S = 60.0
#: Failures an event beyond which a law of single nodes makes a job fail too often.
MOST_PER_EVENT = 1.1
_FEWEST_BEYOND = 3.0  # standard errors of the number of independent events


@dataclass(frozen=True)
class Coincidence:
    """How many failures come together.

    Parameters
    ----------
    failures, events
        Failures, and how many they are if those that follow another closely are one with it.
    independent
        Events that as many failures make at random, independent instants.
    within_s
        How close that is, seconds.
    """

    failures: int
    events: int
    independent: float
    within_s: float

    @property
    def together(self) -> bool:
        """Whether a job fails markedly less often than its nodes one by one would make it."""
        short = self.independent - self.events
        beyond_chance = short > _FEWEST_BEYOND * math.sqrt(max(self.failures - self.independent, 1))
        return beyond_chance and self.independent > MOST_PER_EVENT * self.events


def coincidence(
    log: FailureLog, alone: NDArray[np.bool_] | None = None, within_s: float = CLOSE_S
) -> Coincidence:
    """How many failures of a log come together; of those that are `alone`, shape (n,), if given.

    At random instants a failure follows the one before within w with probability 1 - exp(-r w), r
    being the rate of all of them: each of the others begins an event.
    """
    times = log.times_s if alone is None else log.times_s[alone]
    count = len(times)
    events = int(np.count_nonzero(np.diff(times, prepend=-np.inf) > within_s))
    rate = count / log.watched_s if log.watched_s > 0 else math.inf
    independent = 1 + (count - 1) * math.exp(-rate * within_s) if count else 0.0
    return Coincidence(count, events, independent, within_s)


def sizes(log: FailureLog) -> Counter[int]:
    """How many nodes fail at one instant, and how often."""
    pairs = np.unique(np.stack([log.times_s, log.machines.astype(np.float64)]), axis=1)
    _, counts = np.unique(pairs[0], return_counts=True)
    return Counter(counts.tolist())


def failures_of_job(at_once: Mapping[int, int], nodes: int, system: int) -> float:
    """Expected failures that hit at least one of `nodes` random ones of `system` nodes.

    `at_once`: how many nodes of the system fail at one instant, and how often.
    """
    return math.fsum(count * (1 - none_of(nodes, system, size)) for size, count in at_once.items())
