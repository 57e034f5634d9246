"""Hot swap: the bytes that a step touches."""

import numpy as np
import pytest

from cprsim.rows.model import RowModel, TableRows
from cprsim.rows.skew import Skew


def table(rows: int, skew: Skew, lookups: float = 1.0) -> TableRows:
    return TableRows(rows, skew, lookups, row_bytes=8.0, saved_bytes=12.0 * rows)


def test_rows_are_copied_once_however_often_they_are_touched():
    # Each of samples x lookups accesses finds one of the rows, of 12 B.
    model = RowModel((table(4, Skew(name="uniform"), 2.0), table(1, Skew(name="uniform"))))
    expected = 12 * 4 * (1 - 0.75**6) + 12
    assert model.touched_bytes(3.0) == pytest.approx(expected, rel=1e-12)
    assert model.touched_bytes(1e9) == 12 * 5
    assert model.touched_bytes(0.0) == 0.0


def test_touched_rows_of_a_skewed_table_one_by_one():
    # Rows of a class have its mean share, from which theirs spread by 4 %: an error of second
    # order, 0.04**2 / 2.
    rows, samples = 5000, 3000.0
    share = np.arange(1.0, rows + 1) ** -0.9
    expected = 12 * float((1 - np.exp(-samples * share / share.sum())).sum())
    model = RowModel((table(rows, Skew(zipf=0.9)),))
    assert model.touched_bytes(samples) == pytest.approx(expected, rel=8e-4)
