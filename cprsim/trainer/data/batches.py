"""What a trainer trains on."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Batch(NamedTuple):
    """Samples: `dense` (B, d), `sparse` (B, tables), a row of each table, and `labels` (B,)."""

    dense: NDArray[np.float32]
    sparse: NDArray[np.int64]
    labels: NDArray[np.float32]


class Batches(Protocol):
    """Batches by number: each is a function of the number alone, in whatever process it is asked.

    So a trainer that has returned to an earlier step sees the same samples again.
    """

    def batch(self, step: int) -> Batch:
        """The batch of that step, from 0; the same each time."""
