"""Distance of rows from where they were saved if their gradients point here and there.

Gradients of a row are taken to be independent, normal and alike in size, in so many directions.
Then the steps of a row are a random walk: s updates of plain SGD lead sqrt(s) first updates away,
not s; and s updates of Adagrad after n others sqrt(H(n + s) - H(n)), H being the harmonic numbers,
not 2 (sqrt(n + s) - sqrt(n)). A row's first step of Adagrad has the same length whatever its
gradient; its place after more of them is a matter of luck, the more so the fewer the
directions are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.names import OptimizerRule

Array = NDArray[np.float64]
#: First steps of a row under Adagrad that are drawn one by one. Later ones are drawn together, as a
#: normal sum: one step hardly changes the sum of squares any more.
_SINGLE = 4


class Walk:
    """Places of a sample of rows, from where each was last saved, in first updates of `rule`.

    `size`: of the sample. `directions` that gradients have. `rng`: its own.
    """

    def __init__(
        self, rule: OptimizerRule, size: int, directions: int, rng: np.random.Generator
    ) -> None:
        self._adagrad = rule == "adagrad"
        self._rng = rng
        self._place = np.zeros((size, directions))
        self._steps = np.zeros(size, dtype=np.int64)
        self._squares = np.zeros(size)  # Adagrad's sum, over the first steps alone

    def go(self, steps: NDArray[np.int64]) -> None:
        """Have every row go so many steps, shape (size,)."""
        left = steps.copy()
        for _ in range(_SINGLE if self._adagrad else 0):
            some = np.flatnonzero((left > 0) & (self._steps < _SINGLE))
            gradients = self._normal(some)
            self._squares[some] += np.square(gradients).sum(axis=1)
            self._place[some] += gradients / np.sqrt(self._squares[some])[:, np.newaxis]
            self._steps[some] += 1
            left[some] -= 1
        some = np.flatnonzero(left)
        self._place[some] += self._normal(some) * np.sqrt(self._variance(some, left[some]))
        self._steps[some] += left[some]

    @property
    def distance(self) -> Array:
        """Return how far each row is from where it was saved, shape (size,)."""
        return np.asarray(np.sqrt(np.square(self._place).sum(axis=1)))

    def save(self, rows: NDArray[np.intp]) -> None:
        """These are saved where they are."""
        self._place[rows] = 0.0

    def renew(self, new: NDArray[np.intp], state: NDArray[np.intp]) -> None:
        """All take over the places of others; the first steps of some are to come."""
        self._place = self._place[state]
        self._steps[new], self._squares[new] = 0, 0.0

    def _normal(self, rows: NDArray[np.intp]) -> Array:
        """A gradient of each of these rows, whose mean square is 1."""
        directions = self._place.shape[1]
        return np.asarray(self._rng.standard_normal((rows.size, directions)) / directions**0.5)

    def _variance(self, rows: NDArray[np.intp], steps: NDArray[np.int64]) -> Array:
        """Return the mean square of so many steps of these rows, for each direction; a column."""
        if not self._adagrad:
            return steps[:, np.newaxis].astype(np.float64)
        # Of 1 / k for k after n up to n + s: log((n + s + 1/2) / (n + 1/2)), but for O(1 / n^2).
        middle = self._steps[rows] + 0.5
        return np.asarray(np.log1p(steps / middle)[:, np.newaxis])


def batches_met(
    accesses: NDArray[Any], batches: int | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """In how many of so many batches a row is accessed at all, by how often it is; any shape.

    What is expected of accesses that are dealt out at random, rounded at random. Without batches
    each access is a batch.
    """
    if batches is None:
        return np.asarray(accesses, dtype=np.int64)
    if batches == 1:
        return np.asarray(accesses > 0, dtype=np.int64)
    expected = -batches * np.expm1(accesses * np.log1p(-1 / batches))
    return np.asarray(np.floor(expected + rng.random(accesses.shape)), dtype=np.int64)
