"""SCAR: a second copy of the table, to see how far each row has moved."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.rows.trackers.contract import RowIds, at_most, row_ids
from cprsim.rows.trackers.ranking import largest, rotating_start

#: Numbers compared together, so that temporaries are small compared with the table.
_CHUNK = 1 << 18


class SCAR:
    """Saves the rows first that have changed most since they were last saved (CPR-SCAR).

    Parameters
    ----------
    table
        The live table, shape (rows,) or (rows, dim), which is looked at and never written to. What
        it holds now counts as saved.

    Notes
    -----
    The change of a row is the L2 norm of its difference from its copy, to the precision of float32;
    a row that has become NaN counts as changed more than any other. Only rows that were observed
    are compared, so updates without a call of `observe` go unseen. `select` returns fewer than `k`
    rows where fewer have changed; ties are broken as by `MFU`.

    The paper counts the copy, 100 % of the table. To compare observed rows alone there is also a
    byte a row, and `memory_bytes` has both.

    Source: Qiao et al., ICML 2019; as CPR-SCAR in Maeng et al., MLSys 2021.
    """

    def __init__(self, table: NDArray[Any]) -> None:
        if not isinstance(table, np.ndarray):
            raise UsageError(f"table is a {type(table).__name__}: give the NumPy array in use")
        if table.ndim not in (1, 2) or table.size == 0:
            raise UsageError(
                f"table of shape {table.shape}: give (rows,) or (rows, dim), not empty"
            )
        self._table = table if table.ndim == 2 else table[:, np.newaxis]
        self._copy = self._table.copy()
        self._touched = np.zeros(len(table), dtype=bool)
        self._saves = 0

    def observe(
        self,
        rows: NDArray[np.integer[Any]],
        values: NDArray[Any] | None = None,  # noqa: ARG002  (the table itself has them)
    ) -> None:
        """Mark the rows as touched."""
        self._touched[row_ids(rows, self._touched.size)] = True

    def select(self, k: int) -> RowIds:
        """Up to `k` rows of the largest change, none of which is 0."""
        wanted = at_most(k)
        touched = np.flatnonzero(self._touched)
        start = rotating_start(self._saves, self._touched.size)
        # Floats that are not negative have the order of their bits.
        scores = self._changes(touched).view(np.int32)
        return touched[largest(scores, wanted, int(np.searchsorted(touched, start)))]

    def saved(self, rows: NDArray[np.integer[Any]]) -> None:
        """Copy these rows again."""
        ids = row_ids(rows, self._touched.size)
        for chunk in self._chunks(ids):
            self._copy[chunk] = self._table[chunk]
        self._touched[ids] = False
        self._saves += ids.size > 0

    @property
    def memory_bytes(self) -> int:
        """The copy, and a byte a row."""
        return self._copy.nbytes + self._touched.nbytes

    def _changes(self, rows: RowIds) -> NDArray[np.float32]:
        """Return how far rows are from their copies, L2."""
        changes = np.empty(rows.size, dtype=np.float32)
        at = 0
        with np.errstate(over="ignore", invalid="ignore"):  # a model may diverge
            for chunk in self._chunks(rows):
                apart = np.take(self._table, chunk, axis=0).astype(np.float64)
                apart -= np.take(self._copy, chunk, axis=0)
                changes[at : at + chunk.size] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
                at += chunk.size
        return np.abs(changes)  # of NaN too, whose sign bit would make it the smallest

    def _chunks(self, rows: RowIds) -> list[RowIds]:
        step = max(1, _CHUNK // self._table.shape[1])
        return [rows[at : at + step] for at in range(0, rows.size, step)]
