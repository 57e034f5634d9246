"""What trackers of rows cost a batch, beside its lookup and update, and what a save costs them."""

import statistics
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.trackers import MFU, SCAR, SSU, Tracker

_ROWS, _DIM = 10_000_000, 16
_IDS = (512, 26)
_BATCHES = 100


def per_batch() -> str:
    """`observe` of 512 x 26 ids, Zipf 1.05 over 10 M rows, against looking up and updating them."""
    table, batches = _table(), _batches()
    gradient = np.full((batches[0].size, _DIM), 0.01, dtype=np.float32)
    return "\n".join(
        _row(f"{name}.observe, 512 x 26 ids (lookup + SGD)", 1e6, "us", *times)
        for name, tracker in _trackers(table)
        for times in [_beside_training(tracker, table, batches, gradient)]
    )


def per_save() -> str:
    """`select` and `saved` of 1/8 of 10 M touched rows, against gathering the rows selected."""
    table = _table()
    return "\n".join(
        _row(f"{name}, save of {rows:,} rows (gather them)", 1e3, "ms", *times)
        for name, tracker in _trackers(table)
        for rows, *times in [_save(tracker, table)]
    )


def _beside_training(
    tracker: Tracker,
    table: NDArray[np.float32],
    batches: list[NDArray[np.int64]],
    gradient: NDArray[np.float32],
) -> tuple[float, float]:
    """Mean seconds of `observe` and of training, in turns: SSU's batches are not alike."""
    observing, training = [], []
    for ids in batches:
        start = time.perf_counter()
        np.take(table, ids, axis=0)
        np.subtract.at(table, ids.reshape(-1), gradient)
        trained = time.perf_counter()
        tracker.observe(ids)
        observing.append(time.perf_counter() - trained)
        training.append(trained - start)
    return _typical(observing), _typical(training)


def _typical(seconds: list[float]) -> float:
    """The mean without the slowest tenth, which are the machine's."""
    return statistics.mean(sorted(seconds)[: len(seconds) * 9 // 10])


def _save(tracker: Tracker, table: NDArray[np.float32]) -> tuple[int, float, float]:
    """How many rows were selected, seconds for that, and for gathering them."""
    rng = np.random.default_rng(1)
    for touched in np.split(rng.integers(_ROWS, size=_ROWS), 10):
        np.add.at(table, touched, np.float32(1))
        tracker.observe(touched)
    start = time.perf_counter()
    rows = tracker.select(_ROWS // 8)
    tracker.saved(rows)
    done = time.perf_counter()
    np.take(table, rows, axis=0)
    return len(rows), done - start, time.perf_counter() - done


def _trackers(table: NDArray[np.float32]) -> Iterator[tuple[str, Tracker]]:
    """One at a time: SCAR's copy is as large as the table."""
    yield "MFU", MFU(_ROWS)
    yield "SSU", SSU(_ROWS, _ROWS // 8)
    yield "SSU (full)", SSU(_ROWS, _ROWS // 1000)
    yield "SCAR", SCAR(table)


def _table() -> NDArray[np.float32]:
    return np.random.default_rng(0).random((_ROWS, _DIM), dtype=np.float32)


def _batches() -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(2)
    share = np.cumsum(np.arange(1, _ROWS + 1) ** -1.05)
    rows = rng.permutation(_ROWS)  # popular rows stand anywhere in the table
    return [rows[np.searchsorted(share, share[-1] * rng.random(_IDS))] for _ in range(_BATCHES)]


def _row(what: str, per_s: float, unit: str, ours: float, theirs: float) -> str:
    return (
        f"{what:<58} {per_s * ours:>9,.0f} {unit} {per_s * theirs:>9,.0f} {unit} "
        f"{ours / theirs:>7.3f}"
    )
