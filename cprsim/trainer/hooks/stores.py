"""The checkpoints of one process of a job: where they are, from the start on."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from cprsim.basics.files import sync_folder
from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.checkpointed import CheckpointedDense, CheckpointedRows
from cprsim.trainer.hooks.earlier import EarlierCheckpoints
from cprsim.trainer.hooks.job_folder import JobFolder, dense_in, rows_in
from cprsim.trainer.hooks.layout import Layout
from cprsim.trainer.hooks.ranks import Ranks, agree
from cprsim.trainer.hooks.start import JobProcess, JobStart, agreed_start, claim_of
from cprsim.trainer.members.store import CheckpointStore


class ProcessStores:
    """The stores of the dense part and of each block of rows, and the folder that they are in.

    Parameters
    ----------
    adapter, layout
        Lead to the tensors of this process, and say which rows these are.
    folder
        For the checkpoints of this process.
    earlier
        Folders of processes that the job had before, where `folder` is new.
    policy
        The system that saves.

    Attributes
    ----------
    dense, rows
        What is stored.
    """

    dense: CheckpointedDense
    rows: list[CheckpointedRows]

    def __init__(
        self,
        adapter: ShardAdapter[Any],
        layout: Layout,
        folder: Path,
        earlier: Sequence[Path],
        policy: str,
    ) -> None:
        self._adapter, self._layout, self._policy = adapter, layout, policy
        tables = json.loads(json.dumps(layout.document()))  # as a claim has them
        whole = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        self._folder, self._given = JobFolder(folder), tuple(earlier)
        self._generation = 0
        claim = self._folder.claim
        drawn = uuid4().hex
        known = drawn if claim is None or claim.id is None else claim.id
        self._mine = JobProcess(whole, [*layout.shards], tables, known)
        self._start: JobStart | None = None
        self._earlier: EarlierCheckpoints | None = None
        self._stopped = self._folder.stopped

    def begin(self, ranks: Ranks) -> bool:
        """Find what the job starts from; False if that is nothing. All processes call it.

        Raises as `agreed_start` does, with nothing written. What is loaded from other checkpoints
        counts as stored here only after `claim`, so that a start which is killed can be repeated.
        """
        mine, folder = self._mine, self._folder
        start = self._start = agreed_start(mine, folder, self._given, self._policy, ranks)
        claim = claim_of(start, mine, self._policy)
        if start.sources and folder.claim is not None:
            claim = folder.claim
        elif start.sources:  # until all have stored theirs
            claim = claim._replace(generation=-1, tables=[], processes=[])
        error: Exception | None = None
        try:
            folder.write(claim)
            if start.sources:
                folder.clear(start.generation)
            self._open(start.generation)
        except OSError as failed:
            error = RunError(
                f"folder {self.path}: the first checkpoint can't be stored ({failed}); make room, "
                "or give another folder"
            )
        agree(error, ranks.least, "use its folder")
        read = JobFolder(self.path).claim
        if not ranks.least(int(read is not None and (read.id == mine.id or read.id is None))):
            raise UsageError(
                f"folder {self.path}: several processes of the job have the same folder; give each "
                "one of its own"
            )
        if not start.sources:
            folder.keep_only(start.generation)
            return start.begun
        self._stopped = all(JobFolder(each.process.folder).stopped for each in start.sources)
        self._earlier = EarlierCheckpoints(
            start.sources,
            self._layout,
            lambda: self._layout.tensors(self._adapter.shards()),
            self.dense.take_whole,
            start.takes_counts,
        )
        return start.begun

    def replace(self) -> None:
        """Open the folder of a lost process, in whose place this one goes on.

        Raises `UsageError` where it holds other rows than this process.
        """
        claim = self._folder.claim
        if claim is None or claim.processes is None or claim.tables != self._mine.tables:
            raise UsageError(
                f"folder {self._folder.path}: does not have the checkpoints of the lost process, "
                "with the same rows; start all processes again"
            )
        self._open(claim.generation)

    def claim(self, ranks: Ranks) -> None:
        """Go on from here alone, once all processes have stored what they loaded. All call it."""
        assert self._start is not None
        self._earlier = None
        error: Exception | None = None
        try:
            self._folder.write(claim_of(self._start, self._mine, self._policy))
        except OSError as failed:
            error = failed
        agree(error, ranks.least, "write its claim")  # others may still read what goes now
        self._folder.keep_only(self._start.generation)
        self._folder.set_stopped(False)

    def renew(self, ranks: Ranks) -> None:
        """Open empty stores, which replace those of before at `settle_on`.

        Raises `RunError` in all processes where one can't.
        """
        self._generation += 1
        error: OSError | None = None
        try:
            self._folder.clear(self._generation)
            self._open(self._generation)
        except OSError as failed:
            error = failed
        if not ranks.least(int(error is None)):
            raise RunError(
                f"folder {self._folder.path}: no new checkpoints can be begun "
                f"({error or 'in another process'}); make room"
            )

    def settle_on(self, stored: bool, ranks: Ranks) -> None:
        """Continue with the new stores, if all processes have `stored` theirs, or the old ones."""
        if not stored:
            self._open(self._generation - 1)
            self._folder.clear(self._generation + 1)
            return
        assert self._folder.claim is not None
        error: Exception | None = None
        try:
            self._folder.write(self._folder.claim._replace(generation=self._generation))
        except OSError as failed:
            error = failed
        agree(error, ranks.least, "write its claim")  # another start may still read what goes now
        self._folder.keep_only(self._generation)

    @property
    def freed(self) -> int:
        """The bytes of older checkpoints here, which go at `claim`."""
        return self._folder.bytes_of_others(self._generation)

    @property
    def path(self) -> Path:
        """The folder of this process."""
        return self._folder.path

    @property
    def moved(self) -> bool:
        """Whether what the job starts from is still in folders of processes before."""
        return self._earlier is not None

    @property
    def grown(self) -> list[str]:
        """Rows of this process that no checkpoint has, in words."""
        return [] if self._start is None else [*self._start.grown]

    @property
    def steps(self) -> list[int]:
        """The steps of all checkpoints of anything here."""
        return [step for store in self._all for step in store.steps]

    @property
    def newest(self) -> int:
        """The step of the newest checkpoint of which everything here is stored; -1: of none."""
        if self._earlier is not None:
            return self._earlier.newest
        return min(max(store.steps, default=-1) for store in self._all)

    @property
    def loads(self) -> list[Callable[[int], tuple[int, int]]]:
        """What loads everything, as `CheckpointedRows.load` does."""
        if self._earlier is not None:
            return [self._earlier.load]
        # The dense part first: an optimizer that loads may make the state of rows again.
        return [self.dense.load, *(each.load for each in self.rows)]

    @property
    def stopped(self) -> bool:
        """Whether the job was stopped on purpose after the step that was done last."""
        return self._stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        if stopped != self._stopped:
            self._folder.set_stopped(stopped)
            self._stopped = stopped

    def keep_names(self) -> None:
        """Have the disk keep the names of folders that were made; stores sync their files."""
        sync_folder(self._folder.path)
        sync_folder(self._mine.folder.parent)

    def _open(self, generation: int) -> None:
        self._generation = generation
        self.dense = CheckpointedDense(self._adapter, dense_in(self.path, generation))
        self.rows = [
            CheckpointedRows(
                block, self._layout, self._adapter, rows_in(self.path, block.number, generation)
            )
            for block in self._layout.blocks
        ]

    @property
    def _all(self) -> list[CheckpointStore]:
        return [self.dense.store, *(each.store for each in self.rows)]
