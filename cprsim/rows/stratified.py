"""How often rows of a sample are accessed: Poisson numbers, spread evenly over their law."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, pdtr

Array = NDArray[np.float64]
#: Expected accesses from which their law is a normal one, with the skewness of Poisson's.
_MANY = 1000.0


@dataclass(frozen=True, eq=False)
class Stratified:
    """Poisson numbers for `each` rows of every class, stratified within it and dealt out anew.

    `accesses`: the mean of a row of each class, shape (classes,).
    """

    accesses: Array
    each: int
    rng: np.random.Generator

    def counts(self) -> NDArray[np.int64]:
        """Of the accesses between two saves, class by class; shape (classes x each,)."""
        at = (np.arange(self.each) + self.rng.random((self.accesses.size, 1))) / self.each
        counts = np.empty(at.shape, dtype=np.int64)
        many = self.accesses > _MANY
        score = ndtri(np.clip(at[many], 1e-300, 1 - 1e-16))
        mean = self.accesses[many, np.newaxis]
        counts[many] = np.rint(mean + np.sqrt(mean) * score + (score**2 - 1) / 6)
        laws, starts = self._laws
        few = at[~many]
        keys = np.arange(len(few))[:, np.newaxis] + np.minimum(few, 1 - 1e-12)
        counts[~many] = np.searchsorted(laws, keys, side="right") - starts[:, np.newaxis]
        return np.asarray(self.rng.permuted(counts, axis=1).ravel())

    @cached_property
    def _laws(self) -> tuple[Array, NDArray[np.int64]]:
        """Distribution functions one after the other, each one higher, and where to count from."""
        pieces, starts, at = [], [], 0
        for number, mean in enumerate(self.accesses[self.accesses <= _MANY]):
            spread = 8 * np.sqrt(mean)
            first, end = max(0, int(mean - spread)), int(mean + spread + 20)
            law = np.minimum(pdtr(np.arange(first, end), mean), 1 - 1e-12)
            law[-1] = 1.0  # nothing beyond
            pieces.append(number + law)
            starts.append(at - first)
            at += len(law)
        return np.concatenate([*pieces, np.zeros(0)]), np.array(starts, dtype=np.int64)
