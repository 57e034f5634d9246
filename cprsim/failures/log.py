"""A failure log: which node failed when, over which time it was watched."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError


@dataclass(frozen=True, eq=False)
class FailureLog:
    """Failures in the order of their times, watched over [`start_s`, `start_s + span_s`].

    Parameters
    ----------
    times_s
        When each failure struck, seconds, ascending (ties allowed), shape (n,).
    nodes
        Which node failed, its index from 0, shape (n,).
    start_s
        When the observation starts, on the clock of `times_s`.
    span_s
        How long the observation lasts, seconds.
    kinds
        `"parameter_server"` or `"trainer"` for each failure, or None where the log has no kinds.
    population
        How many nodes the system has, failed ones or not; None where the log doesn't tell.
    dropped
        Why rows of the file were left out, and how many for each reason.

    Notes
    -----
    The arrays are read-only copies. Logs compare by identity: arrays have no single truth value.
    """

    times_s: NDArray[np.float64]
    nodes: NDArray[np.int64]
    start_s: float
    span_s: float
    kinds: tuple[str, ...] | None = None
    population: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Copies, so that freezing them doesn't freeze the caller's arrays.
        times = np.array(self.times_s, dtype=np.float64)
        nodes = np.array(self.nodes, dtype=np.int64)
        for name, array in (("times_s", times), ("nodes", nodes)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        lengths = {len(times), len(nodes), len(times if self.kinds is None else self.kinds)}
        if len(lengths) > 1:
            raise LogError("times_s, nodes and kinds of a failure log must have the same length")
        if np.any(np.diff(times) < 0):
            raise LogError("times_s of a failure log must be in order")

    def __len__(self) -> int:
        return len(self.times_s)

    def window(self, first_share: float, last_share: float) -> "FailureLog":
        """Part of the log, on a clock that starts at 0 where the window does.

        Parameters
        ----------
        first_share, last_share
            Where the window starts and ends, as shares of the time from the first failure to the
            last: 0.5 and 1 take the second half of a system's life.

        Raises
        ------
        LogError
            If the shares aren't 0 <= first < last <= 1, or no failure lies between them.

        Notes
        -----
        A failure at the very end belongs to the next window, so that windows that meet share
        none; the last failure, which has no next window, belongs to the one that ends at 1.
        `dropped` stays what it is for the whole file.
        """
        if not 0 <= first_share < last_share <= 1:
            raise LogError(
                f"window is {first_share:g}:{last_share:g}; "
                "it needs two shares from 0 to 1, the smaller one first"
            )
        start, end = self._at(first_share), self._at(last_share)
        inside = (self.times_s >= start) & ((self.times_s < end) | (last_share == 1))
        chosen = np.flatnonzero(inside)
        if not len(chosen):
            raise LogError(f"window {first_share:g}:{last_share:g} holds no failure")
        return replace(
            self,
            times_s=self.times_s[chosen] - start,
            nodes=self.nodes[chosen],
            start_s=0.0,
            span_s=end - start,
            kinds=None if self.kinds is None else tuple(self.kinds[row] for row in chosen),
        )

    def _at(self, share: float) -> float:
        """Time at a share of the way from the first failure to the last, seconds."""
        if not len(self):
            return 0.0
        first, last = float(self.times_s[0]), float(self.times_s[-1])
        # first + 1 x (last - first) can round to less than last, which would cut the last failure.
        return last if share == 1 else first + share * (last - first)
