"""Which rows of a shard differ from what its checkpoints hold."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.actions import Since


class ModifiedRows:
    """Of each row, the step that updated it last.

    Steps in the place of a bitmap for each checkpoint: a save that turns out void leaves nothing to
    be put right, and any checkpoint may be built on. A checkpoint of step s has all steps before s
    and none after, so rows are modified since it where the last is s or later.
    """

    def __init__(self, rows: int) -> None:
        self._last = np.full(rows, -1, np.int32)
        # Of checkpoints that saves may build on, the step from which rows differ from the baseline.
        self._baselines = {0: 0}

    def note(self, step: int, ids: NDArray[np.int64] | slice) -> None:
        """These rows were updated by that step."""
        self._last[ids] = step

    def select(
        self, step: int, since: Since | None, returns_to: Sequence[int]
    ) -> NDArray[np.int64] | None:
        """The rows of a save at that step; None for all.

        `returns_to`: the checkpoint that is usable, and those under way.
        """
        usable, *under_way = returns_to
        on = max(each for each in self._baselines if each <= usable)
        kept = {on, *under_way}
        self._baselines = {each: it for each, it in self._baselines.items() if each in kept}
        baseline = self._baselines[on] if since is not None else step
        self._baselines[step] = baseline
        if since is None:
            return None
        return np.flatnonzero(self._last >= (on if since == "save" else baseline))

    def return_to(self, step: int, changed: NDArray[np.int64]) -> None:
        """The rows are those of a checkpoint again, which differs in these from its baseline."""
        self._last.fill(-1)
        self._last[changed] = step - 1
        self._baselines = {step: 0}  # when it was is not known, and all that is noted is since
