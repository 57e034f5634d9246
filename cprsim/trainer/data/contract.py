"""A source of samples: batches, their tables, their number, a test set."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import CprsimError


class DataError(CprsimError):
    """Samples that can't be read: which file, which line, why, and the way out."""


@dataclass(frozen=True)
class DataTable:
    """An embedding table that samples look up one row of; `dim` numbers a row."""

    name: str
    rows: int
    dim: int


class Batch(NamedTuple):
    """Samples: `dense` (B, d), `sparse` (B, tables), a row of each table, and `labels` (B,)."""

    dense: NDArray[np.float32]
    sparse: NDArray[np.int64]
    labels: NDArray[np.float32]


class Data(Protocol):
    """A source of samples: those of steps 0 to `steps` - 1 to train on, once each, others to test.

    Batches `steps` to `steps` + `test_steps` - 1 are held out: none of their samples is in an
    earlier one. All have `batch_size` samples; what is left over is not used. Sources are values:
    small to send to another process, which gets the same batches from its copy.
    """

    def batch(self, step: int) -> Batch:
        """The batch of that step, from 0; the same in every process."""

    @property
    def tables(self) -> tuple[DataTable, ...]:
        """The tables, in the order of the columns of `Batch.sparse`."""

    @property
    def dense(self) -> int:
        """Columns of `Batch.dense`."""

    @property
    def batch_size(self) -> int:
        """Samples of a batch."""

    @property
    def steps(self) -> int:
        """Batches to train on."""

    @property
    def test_steps(self) -> int:
        """Batches held out, behind those to train on."""


def check_step(data: Data, step: int) -> None:
    """Raise `IndexError` where `data` has no batch of that step."""
    if not 0 <= step < data.steps + data.test_steps:
        raise IndexError(
            f"step {step}: there are {data.steps} steps to train and {data.test_steps} to test"
        )
