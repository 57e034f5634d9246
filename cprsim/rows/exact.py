"""What saving by priority loses, played row by row with a tracker, as a trainer would use it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.rows.lost import LostShare
from cprsim.rows.meanfield import rows_per_save
from cprsim.rows.popularity import Popularity
from cprsim.rows.trackers.contract import Tracker

#: Rows whose accesses are drawn together, so that temporaries stay small beside the table.
_CHUNK = 1 << 20


def simulate(
    popularity: Popularity,
    tracker: Tracker,
    *,
    updates: float,
    fraction: float,
    saves: int,
    seed: int,
    batch: int | None = None,
    table: NDArray[np.floating[Any]] | None = None,
) -> LostShare:
    """Lost share before and after each save of the rows that a tracker selects.

    Row numbers are dealt out at random. Between saves every row is accessed a Poisson number of
    times; each access is an update of it, lost until the row is saved. A save of all rows needs no
    tracker, and takes them whatever it selects.

    Parameters
    ----------
    popularity
        Of the rows; each is a row here, so a thousand million of them don't fit.
    tracker
        A new one for so many rows.
    updates
        Accesses to the table in one interval, expected.
    fraction
        Share of the rows that a save takes, and of the interval between saves.
    saves
        How many saves to play.
    seed
        Of row numbers and accesses.
    batch
        Accesses that the tracker observes together, in random order; without it all those between
        two saves come in a few pieces and in order of rows, which is quicker, and all the same to
        trackers that count.
    table
        The live table that the tracker looks at, shape (rows,): each update adds 1 to its row.

    Returns
    -------
    LostShare
        In units of `updates`. Its scatter is that of Poisson numbers.
    """
    if batch is not None and batch < 1:
        raise UsageError(f"batch is {batch}; it must be 1 or more")
    rng = np.random.default_rng(seed)
    mean = popularity.expand(np.float32) * np.float32(updates * fraction)
    rng.shuffle(mean)
    k = rows_per_save(len(mean), fraction)
    lost = np.zeros(len(mean), dtype=np.int32)
    before, after = np.empty(saves), np.empty(saves)
    for save in range(saves):
        drawn = _accesses(rng, mean, lost, table)
        for ids in drawn if batch is None else _batches(rng, drawn, batch):
            tracker.observe(ids)
        before[save] = lost.sum(dtype=np.int64)
        rows = tracker.select(k) if k < len(mean) else np.arange(k)
        tracker.saved(rows)
        lost[rows] = 0
        after[save] = lost.sum(dtype=np.int64)
    return LostShare(fraction, before / updates, after / updates)


def _accesses(
    rng: np.random.Generator,
    mean: NDArray[np.float32],
    lost: NDArray[np.int32],
    table: NDArray[np.floating[Any]] | None,
) -> Iterator[NDArray[np.int64]]:
    """Rows accessed between two saves, in order, a piece at a time; each access is done here."""
    for start in range(0, len(mean), _CHUNK):
        piece = slice(start, start + _CHUNK)
        counts = rng.poisson(mean[piece])
        lost[piece] += counts.astype(np.int32)
        if table is not None:
            table[piece] += counts
        touched = np.flatnonzero(counts)
        yield np.repeat(touched + start, counts[touched])


def _batches(
    rng: np.random.Generator, drawn: Iterator[NDArray[np.int64]], batch: int
) -> Iterator[NDArray[np.int64]]:
    """The same accesses in random order, `batch` at a time."""
    ids = np.concatenate([piece.astype(np.uint32) for piece in drawn])
    rng.shuffle(ids)
    for start in range(0, len(ids), batch):
        yield ids[start : start + batch].astype(np.int64)
