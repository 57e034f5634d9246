"""A source of samples: batches, their tables, their number, a test set."""

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import CprsimError
from cprsim.job.workload import Table


class DataError(CprsimError):
    """Samples that can't be read: which file, which line, why, and the way out."""


class Batch(NamedTuple):
    """Samples: `dense` (B, d), `sparse` (B, tables), a row of each table, and `labels` (B,)."""

    dense: NDArray[np.float32]
    sparse: NDArray[np.int64]
    labels: NDArray[np.float32]


class Data:
    """A source of samples: those of steps 0 to `steps` - 1 to train on, once each, others to test.

    Batches `steps` to `steps` + `test_steps` - 1 are held out: none of their samples is in an
    earlier one. All have `batch_size` samples; what is left over is not used. Sources are
    dataclasses: small to send to another process, which gets the same batches from its copy.

    `samples`, `test_samples`: to train on, and held out. `batch_size`: samples of a batch. `seed`:
    of whatever is drawn. `tables`: embedding tables, each of which a sample looks up one row of, in
    the order of the columns of `Batch.sparse`. `dense`: columns of `Batch.dense`.
    """

    samples: int
    test_samples: int
    batch_size: int
    seed: int
    tables: tuple[Table, ...]
    dense: int

    @property
    def steps(self) -> int:
        """Batches to train on."""
        return self.samples // self.batch_size

    @property
    def test_steps(self) -> int:
        """Batches held out, behind those to train on."""
        return self.test_samples // self.batch_size

    def batch(self, step: int) -> Batch:
        """The batch of that step, from 0; the same in every process."""
        if not 0 <= step < self.steps + self.test_steps:
            raise IndexError(
                f"step {step}: there are {self.steps} steps to train and {self.test_steps} to test"
            )
        return self._batch(step)

    def _batch(self, step: int) -> Batch:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """Return its fields; another process works out the rest again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
