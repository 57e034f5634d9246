"""Durations, some of them cut short by the end of the observation, or seen from a later age on."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cprsim.errors import LogError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Scaled:
    """Durations of a sample divided by their mean, so that fitting never meets a unit.

    A likelihood multiplies the density at each of `failed` by the survival at each of `censored`
    to the power of its count. Censored durations count once each, and ages at which lives came
    into sight minus once: what came later is the chance of lasting on from there. Ages are
    distinct, since a watch often begins or ends for many at one time.
    """

    failed: Floats
    censored: Floats
    counts: Floats
    unit_s: float

    @property
    def exposure(self) -> float:
        """Time watched of all durations together."""
        return float(self.failed.sum() + np.sum(self.counts * self.censored))


@dataclass(frozen=True, eq=False)
class Sample:
    """Durations until a failure, or until one stopped watching for it.

    Raises `LogError` if a duration isn't positive and finite. The arrays are read-only copies.
    Samples compare by identity: arrays have no single truth value.
    """

    #: How long each one lasted, seconds, > 0, shape (n,).
    durations_s: Floats
    #: Whether it ended in a failure; False = right-censored: it would have lasted longer.
    observed: NDArray[np.bool_]
    #: The age from which each was watched, seconds, from 0 to below its duration, shape (n,) or one
    #: for all: a life that ended before it wouldn't be in the sample (left truncation).
    entered_s: Floats = field(default_factory=lambda: np.zeros(()))

    def __post_init__(self) -> None:
        durations = np.array(self.durations_s, dtype=np.float64)
        observed = np.array(self.observed)
        entered = np.array(self.entered_s, dtype=np.float64)
        if not entered.ndim:
            entered = np.full(durations.shape, entered)
        bad = ~((durations > 0) & (durations < np.inf))
        if bad.any():
            where = int(np.argmax(bad))
            raise LogError(
                f"durations_s[{where}] is {durations[where]:g}; durations are finite and longer "
                "than 0 s (drop the gaps between simultaneous failures, or merge those failures)"
            )
        arrays = {"durations_s": durations, "observed": observed, "entered_s": entered}
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def complete(cls, durations_s: ArrayLike) -> Self:
        """A sample of which every duration (seconds) ended in a failure."""
        durations = np.asarray(durations_s, dtype=np.float64)
        return cls(durations, np.ones(durations.shape, dtype=np.bool_))

    @property
    def n(self) -> int:
        """Number of durations, censored ones included."""
        return len(self.durations_s)

    @property
    def failures(self) -> int:
        """Number of durations that ended in a failure: the honest size of the sample."""
        return int(np.count_nonzero(self.observed))

    @property
    def censored(self) -> int:
        """Number of durations that were cut short."""
        return self.n - self.failures

    @property
    def late(self) -> int:
        """Number of durations that were watched from a later age than 0."""
        return int(np.count_nonzero(self.entered_s))

    @property
    def mtbf_s(self) -> float:
        """Time watched for each failure, seconds: the mean of the exponential law that fits."""
        if not self.failures:
            return np.inf
        return _mean(self.durations_s - self.entered_s) * (self.n / self.failures)

    def at_risk(self, ages_s: Floats) -> NDArray[np.int64]:
        """Count the durations that were watched just before each of these ages (seconds).

        One that comes into sight at an age isn't, one that is cut short at it is.
        """
        came, went = (np.sort(each) for each in (self.entered_s, self.durations_s))
        return np.searchsorted(came, ages_s) - np.searchsorted(went, ages_s)

    def scaled(self) -> Scaled:
        """Durations in units of their own mean (censored ones included), and that mean."""
        unit_s = _mean(self.durations_s)
        # Durations too short for a float in units of their mean are as short as one can be.
        shares = np.maximum(self.durations_s / unit_s, np.finfo(np.float64).tiny)
        cut, came = shares[~self.observed], self.entered_s[self.entered_s > 0] / unit_s
        ages, which = np.unique(np.concatenate((cut, came)), return_inverse=True)
        counts = np.bincount(which, np.repeat((1.0, -1.0), (len(cut), len(came))), len(ages))
        return Scaled(shares[self.observed], ages[counts != 0], counts[counts != 0], unit_s)


def _mean(values: Floats) -> float:
    """Mean whose sum can't overflow."""
    largest = float(values.max())
    return largest * float(np.mean(values / largest))
