"""Durations, some of them cut short by the end of the observation."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cprsim.errors import LogError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaled:
    """Durations of a sample divided by their mean, so that fitting never meets a unit.

    `censored` are distinct, each with its count: a watch often ends for many at one time.
    """

    failed: Floats
    censored: Floats
    counts: Floats
    unit_s: float

    @property
    def exposure(self) -> float:
        """All durations together."""
        return float(self.failed.sum() + np.sum(self.counts * self.censored))


@dataclass(frozen=True, eq=False)
class Sample:
    """Durations until a failure, or until one stopped watching for it.

    Parameters
    ----------
    durations_s
        How long each one lasted, seconds, > 0, shape (n,).
    observed
        Whether it ended in a failure; False = right-censored: it would have lasted longer.

    Raises
    ------
    LogError
        If there is no duration, one isn't positive and finite, or the lengths differ.

    Notes
    -----
    The arrays are read-only copies. Samples compare by identity: arrays have no single truth value.
    """

    durations_s: Floats
    observed: NDArray[np.bool_]

    def __post_init__(self) -> None:
        durations = np.array(self.durations_s, dtype=np.float64)
        observed = np.array(self.observed)
        _check(durations, observed)
        for name, array in (("durations_s", durations), ("observed", observed)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def complete(cls, durations_s: ArrayLike) -> Self:
        """A sample of which every duration (seconds) ended in a failure."""
        durations = np.asarray(durations_s, dtype=np.float64)
        return cls(durations, np.ones(durations.shape, dtype=np.bool_))

    @property
    def n(self) -> int:
        """How many durations there are, censored ones included."""
        return len(self.durations_s)

    @property
    def failures(self) -> int:
        """How many durations ended in a failure: the honest size of the sample."""
        return int(np.count_nonzero(self.observed))

    @property
    def censored(self) -> int:
        """How many durations were cut short."""
        return self.n - self.failures

    @property
    def mean_s(self) -> float:
        """Mean of the durations that ended in a failure, seconds; nan where none did.

        Too short where others are censored, since long durations are the likelier to be cut;
        `mtbf_s` isn't.
        """
        return _mean(self.durations_s[self.observed]) if self.failures else np.nan

    @property
    def mtbf_s(self) -> float:
        """Time watched for each failure, seconds: the mean of the exponential law that fits."""
        if not self.failures:
            return np.inf
        return _mean(self.durations_s) * (self.n / self.failures)

    def scaled(self) -> Scaled:
        """Durations in units of their own mean (censored ones included), and that mean."""
        unit_s = _mean(self.durations_s)
        # Durations too short for a float beside their mean are as short as one can be.
        shares = np.maximum(self.durations_s / unit_s, np.finfo(np.float64).tiny)
        censored, counts = np.unique(shares[~self.observed], return_counts=True)
        return Scaled(shares[self.observed], censored, counts.astype(np.float64), unit_s)


def _mean(values: Floats) -> float:
    """Mean whose sum can't overflow."""
    largest = float(values.max())
    return largest * float(np.mean(values / largest))


def _check(durations: Floats, observed: NDArray[np.bool_]) -> None:
    if durations.ndim != 1 or durations.shape != observed.shape:
        raise LogError(
            f"durations_s has shape {durations.shape}, observed {observed.shape}; "
            "they must be two lists of the same length"
        )
    if observed.dtype != np.bool_:
        raise LogError(f"observed holds {observed.dtype}; it takes True and False")
    if not len(durations):
        raise LogError("there is no duration to fit a law to")
    bad = ~((durations > 0) & (durations < np.inf))
    if bad.any():
        where = int(np.argmax(bad))
        raise LogError(
            f"durations_s[{where}] is {durations[where]:g}; durations are finite and longer than "
            "0 s (drop the gaps between simultaneous failures, or merge those failures)"
        )
