"""Time of trackers of tensors a batch, as a share of looking its rows up and updating them."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.contract import Tracking
from cprsim.job.presets import PRESETS
from cprsim.trainer.data import Planted
from cprsim.trainer.hooks.trackers import RowTrackers
from cprsim.trainer.hooks.updates import UpdateCount
from cprsim.trainer.lab.model import Placement, Shard, Uses

_DIM, _RATE, _FRACTION = 16, 0.05, 1 / 8
#: Batches that are averaged: an SSU looks at one of two.
_ROUND = 16
#: Batches that are seen first, and batches that are measured: all of them new.
_WARM, _MEASURED = 2 * _ROUND, 8 * _ROUND
#: Rows in tables as unequal as those of Criteo Kaggle, with production skew, the 7 largest tracked.
ROWS = (10_000, 1_000_000, 10_000_000)
BATCHES = (128, 512, 2048)
#: A counter for each row, which gets the distinct rows of a batch at once.
COUNTED_AT_ONCE = "counted at once"


def rows() -> Iterator[tuple[str, ...]]:
    """Yield each size, batch and tracker: CPU microseconds of a batch, and three shares.

    They are shares of lookup and update: of each id as often as it occurs, with plain SGD, in one
    process; of the distinct rows, by a trainer that finds them and adds up their gradients and a
    server with row-wise Adagrad; and of the server's part of that.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as on a server
    try:
        for count in ROWS:
            yield from _rows(count)
    finally:
        torch.set_num_threads(threads)


def _rows(count: int) -> Iterator[tuple[str, ...]]:
    whole = PRESETS["criteo-kaggle"].rows
    tables = tuple(max(3, each * count // sum(whole)) for each in whole)
    placement = Placement(tables, servers=1)
    tracked = [placement.range_of(each, 0) for each in sorted(np.argsort(tables)[-7:])]
    shard = Shard(sum(tables), _DIM, 0, 0.01, _RATE)
    for size in BATCHES:
        steps = _WARM + _MEASURED
        data = Planted(size * steps, size, size, rows=tables, dense=13)
        made = _Measured(placement, shard, tracked)
        for step in range(steps):
            made.measure(data.batch(step).sparse)
        times = {name: _typical(each[_WARM:]) for name, each in made.us.items()}
        server_us = times["server"]
        of_update = (times["every"], times["trainer"] + server_us, server_us)
        for name in ("MFU", COUNTED_AT_ONCE, "SSU", "bare scatter_add_"):
            shares = (f"{times[name] / each:.1%}" for each in of_update)
            yield str(count), str(size), name, f"{times[name]:.0f}", *shares


def _typical(us: Sequence[float]) -> float:
    """Return the median of means over some batches, which are not alike."""
    return statistics.median(
        statistics.mean(us[first : first + _ROUND]) for first in range(0, len(us), _ROUND)
    )


class _Measured:
    """Lookups, updates and trackers of batches; `us`: CPU time of each, by batch."""

    def __init__(self, placement: Placement, shard: Shard, tracked: list[range]) -> None:
        self._placement, self._shard = placement, shard
        self._mfu = UpdateCount(len(shard))  # whose counts MFU chooses by
        of_rows = dict.fromkeys(tracked, shard.weights)
        self._ssu = RowTrackers(of_rows, Tracking("ssu", _FRACTION, 2), 0, self._mfu.since)
        self._counts, self._of_rows = torch.zeros((2, len(shard)), dtype=torch.int32)
        self.us: dict[str, list[float]] = defaultdict(list)

    def measure(self, sparse: NDArray[np.int64]) -> None:
        """Measure one batch; `sparse` has shape (B, tables)."""
        ids = torch.from_numpy(self._placement.ids(sparse).reshape(-1))
        gradients = torch.full((len(ids), _DIM), 0.01)
        ones = torch.ones(len(ids), dtype=torch.int32)
        self._timed("every", lambda: self._every(ids, gradients))
        self._timed("bare scatter_add_", lambda: self._counts.scatter_add_(0, ids, ones))
        found: list[tuple[Uses, Tensor]] = []
        self._timed("trainer", lambda: found.append(self._trainers(sparse, gradients)))
        ((uses, summed),) = found
        rows, times = torch.from_numpy(uses.ids), torch.from_numpy(uses.times)
        self._timed("server", lambda: self._servers(rows, summed))
        self._timed(COUNTED_AT_ONCE, lambda: self._of_rows.index_add_(0, rows, times))
        self._timed("MFU", lambda: self._mfu.did(ids))
        self._timed("SSU", lambda: self._ssu.observe(ids))

    def _timed(self, name: str, do: Callable[[], object]) -> float:
        start = time.thread_time_ns()
        do()
        us = (time.thread_time_ns() - start) / 1e3
        self.us[name].append(us)
        return us

    def _every(self, ids: Tensor, gradients: Tensor) -> None:
        self._shard.lookup(ids)
        self._shard.weights.index_add_(0, ids, gradients * -_RATE)

    def _trainers(self, sparse: NDArray[np.int64], gradients: Tensor) -> tuple[Uses, Tensor]:
        """Return the rows of a batch, and the sums of their gradients."""
        uses = Uses(self._placement, sparse)
        summed = uses.collect(gradients)
        uses.spread(summed)  # as a trainer does with the rows that come
        return uses, summed

    def _servers(self, rows: Tensor, gradients: Tensor) -> None:
        self._shard.lookup(rows)
        self._shard.update(rows, gradients)
