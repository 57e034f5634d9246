"""The parameters of a member of the cluster: weights, and Adagrad's sums of squares."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

#: The arrays that a checkpoint holds: weights and optimiser state, one entry a row in each.
Arrays: TypeAlias = tuple[NDArray[Any], ...]

#: Keeps a gradient of 0 from being divided by 0, as in `torch.optim.Adagrad`.
EPSILON = 1e-10


class Parameters:
    """Weights, shape (rows, ...), and the optimiser state of each row, shape (rows,)."""

    def __init__(self, weights: Tensor, squares: Tensor) -> None:
        self.weights = weights
        self.squares = squares

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def size(self) -> int:
        """Bytes of all of it."""
        return int(self.weights.nbytes + self.squares.nbytes)

    def arrays(self, ids: NDArray[np.int64] | None = None) -> Arrays:
        """Copies of some rows, or of all of them."""
        weights, squares = self.weights.numpy(), self.squares.numpy()
        return (weights.copy(), squares.copy()) if ids is None else (weights[ids], squares[ids])

    def restore(self, arrays: Arrays) -> None:
        """Take over the state of all rows."""
        for mine, given in zip((self.weights, self.squares), arrays, strict=True):
            mine.numpy()[...] = given
