"""The embedding rows of one server, and row-wise Adagrad."""

import torch
from torch import Tensor

from cprsim.trainer.learned import EPSILON, Learned


class Shard(Learned):
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

    def update(self, ids: Tensor, gradients: Tensor, times: Tensor) -> None:
        """One step of Adagrad on distinct rows; `gradients` has shape (ids, dim).

        `times`: how often each was accessed, shape (ids,), int32, for a shard that counts that.
        """
        squares = self._add(ids, gradients.square().mean(dim=1), times)
        steps = gradients * (-self._rate / (squares.sqrt() + EPSILON)).unsqueeze(1)
        self.weights.index_add_(0, ids, steps)

    def _add(self, ids: Tensor, squares: Tensor, times: Tensor) -> Tensor:  # noqa: ARG002
        """Add to the optimiser state of these rows; returns what it is then."""
        squares = squares.add_(self.squares.index_select(0, ids))
        self.squares.index_copy_(0, ids, squares)
        return squares


class CountingShard(Shard):
    """Rows with their optimiser state, and a counter of accesses beside that of each row.

    Both are 4 bytes and lie side by side, so that an update, which has to fetch the one from
    memory and write it back, does the same to the other at almost no cost. Counters elsewhere are
    as many more places in memory to wait for.

    Attributes
    ----------
    counts
        A view of the counters, shape (rows,), int32. They wrap around.
    """

    def __init__(self, rows: int, dim: int, seed: int, spread: float, learning_rate: float) -> None:
        super().__init__(rows, dim, seed, spread, learning_rate)
        state = torch.zeros((rows, 2))
        self._both = state.view(torch.int64).view(rows)
        self.squares, self.counts = _squares(self._both), _counts(self._both)

    def _add(self, ids: Tensor, squares: Tensor, times: Tensor) -> Tensor:
        both = self._both.index_select(0, ids)
        _counts(both).add_(times)
        squares = _squares(both).add_(squares)
        self._both.index_copy_(0, ids, both)
        return squares


def _squares(both: Tensor) -> Tensor:
    return both.view(torch.float32)[::2]


def _counts(both: Tensor) -> Tensor:
    return both.view(torch.int32)[1::2]
