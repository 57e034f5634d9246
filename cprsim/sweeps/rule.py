"""How many replications a point gets, and in which blocks."""

from collections.abc import Sequence
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

    def blocks(self) -> list[range]:
        """Numbers of the replications of each block."""
        return [
            range(i, min(i + self.block, self.replications))
            for i in range(0, self.replications, self.block)
        ]

    def is_met(self, overheads: NDArray[np.float64]) -> bool:
        """Whether overheads of shape (policies, replications) are enough."""
        if self.half_width is None or overheads.shape[1] < 2:
            return False
        means = np.abs(overheads.mean(axis=1))
        return bool(np.all(half_width(overheads) <= self.half_width * means))

    def next_block(self, done: Sequence[NDArray[np.float64]]) -> range | None:
        """The block after those whose overheads are given, or None if they are enough."""
        blocks = self.blocks()
        if len(done) == len(blocks) or (done and self.is_met(np.concatenate(done, axis=1))):
            return None
        return blocks[len(done)]
