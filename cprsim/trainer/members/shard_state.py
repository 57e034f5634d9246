"""A shard as a server holds it: with how far it has come, its own or a copy."""

import numpy as np
import torch
from numpy.typing import NDArray

from cprsim.trainer.members.modified import ModifiedRows
from cprsim.trainer.members.parameters import Arrays
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.trackers import ShardTracker
from cprsim.trainer.members.wire import Message


class ShardState:
    """Rows that are looked up and updated.

    Attributes
    ----------
    applied
        Steps whose updates are in the rows.
    tracker
        Takes note of what is updated, if there is one.
    modified
        Which rows differ from checkpoints, where that is asked for.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.applied = 0
        self.tracker: ShardTracker | None = None
        self.modified: ModifiedRows | None = None
        self._marks: list[NDArray[np.bool_]] = []

    def update_by(self, message: Message) -> None:
        """Apply the update that a message has, unless the rows have it already."""
        step = message.step
        # Steps come in order, over one connection at a time. So an update that is pushed again,
        # after a server's death, is passed over wherever it has arrived before.
        if step < self.applied:
            return
        ids, times, gradients = map(torch.from_numpy, message.arrays)
        self.shard.update(ids, gradients)
        if self.tracker is not None:
            self.tracker.note(ids, times)
        if self.modified is not None:
            self.modified.note(step, ids.numpy())
        for marks in self._marks:
            marks[ids.numpy()] = True
        self.applied = step + 1

    # --- For who copies it while it is trained ---

    def begin_copy(self) -> tuple[int, Arrays, NDArray[np.bool_]]:
        """How far it is, all rows, and marks of those that are updated from now on."""
        marks = np.zeros(len(self.shard), dtype=bool)
        self._marks.append(marks)
        return self.applied, self.shard.arrays(), marks

    def end_copy(self, marks: NDArray[np.bool_]) -> tuple[int, NDArray[np.int64], Arrays]:
        """How far it is, and the rows that were updated since the copy began."""
        # By identity: another copy that is under way may have marked the same rows.
        self._marks = [each for each in self._marks if each is not marks]
        ids = np.flatnonzero(marks)
        return self.applied, ids, self.shard.arrays(ids)

    def become(self, applied: int, arrays: Arrays, ids: NDArray[np.int64] | None = None) -> None:
        """Take over all rows of another, or some."""
        weights, squares = (torch.from_numpy(array) for array in arrays)
        where = slice(None) if ids is None else torch.from_numpy(ids)
        self.shard.weights[where] = weights
        self.shard.squares[where] = squares
        if self.modified is not None:  # no checkpoint of this shard's is known to have them
            self.modified.note(applied, slice(None) if ids is None else ids)
        self.applied = applied
