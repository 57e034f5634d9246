"""What trackers of tensors cost a batch, as a share of looking its rows up and updating them."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from cprsim.model_presets import PRESETS
from cprsim.trainer.data import Planted
from cprsim.trainer.shard import Shard
from cprsim.trainer.trackers import ShardTracker

_DIM, _RATE, _FRACTION = 16, 0.05, 1 / 8
#: Batches that are seen first, and batches that are measured: all of them new.
_WARM, _MEASURED = 20, 100
#: Rows in tables as unequal as those of Criteo Kaggle, with production skew, the 7 largest tracked.
ROWS = (10_000, 1_000_000, 10_000_000)
BATCHES = (128, 512, 2048)
#: Largest share of lookup and update at batch 512.
TARGETS = {"MFU": 0.03, "SSU": 0.10}


class Cost(NamedTuple):
    """CPU microseconds of a batch: of a tracker, and of three kinds of lookup and update.

    `every`: of each id as often as it occurs, with plain SGD, in one process. `whole`: of the
    distinct rows, by a trainer that finds them and adds up their gradients and a server with
    row-wise Adagrad. `server`: what of that the server does.
    """

    rows: int
    batch: int
    tracker: str
    us: float
    every_us: float
    whole_us: float
    server_us: float

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of the three kinds."""
        return self.us / self.every_us, self.us / self.whole_us, self.us / self.server_us


def main() -> None:
    """Print the table."""
    names = ("every id, SGD", "distinct, Adagrad", "server alone")
    print("\nTrackers of tensors: CPU time of a batch of 26 lookups a sample, and its share of")
    print(f"{'lookup + update:':<45}" + "".join(f"{name:>19}" for name in names))
    for cost in costs():
        shares = "".join(f"{share:>19.1%}" for share in cost.shares)
        target = f"   <= {TARGETS[cost.tracker]:.0%}" if aimed(cost) else ""
        what = f"{cost.tracker}, {cost.rows:,} rows, batch {cost.batch}"
        print(f"{what:<34}{cost.us:>8,.0f} us{shares}{target}")


def aimed(cost: Cost) -> bool:
    """Whether there is a target for it."""
    return cost.tracker in TARGETS and cost.batch == 512


def costs() -> Iterator[Cost]:
    """Of all sizes and batches."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as on a server
    try:
        for rows in ROWS:
            yield from _costs(rows)
    finally:
        torch.set_num_threads(threads)


def _costs(rows: int) -> Iterator[Cost]:
    whole = PRESETS["criteo-kaggle"].rows
    tables = tuple(max(3, each * rows // sum(whole)) for each in whole)
    starts = np.cumsum([0, *tables[:-1]])
    tracked = [
        range(starts[each], starts[each] + tables[each]) for each in sorted(np.argsort(tables)[-7:])
    ]
    shard = Shard(sum(tables), _DIM, 0, 0.01, _RATE)
    for size in BATCHES:
        steps = _WARM + _MEASURED
        data = Planted(size * steps, size, size, rows=tables, dense=13)
        made = _Measured(shard, tracked)
        for step in range(steps):
            made.measure(torch.from_numpy((data.batch(step).sparse + starts).reshape(-1)))
        times = {name: statistics.median(each[_WARM:]) for name, each in made.us.items()}
        server_us = times["server"]
        of_update = (times["every"], times["trainer"] + server_us, server_us)
        for name in ("MFU", "SSU", "bare scatter_add_"):
            yield Cost(rows, size, name, times[name], *of_update)


class _Measured:
    """Does with batches what is to be measured; `us`: CPU time of each thing, by batch."""

    def __init__(self, shard: Shard, tracked: list[range]) -> None:
        self._shard = shard
        self._mfu, self._ssu = (
            ShardTracker(name, shard.weights, tracked, _FRACTION) for name in ("mfu", "ssu")
        )
        self._counts = torch.zeros(len(shard), dtype=torch.int32)
        self.us: dict[str, list[float]] = defaultdict(list)

    def measure(self, ids: Tensor) -> None:
        """One batch."""
        gradients = torch.full((len(ids), _DIM), 0.01)
        ones = torch.ones(len(ids), dtype=torch.int32)
        self._timed("every", lambda: self._every(ids, gradients))
        self._timed("bare scatter_add_", lambda: self._counts.scatter_add_(0, ids, ones))
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        self._timed("trainer", lambda: found.append(_trainers(ids, gradients)))
        rows, times, summed = found[0]
        self._timed("server", lambda: self._servers(rows, summed))
        self._timed("MFU", lambda: self._mfu.note(rows, times))
        # Of two batches it looks at one.
        both = [self._timed("lists", lambda: self._ssu.note(rows, times)) for _ in range(2)]
        self.us["SSU"].append(sum(both) / 2)

    def _timed(self, name: str, do: Callable[[], object]) -> float:
        start = time.thread_time_ns()
        do()
        us = (time.thread_time_ns() - start) / 1e3
        self.us[name].append(us)
        return us

    def _every(self, ids: Tensor, gradients: Tensor) -> None:
        self._shard.lookup(ids)
        self._shard.weights.index_add_(0, ids, gradients * -_RATE)

    def _servers(self, rows: Tensor, gradients: Tensor) -> None:
        self._shard.lookup(rows)
        self._shard.update(rows, gradients)


def _trainers(ids: Tensor, gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Distinct ids, how often each occurs, and the sums of their gradients."""
    rows, uses, times = torch.unique(ids, return_inverse=True, return_counts=True)
    summed = torch.zeros(len(rows), _DIM).index_add_(0, uses, gradients)
    summed[uses]  # what it makes of the rows that come
    return rows, times.to(torch.int32), summed


if __name__ == "__main__":
    main()
