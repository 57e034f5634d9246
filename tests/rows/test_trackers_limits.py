"""What trackers keep in memory, as their paper counts it, and what they refuse."""

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.rows.trackers import MFU, SCAR, SSU

# --- Memory, as the paper counts it --------------------------------------------------------------

# Rows, bytes a row, and the shares of MFU and SSU by hand: 4 bytes of 64, 256 or 512, and an eighth
# of that. The paper's ranges, 0.78-6.25 % and 0.097-0.78 %, are those from the last to the first.
MEMORY = [
    pytest.param(800_000, 64, 0.0625, 0.0078125, id="kaggle"),
    pytest.param(400_000, 256, 0.015625, 0.001953125, id="terabyte"),
    pytest.param(80_000, 512, 0.0078125, 0.0009765625, id="widest"),
]


@pytest.mark.parametrize(("rows", "row_bytes", "mfu", "ssu"), MEMORY)
def test_memory_is_what_the_paper_counts(rows: int, row_bytes: int, mfu: float, ssu: float) -> None:
    table_bytes = rows * row_bytes
    assert MFU(rows).memory_bytes / table_bytes == mfu
    tracker = SSU(rows, rows // 8)
    list_bytes = tracker.memory_bytes - rows // 8  # and a bit a row
    assert list_bytes / table_bytes == ssu


def test_scar_keeps_a_second_table() -> None:
    tracker = SCAR(np.zeros((1000, 16), dtype=np.float32))
    assert tracker.memory_bytes == 64_000 + 1000  # and a byte a row


@pytest.mark.parametrize(
    "make",
    [
        MFU,
        lambda rows: SSU(rows, rows // 8),
        lambda rows: SCAR(np.zeros((rows, 4), dtype=np.float32)),
    ],
)
def test_memory_bytes_are_all_that_is_kept(make) -> None:
    """Every array that the tracker holds, found by looking."""

    def arrays(thing: object) -> int:
        if isinstance(thing, np.ndarray):
            return thing.nbytes if thing.base is None else 0
        return sum(map(arrays, vars(thing).values())) if hasattr(thing, "__dict__") else 0

    tracker = make(8000)
    for ids in np.random.default_rng(0).integers(8000, size=(10, 50)):
        tracker.observe(ids)
        tracker.saved(tracker.select(20))
    held = arrays(tracker)
    assert held == tracker.memory_bytes or (
        isinstance(tracker, SCAR) and held - tracker._table.nbytes == tracker.memory_bytes
    )


def test_ssu_has_no_more_places_than_the_table_has_rows() -> None:
    assert SSU(16, 100).memory_bytes == 16 * 4 + 2


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: MFU(0), "rows = 0: a table has at least 1 row"),
        (lambda: SSU(0, 1), "rows = 0: a table has at least 1 row"),
        (lambda: SSU(5, 0), "capacity = 0: must be at least 1"),
        (lambda: SSU(5, 1, 0), "period = 0: must be at least 1"),
        (
            lambda: SSU(2**32 + 1, 1),
            "rows = 4294967297: ids of 4 bytes reach to 2^32 rows; split the table",
        ),
        (lambda: SCAR([1.0, 2.0]), "table is a list: give the NumPy array in use"),
        (
            lambda: SCAR(np.zeros((0, 4))),
            "table of shape (0, 4): give (rows,) or (rows, dim), not empty",
        ),
        (
            lambda: SCAR(np.zeros((1, 2, 3))),
            "table of shape (1, 2, 3): give (rows,) or (rows, dim), not empty",
        ),
        (lambda: MFU(5).select(-1), "k = -1: give how many rows to select, 0 or more"),
        (
            lambda: MFU(5).observe(np.array([0, 5, 9])),
            "row 5 is not in the table: its 5 rows are 0 to 4",
        ),
        (
            lambda: MFU(5).saved(np.array([[-2]])),
            "row -2 is not in the table: its 5 rows are 0 to 4",
        ),
        (
            lambda: MFU(5).observe(np.array([2**64 - 1], dtype=np.uint64)),
            "row 18446744073709551615 is not in the table: its 5 rows are 0 to 4",
        ),
        (
            lambda: MFU(5).observe(np.array([1.0])),
            "row ids of type float64: give integers (np.flatnonzero makes them from a mask)",
        ),
        (
            lambda: MFU(2).observe(np.array([True, False])),
            "row ids of type bool: give integers (np.flatnonzero makes them from a mask)",
        ),
    ],
)
def test_errors_say_what_is_wrong(call, text: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == text
