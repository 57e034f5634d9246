"""What trackers of tensors cost a batch, beside the trainer's own lookup and update of its rows."""

import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.trackers import _batches, _typical
from cprsim.model_presets import PRESETS
from cprsim.rows.trackers import MFU, SSU, Tracker
from cprsim.trainer.data import Planted
from cprsim.trainer.shard import Shard
from cprsim.trainer.trackers import ShardTracker, TorchMFU, TorchSCAR, TorchSSU

_DIM = 16
_FRACTION = 1 / 8
_TARGETS = {"mfu": "<= 0.03", "ssu": "<= 0.10", "scar": ""}


def per_batch() -> str:
    """`observe` of a batch of 512 x 26 lookups, against looking its rows up and updating them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as on a server
    try:
        return "\n".join((*_of_zipf(), *_of_the_trainer()))
    finally:
        torch.set_num_threads(threads)


def _of_zipf() -> list[str]:
    """10 M rows in one table, as for the trackers of NumPy arrays, which are measured beside."""
    batches = [ids.reshape(-1) for ids in _batches()]
    shard = Shard(10_000_000, _DIM, 0, 0.01, 0.05)
    rows = len(shard.weights)
    made: list[tuple[str, Tracker, str, bool]] = [
        ("MFU, every id", MFU(rows), "mfu", False),
        ("TorchMFU, every id", TorchMFU(rows), "mfu", False),
        ("TorchMFU, distinct ids", TorchMFU(rows), "mfu", True),
        ("SSU, every id", SSU(rows, rows // 8), "ssu", False),
        ("TorchSSU, distinct ids", TorchSSU(rows, rows // 8), "ssu", True),
        ("TorchSCAR, distinct ids", TorchSCAR(shard.weights), "scar", True),
    ]
    return [
        _row(f"{name}, 10 M rows", _measured(shard, batches, tracker.observe, distinct), kind)
        for name, tracker, kind, distinct in made
    ]


def _of_the_trainer() -> list[str]:
    """1 M rows in tables as unequal as those of Criteo Kaggle, production skew; 7 tracked."""
    whole = PRESETS["criteo-kaggle"].rows
    rows = tuple(max(3, each * 1_000_000 // sum(whole)) for each in whole)
    starts = np.cumsum([0, *rows[:-1]])
    data = Planted(rows=rows, dense=13)
    batches = [(data.batch(step).sparse + starts).reshape(-1) for step in range(100)]
    shard = Shard(sum(rows), _DIM, 0, 0.01, 0.05)
    largest = sorted(np.argsort(rows)[-7:])
    tables = [range(starts[each], starts[each] + rows[each]) for each in largest]
    lines = []
    for name in ("mfu", "ssu", "scar"):
        tracker = ShardTracker(name, shard.weights, tables, _FRACTION)
        measured = _measured(shard, batches, tracker.observe, True)
        lines.append(_row(f"ShardTracker {name}, 1 M rows, 7 of 26 tables", measured, name))
    return lines


def _measured(
    shard: Shard,
    batches: list[NDArray[np.int64]],
    observe: Callable[..., None],
    distinct: bool,
) -> tuple[float, float]:
    """Mean CPU seconds of `observe` and of lookup and update, in turns, over batches seen before.

    `distinct`: it is told each row once with how often it was accessed, as a server is.
    """
    observing, training = [], []
    gradients = torch.full((batches[0].size, _DIM), 0.01)
    for ids in batches * 2:
        every = torch.from_numpy(ids)
        start = time.thread_time()
        rows, uses, times = torch.unique(every, return_inverse=True, return_counts=True)
        shard.lookup(rows)[uses]
        shard.update(rows, torch.zeros(len(rows), _DIM).index_add_(0, uses, gradients))
        trained = time.thread_time()
        if distinct:
            observe(rows, times=times)
        else:
            observe(every)
        observing.append(time.thread_time() - trained)
        training.append(trained - start)
    warm = len(batches)
    return _typical(observing[warm:]), _typical(training[warm:])


def _row(what: str, measured: tuple[float, float], kind: str) -> str:
    ours, theirs = measured
    return (
        f"{what + ' (lookup + Adagrad)':<58} {1e6 * ours:>9,.0f} us {1e6 * theirs:>9,.0f} us "
        f"{ours / theirs:>7.3f}   {_TARGETS[kind]}"
    )


if __name__ == "__main__":
    print(per_batch())
