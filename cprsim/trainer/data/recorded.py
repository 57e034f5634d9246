"""Samples that were read from files: kept in a folder as arrays, and drawn in shuffled order."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import locked_tempdir
from cprsim.trainer.data.contract import Batch, DataError, DataTable, check_step

_KINDS = {"dense": np.float32, "sparse": np.int64, "labels": np.float32}


@dataclass(frozen=True)
class Recorded:
    """Samples in a folder, the last of which are held out; the others are shuffled by `seed`.

    `folder`: where `record` has put them. `samples`, `test_samples`: how many there are to train
    on, and behind them to test. `dense`: dense features. `tables`: what the columns of
    `Batch.sparse` look up. `batch_size`: samples of a batch. `seed`: of the order of those to train
    on. `cycled`: batches to train on: where they are more than the samples make, the same come
    again and again. By default each comes once.
    """

    folder: Path
    samples: int
    test_samples: int
    dense: int
    tables: tuple[DataTable, ...]
    batch_size: int = 512
    seed: int = 0
    cycled: int | None = None

    @property
    def steps(self) -> int:
        """Batches to train on."""
        return self._once if self.cycled is None else self.cycled

    @property
    def test_steps(self) -> int:
        """Batches held out, in the order of the files."""
        return self.test_samples // self.batch_size

    def batch(self, step: int) -> Batch:
        """The batch of that step."""
        check_step(self, step)
        if step < self.steps:
            first = step % self._once * self.batch_size
            chosen = self._order[first : first + self.batch_size]
        else:
            first = self.samples + (step - self.steps) * self.batch_size
            chosen = np.arange(first, first + self.batch_size)
        dense, sparse, labels = self._arrays
        return Batch(dense[chosen], sparse[chosen], labels[chosen])

    @cached_property
    def sha256(self) -> str:
        """Hash of the samples: that of the hashes of their files."""
        found = hashlib.sha256()
        for name in _KINDS:
            with (self.folder / name).open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return found.hexdigest()

    @property
    def _once(self) -> int:
        return self.samples // self.batch_size

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.random.default_rng(self.seed).permutation(self.samples)

    @cached_property
    def _arrays(self) -> Batch:
        """All samples, read when they are looked at."""
        count = self.samples + self.test_samples
        dense, sparse, labels = (
            np.asarray(np.memmap(self.folder / name, kind, "r")) for name, kind in _KINDS.items()
        )
        tables = len(self.tables)
        return Batch(dense.reshape(count, self.dense), sparse.reshape(count, tables), labels)

    def __getstate__(self) -> dict[str, Any]:
        """Return its fields; another process opens the files again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def record(
    blocks: Iterable[Batch],
    folder: Path,
    tables: tuple[DataTable, ...],
    test_share: float = 0.1,
    batch_size: int = 512,
    seed: int = 0,
) -> Recorded:
    """Write blocks of samples into a new folder, which is not there if that fails.

    `test_share`: share of the samples that is held out, the last ones. `batch_size`: samples of a
    batch. `seed`: of the order of samples to train on.
    """
    with locked_tempdir(folder.parent) as place:
        written = place / folder.name
        written.mkdir()
        count, dense = _write(blocks, written)
        test = round(test_share * count)
        if min(test, count - test) < batch_size:
            raise DataError(
                f"{count} samples, {test} of them held out: too few for batches of {batch_size}; "
                "give more samples or a smaller batch_size"
            )
        written.rename(folder)
    return Recorded(folder, count - test, test, dense, tables, batch_size, seed)


def _write(blocks: Iterable[Batch], folder: Path) -> tuple[int, int]:
    """Return the numbers of samples and of dense features."""
    count = dense = 0
    opened = [(folder / name).open("wb") for name in _KINDS]
    try:
        for block in blocks:
            count, dense = count + len(block.labels), block.dense.shape[1]
            for file, array, kind in zip(opened, block, _KINDS.values(), strict=True):
                file.write(np.ascontiguousarray(array, kind).data)
    finally:
        for file in opened:
            file.close()
    return count, dense
