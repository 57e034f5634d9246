"""How many rows of a table change: what a checkpoint of modified rows alone has to write."""

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.popularity import Popularity

#: Log of the chance to miss a row that is never missed: finite, since 0 accesses do miss it.
_NEVER = -1e9


def modified(popularity: Popularity, accesses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected share of the rows that are touched at least once.

    `f(n) = (1/V) sum_i (1 - (1 - p_i)^n)`, exact for n independent accesses; a row has the mean
    probability of its class, which lies within 15 % of its own.

    Parameters
    ----------
    popularity
        Of the V rows.
    accesses
        Numbers n of accesses, >= 0, shape (k,).

    Returns
    -------
    NDArray
        Shares, 0 to 1, shape (k,); exactly 1 where no row can have been missed.
    """
    with np.errstate(divide="ignore"):  # a table of one row
        missed = np.maximum(np.log1p(-popularity.share), _NEVER)
    touched = -np.expm1(np.multiply.outer(accesses, missed))
    return np.asarray(touched @ popularity.rows / popularity.rows.sum())
