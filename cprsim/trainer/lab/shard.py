"""The state of a process: parameters with their Adagrad state, and the rows of a server."""

import torch
from torch import Tensor

#: Largest absolute value that a number of an embedding row starts with. Chosen: rows of 16 numbers
#: then start shorter than the output of the bottom MLP.
SPREAD = 0.05
#: Keeps a gradient of 0 from being divided by 0, as in `torch.optim.Adagrad`.
EPSILON = 1e-10


class Parameters:
    """Weights, shape (rows, ...), and the optimiser state of each row, shape (rows,)."""

    def __init__(self, weights: Tensor, squares: Tensor) -> None:
        self.weights = weights
        self.squares = squares

    def __len__(self) -> int:
        return len(self.weights)


class Shard(Parameters):
    """Rows and their optimiser state; not safe for threads.

    `rows`, `dim`: how many rows, and how many float32 numbers each has. `seed`: of the initial
    rows, which are uniform between -`spread` and `spread`. `spread`: largest absolute value of an
    initial number. `learning_rate`: of Adagrad.

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
