"""The embedding rows of one server, its own or a copy: row-wise Adagrad, and how far they are."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.contract.actions import Since
from cprsim.trainer.members.parameters import EPSILON, Arrays, Parameters
from cprsim.trainer.members.trackers import ShardTracker
from cprsim.trainer.members.wire import Message


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


class Shard(Parameters):
    """Rows and their optimiser state; not safe for threads.

    Parameters
    ----------
    rows, dim
        How many rows, and how many float32 numbers each has.
    seed
        Of the initial rows, which are uniform between -`spread` and `spread`.
    spread
        Largest absolute value of an initial number.
    learning_rate
        Of Adagrad.

    Notes
    -----
    Row-wise Adagrad (FBGEMM's `EXACT_ROWWISE_ADAGRAD`): one number of state a row, to which the
    mean square of the row's gradient is added. The gradient of a row is that of the whole batch.
    """

    def __init__(self, rows: int, dim: int, seed: int, spread: float, learning_rate: float) -> None:
        generator = torch.Generator().manual_seed(seed)
        weights = (torch.rand((rows, dim), generator=generator) * 2 - 1) * spread
        super().__init__(weights, torch.zeros(rows))
        self._rate = learning_rate

    def lookup(self, ids: Tensor) -> Tensor:
        """Copies of rows, shape (ids, dim)."""
        return self.weights.index_select(0, ids)

    def update(self, ids: Tensor, gradients: Tensor) -> None:
        """One step of Adagrad on distinct rows; `gradients` has shape (ids, dim)."""
        squares = self.squares.index_select(0, ids) + gradients.square().mean(dim=1)
        self.squares.index_copy_(0, ids, squares)
        steps = gradients * (-self._rate / (squares.sqrt() + EPSILON)).unsqueeze(1)
        self.weights.index_add_(0, ids, steps)


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
