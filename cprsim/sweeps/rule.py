"""How many replications a point gets, and in which blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.summaries import half_width


@dataclass(frozen=True)
class Rule:
    """So many replications, or until the mean overheads are known well enough.

    Parameters
    ----------
    replications
        At each point; with `half_width`, at most.
    half_width
        Relative half-width that the 95 % interval of every policy's mean overhead must reach. It
        is looked at after each block, in order, so that it says the same whoever computed them.
    block
        Replications of one task.
    """

    replications: int
    half_width: float | None
    block: int

    def blocks(self) -> Iterator[range]:
        """Numbers of the replications of each block."""
        return map(self._from, range(0, self.replications, self.block))

    def next_block(self, done: Sequence[NDArray[np.float64]]) -> range | None:
        """Return the block after those whose overheads are given, or None if they are enough.

        Overheads have the shape (policies, replications). Those of a policy that failed, where some
        are not a number, are always enough.
        """
        if self.half_width is not None and done:
            overheads = np.concatenate(done, axis=1)
            played = overheads[~np.isnan(overheads).any(axis=1)]
            width = self.half_width * np.abs(played.mean(axis=1))
            if np.all(half_width(played) <= width):
                return None
        start = len(done) * self.block
        return self._from(start) if start < self.replications else None

    def _from(self, start: int) -> range:
        return range(start, min(start + self.block, self.replications))
