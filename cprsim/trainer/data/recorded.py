"""Samples that were read from files: kept in a folder as arrays, and drawn in shuffled order."""

import hashlib
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import locked_tempdir
from cprsim.job.workload import Table
from cprsim.trainer.data.contract import Batch, Data, DataError

_KINDS = {"dense": np.float32, "sparse": np.int64, "labels": np.float32}


@dataclass(frozen=True)
class Recorded(Data):
    """Samples in a folder, the last of which are held out; the others are shuffled by `seed`.

    `folder`: where `record` has put them. `seed`: of the order of those to train on. `cycled`:
    batches to train on: where they are more than the samples make, the same come again and again.
    By default each comes once. Others: see `Data`.
    """

    folder: Path
    samples: int
    test_samples: int
    dense: int
    tables: tuple[Table, ...]
    batch_size: int = 512
    seed: int = 0
    cycled: int | None = None

    @property
    def steps(self) -> int:
        """Batches to train on."""
        return super().steps if self.cycled is None else self.cycled

    def _batch(self, step: int) -> Batch:
        if step < self.steps:
            first = step % super().steps * self.batch_size
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


def record(
    blocks: Iterable[Batch],
    folder: Path,
    tables: tuple[Table, ...],
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
    with ExitStack() as opened:
        files = [opened.enter_context((folder / name).open("wb")) for name in _KINDS]
        for block in blocks:
            count, dense = count + len(block.labels), block.dense.shape[1]
            for file, array, kind in zip(files, block, _KINDS.values(), strict=True):
                file.write(np.ascontiguousarray(array, kind).data)
    return count, dense
