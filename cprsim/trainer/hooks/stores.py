"""The checkpoints of one process of a job: where they are, from the start on."""

import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from cprsim.basics.files import sync_folder
from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.checkpointed import CheckpointedDense, CheckpointedRows
from cprsim.trainer.hooks.job_folder import Claim, JobFolder, dense_in, rows_in
from cprsim.trainer.hooks.layout import Layout, RowRange, stored_blocks
from cprsim.trainer.hooks.nested import from_bytes, unpacked
from cprsim.trainer.hooks.observer import warn_of_spoilt
from cprsim.trainer.hooks.ranks import Ranks, agreed
from cprsim.trainer.hooks.sharded import merged
from cprsim.trainer.hooks.start import JobProcess, JobStart, Source, agreed_start
from cprsim.trainer.store.files import Arrays, read_chain
from cprsim.trainer.store.manifests import SpoiltError
from cprsim.trainer.store.store import CheckpointStore, checkpoints_in


class ProcessStores:
    """The stores of the dense part and of each block of rows, and the folder that they are in.

    `adapter`, `layout`: lead to the tensors of this process, and say which rows these are.
    `folder`: for the checkpoints of this process. `earlier`: folders of processes that the job had
    before, where `folder` is new. `policy`: the system that saves. `dense`, `rows`: what is stored.
    `path`: the folder of this process. `unstored`: what to say where its first checkpoint can't be
    stored, and the way out.
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
        self._folder, self._given, self.path = JobFolder(folder), tuple(earlier), folder
        fault = f"folder {folder}: the first checkpoint can't be stored"
        self.unstored = fault, "make room, or give another folder"
        tables = json.loads(json.dumps(layout.document()))  # as a claim has them
        whole = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        known = uuid4().hex if self._folder.claim is None else self._folder.claim.id
        self._mine = JobProcess(whole, [*layout.shards], tables, known)
        self._start = JobStart(0, [], "", begun=False)
        self._sources: Sequence[Source] = ()
        self._generation = 0
        self._stopped = self._folder.stopped

    def begin(self, ranks: Ranks) -> bool:
        """Find what the job starts from; False if that is nothing. All processes call it.

        Raises as `agreed_start` does, with nothing written. What is loaded from other checkpoints
        counts as stored here only after `claim`, so that a start which is killed can be repeated.
        """
        mine, folder = self._mine, self._folder
        start = self._start = agreed_start(mine, folder, self._given, self._policy, ranks)
        claim = start.claim_of(mine, self._policy)
        if start.sources and folder.claim is not None:
            claim = folder.claim
        elif start.sources:  # until all have stored theirs
            claim = claim._replace(generation=-1, tables=[], processes=[])
        with agreed(ranks, *self.unstored):
            folder.write(claim)
            if start.sources:
                folder.clear(start.generation)
            self._open(start.generation)
        read = JobFolder(self.path).claim
        if not ranks.least(int(read is not None and read.id == mine.id)):
            raise UsageError(
                f"folder {self.path}: several processes of the job have the same folder; give each "
                "one of its own"
            )
        self._sources = start.sources
        if self._sources:
            self._stopped = all(JobFolder(each.process.folder).stopped for each in self._sources)
        else:
            folder.keep_only(start.generation)
        return start.begun

    def replace(self) -> None:
        """Open the folder of a lost process, in whose place this one goes on.

        Raises `UsageError` where it holds other rows than this process.
        """
        claim = self._folder.claim
        if claim is None or claim.tables != self._mine.tables:
            raise UsageError(
                f"folder {self.path}: does not have the checkpoints of the lost process, with the "
                "same rows; start all processes again"
            )
        self._open(claim.generation)

    def claim(self, ranks: Ranks) -> None:
        """Go on from here alone, once all processes have stored what they loaded. All call it."""
        self._sources = ()
        self._write(self._start.claim_of(self._mine, self._policy), ranks)
        self._folder.set_stopped(False)

    def renew(self, ranks: Ranks) -> None:
        """Open empty stores, which replace those of before at `settle_on`.

        Raises `RunError` in all processes where one can't.
        """
        self._generation += 1
        with agreed(ranks, f"folder {self.path}: no new checkpoints can be begun", "make room"):
            self._folder.clear(self._generation)
            self._open(self._generation)

    def settle_on(self, stored: bool, ranks: Ranks) -> None:
        """Continue with the new stores, if all processes have `stored` theirs, or the old ones."""
        if stored:
            assert self._folder.claim is not None
            self._write(self._folder.claim, ranks)
        else:
            self._open(self._generation - 1)
            self._folder.clear(self._generation + 1)

    def _write(self, claim: Claim, ranks: Ranks) -> None:
        """Have the open stores count, and no other ones."""
        with agreed(ranks, f"folder {self.path}: its claim can't be written", "make room"):
            self._folder.write(claim._replace(generation=self._generation))
        self._folder.keep_only(self._generation)  # not before: others may still read what goes now

    @property
    def freed(self) -> int:
        """The bytes of older checkpoints here, which go at `claim`."""
        return self._folder.bytes_of_others(self._generation)

    @property
    def moved(self) -> bool:
        """Whether what the job starts from is still in folders of processes before."""
        return bool(self._sources)

    @property
    def grown(self) -> list[str]:
        """Rows of this process that no checkpoint has, in words."""
        return [*self._start.grown]

    @property
    def steps(self) -> list[int]:
        """The steps of all checkpoints of anything here."""
        return [step for store in self._all for step in store.steps]

    @property
    def newest(self) -> int:
        """The step of the newest checkpoint of which everything here is stored; -1: of none."""
        if self._sources:
            return max(self._steps_before, default=-1)
        return min(max(store.steps, default=-1) for store in self._all)

    @property
    def loads(self) -> list[Callable[[int], tuple[int, int]]]:
        """What loads everything, as `CheckpointedRows.load` does."""
        if self._sources:
            return [self._load_before]
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
        sync_folder(self.path)
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

    # --- Checkpoints of the processes before, of which this one takes what it holds now ---

    @property
    def _steps_before(self) -> set[int]:
        return set.intersection(*(each.steps for each in self._sources))

    def _load_before(self, at_most: int) -> tuple[int, int]:
        """Load the last sound checkpoint of them up to a step.

        Returns its step, and the bytes read. Raises `RunError` where none is sound. Rows that no
        checkpoint has keep their values.
        """
        spoilt: list[str] = []
        try:
            for step in sorted(self._steps_before, reverse=True):
                if step > at_most:
                    continue
                try:
                    size = self._load_step(step)
                except SpoiltError as error:
                    spoilt.append(str(error))
                else:
                    warn_of_spoilt(spoilt, step)
                    return step, size
        except OSError as error:
            raise RunError(f"a checkpoint can't be read now: {error}; try again") from error
        folders = ", ".join(str(each.process.folder) for each in self._sources)
        raise RunError(
            f"{folders}: no sound checkpoint is left of all of it "
            f"({'; '.join(spoilt) or 'they are of different steps'}); begin in another folder"
        )

    def _load_step(self, step: int) -> int:
        # The dense part first: an optimizer that loads may make the state of rows again.
        dense = [_read(source.dense, step) for source in self._sources]
        whole = [unpacked(arrays) for arrays, _ in dense]
        job = _accounts([each["job"] for each in whole], self._start.takes_counts)
        self.dense.take_whole(merged(whole) | {"job": job})
        size = sum(size for _, size in dense)
        live = self._layout.tensors(self._adapter.shards())
        for source in self._sources:
            blocks = stored_blocks(source.process.tables)
            for held, folder in zip(blocks, source.rows, strict=True):
                wanted = [*_shared(self._layout.parts, held)]
                if not wanted:
                    continue
                arrays, read = _read(folder, step)
                size += read
                for part, to, at, rows in wanted:
                    for mine, stored in zip(live[part], arrays, strict=True):
                        shape = (rows, *mine.shape[1:])
                        mine[to : to + rows] = from_bytes(stored[at : at + rows], mine.dtype, shape)
        return size


def _shared(
    parts: Sequence[RowRange], held: Sequence[RowRange]
) -> Iterator[tuple[RowRange, int, int, int]]:
    """Of rows that both have: the part, where in it, where in the arrays, and how many."""
    for part, other in itertools.product(parts, held):
        if (part.table, part.kinds) != (other.table, other.kinds):
            continue
        first = max(part.first, other.first)
        rows = min(part.first + part.rows, other.first + other.rows) - first
        if rows > 0:
            yield part, first - part.first, first - other.first + other.start, rows


def _read(folder: Path, step: int) -> tuple[Arrays, int]:
    """The arrays of a step, and the bytes of their files."""
    spoilt = SpoiltError(f"{folder}: has no checkpoint of step {step}")
    for manifest in checkpoints_in(folder):
        if manifest.step == step:
            try:
                files = manifest.files
                return read_chain(folder, files).arrays, sum(each.size for each in files)
            except SpoiltError as error:
                spoilt = error
    raise spoilt


def _accounts(all_said: Sequence[dict[str, Any]], takes_counts: bool) -> dict[str, Any]:
    """The accounts of the job, for one process to go on from.

    Each process counts for itself what `TrainerHooks.job_summary` adds up, so one takes the counts
    of all, and the others begin at 0.
    """
    job, counted = all_said[0], all_said if takes_counts else []
    updates, counts = dict(job["updates"]), dict(job["counts"])
    for name in ("made", "lost", "unsaved"):
        updates[name] = sum(each["updates"][name] for each in counted)
    for name in ("bytes_saved", "bytes_loaded"):
        counts[name] = sum(each["counts"][name] for each in counted)
    lost = sum(each["lost_steps"] for each in counted)
    return job | {"lost_steps": lost, "updates": updates, "counts": counts}
