"""A shard as a server holds it: with how far it has come, its own or a copy."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.trainer.members.modified import ModifiedRows
from cprsim.trainer.members.parameters import Arrays
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.trackers import ShardTracker
from cprsim.trainer.members.wire import Message


class ShardState:
    """Rows that are looked up and updated.

    Attributes
    ----------
    tracker
        Takes note of what is updated, if there is one.
    modified
        Which rows differ from checkpoints, where that is asked for.
    """

    def __init__(self, shard: Shard, trainers: int = 1) -> None:
        self.shard = shard
        # Of each trainer, the first step whose updates are not in the rows.
        self._applied = [0] * trainers
        self.tracker: ShardTracker | None = None
        self.modified: ModifiedRows | None = None
        self._marks: list[NDArray[np.bool_]] = []

    @property
    def applied(self) -> int:
        """Steps whose updates are in the rows."""
        return min(self._applied)

    def return_to(self, step: int) -> None:
        """The rows hold the steps before that one, and no others."""
        self._applied = [step] * len(self._applied)

    def lookup(self, ids: Tensor | None) -> Tensor:
        """Copies of rows, or of all of them."""
        return self.shard.weights.clone() if ids is None else self.shard.lookup(ids)

    def update_all(self, step: int, gradients: Tensor) -> None:
        """Apply the update of a step to all rows, as `update` does to some."""
        if self._has(step):
            return
        self.shard.update_all(gradients)
        if self.modified is not None:
            self.modified.note(step, slice(None))
        self._done(step)

    def update(self, step: int, ids: Tensor, times: Tensor, gradients: Tensor) -> None:
        """Apply the update of a step. What is in the rows already is not."""
        if self._has(step):
            return
        self.shard.update(ids, gradients)
        if self.tracker is not None:
            self.tracker.note(ids, times)
        if self.modified is not None:
            self.modified.note(step, ids.numpy())
        for marks in self._marks:
            marks[ids.numpy()] = True
        self._done(step)

    def update_by(self, message: Message) -> None:
        """Apply the update that a message has: of some rows, or of all."""
        *which, last = message.parts
        gradients = tensor(last, np.float32).view(-1, self.shard.weights.shape[1])
        if which:
            ids, times = which
            given = tensor(ids, np.int64), tensor(times, np.int32)
            self.update(message.step, *given, gradients)
        else:
            self.update_all(message.step, gradients)

    def _has(self, step: int) -> bool:
        # Each trainer's steps come in order, over one connection at a time. So a number for each
        # trainer tells what is in the rows, and an update that is pushed again, after a server's
        # death, is passed over wherever it has arrived before.
        return step < self._applied[step % len(self._applied)]

    def _done(self, step: int) -> None:
        self._applied[step % len(self._applied)] = step + 1

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
        self.shard.weights[where] = weights.view(-1, self.shard.weights.shape[1])
        self.shard.squares[where] = squares
        if self.modified is not None:  # no checkpoint of this shard's is known to have them
            self.modified.note(applied, slice(None) if ids is None else ids)
        self.return_to(applied)


def tensor(part: bytearray, kind: type[np.generic]) -> Tensor:
    """One that was sent."""
    return torch.from_numpy(np.frombuffer(part, kind))
