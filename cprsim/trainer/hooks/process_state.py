"""The state of one process of a training loop: its tables, the dense part, its trackers."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from torch import Tensor

from cprsim.basics.files import sync_folder
from cprsim.contract import Tracking
from cprsim.errors import UsageError
from cprsim.rows.model import RowModel
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.checkpointed import (
    CheckpointedDense,
    CheckpointedRows,
    Least,
    least_of_one,
    together,
)
from cprsim.trainer.hooks.layout import Layout, RowRange
from cprsim.trainer.hooks.process_trackers import ProcessTrackers
from cprsim.trainer.members.array_files import read_small
from cprsim.trainer.members.atomic import written
from cprsim.trainer.members.manifests import SpoiltError

_Batch = TypeVar("_Batch")
#: The file that says whose folder it is.
_CLAIM = "job.json"


class ProcessState(Generic[_Batch]):
    """Saves and loads the tables and the dense part that an adapter leads to.

    Parameters
    ----------
    adapter
        Leads to tensors and lookups.
    folder
        Of the checkpoints of this process.
    servers
        How many shards the job has in all processes.
    rows
        The tables that the scenario tells of.
    tracking
        Who chooses the rows of a save, if they are chosen.
    seed
        Of what trackers draw.
    """

    def __init__(
        self,
        adapter: ShardAdapter[_Batch],
        folder: Path,
        servers: int,
        rows: RowModel | None,
        tracking: Tracking | None,
        seed: int,
    ) -> None:
        self._adapter, self._tracking, self._seed = adapter, tracking, seed
        self._layout = Layout(adapter.shards(), servers, rows)
        self._tables = rows.tracked_tables if rows is not None else ()
        self._trackers = self._new_trackers()
        self._dense = CheckpointedDense(adapter, folder)
        self._rows = [
            CheckpointedRows(block, self._layout, adapter, folder) for block in self._layout.blocks
        ]

    @property
    def shards(self) -> tuple[int, ...]:
        """Numbers of the shards that are here."""
        return self._layout.shards

    @property
    def stored(self) -> bool:
        """Whether all that is here has been stored before."""
        return not any(each.store.empty for each in self._checkpointed)

    @property
    def steps(self) -> list[int]:
        """Of all checkpoints of anything here."""
        return [step for each in self._checkpointed for step in each.store.steps]

    def document(self) -> list[Any]:
        """Which rows these are."""
        return self._layout.document()

    def observe(self, batch: _Batch) -> None:
        """Tell the trackers which rows a batch has looked up."""
        if self._trackers is not None:
            self._trackers.observe(self._layout.numbers(self._adapter.lookups(batch)))

    def save_rows(self, step: int, portion: float) -> int:
        """Store the rows that deserve it, or all of them; gives the bytes written."""
        chosen = None if self._trackers is None or portion == 1 else self._trackers.select()
        size = sum(each.save(step, chosen) for each in self._rows)
        if self._trackers is not None:
            self._trackers.saved(np.arange(self._layout.rows) if chosen is None else chosen)
        return size

    def save_dense(self, step: int, accounts: dict[str, Any]) -> int:
        """Store the dense part, last of all, with the accounts; gives the bytes written."""
        return self._dense.save(step, accounts)

    def load_all(self, at_most: int, least: Least) -> tuple[int, int]:
        """Return everything to one checkpoint; gives its step, and the bytes read."""
        loaded = together(self._checkpointed, at_most, least)
        self._trackers = self._new_trackers()
        return loaded

    def load_shard(self, shard: int, at_most: int) -> tuple[int, int]:
        """Return one shard to its last checkpoint; gives its step, and the bytes read."""
        loaded = together(
            [each for each in self._rows if each.shard == shard], at_most, least_of_one
        )
        if self._trackers is not None:
            self._trackers.forget(shard, self._weights())
        return loaded

    def load_dense(self, at_most: int) -> tuple[int, int]:
        """Return the dense part to its last checkpoint; gives its step, and the bytes read."""
        return self._dense.load(at_most)

    @property
    def accounts(self) -> dict[str, Any]:
        """What the checkpoint of the dense part says that was loaded last."""
        return self._dense.accounts

    @property
    def _checkpointed(self) -> list[CheckpointedRows | CheckpointedDense]:
        """The dense part first: an optimiser that loads may make state of rows anew."""
        return [self._dense, *self._rows]

    def _new_trackers(self) -> ProcessTrackers | None:
        if self._tracking is None:
            return None
        return ProcessTrackers(
            self._layout, self._weights(), self._tracking, self._tables, self._seed
        )

    def _weights(self) -> Mapping[RowRange, Tensor]:
        live = self._layout.tensors(self._adapter.shards())
        return {part: tensors[0] for part, tensors in live.items()}


def claim(folder: Path, job: Mapping[str, Any]) -> None:
    """Write down whose folder it is; raise `UsageError` if it is that of another job."""
    path = folder / _CLAIM
    if not os.path.lexists(path):
        with written(path) as file:
            file.write(json.dumps(job).encode())
        sync_folder(folder)
        return
    try:
        found = json.loads(read_small(path))
    except (SpoiltError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"folder {folder}: {_CLAIM} in it can't be read; give another")
    other = [name for name in job if found.get(name) != json.loads(json.dumps(job[name]))]
    if other:
        raise UsageError(
            f"folder {folder}: has checkpoints of another job ({' and '.join(other)} differ); "
            "give another folder"
        )
