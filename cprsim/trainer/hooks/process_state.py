"""The state of one process of a training loop: watched, saved and loaded."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from torch import Tensor

from cprsim.basics.interrupts import Threads
from cprsim.contract import Plan, Save
from cprsim.contract.actions import Since
from cprsim.rows.trackers import RowIds
from cprsim.scenario import Scenario
from cprsim.trainer.hooks import accounts
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.checkpoints import ProcessCheckpoints, Read
from cprsim.trainer.hooks.dense_part import DensePart
from cprsim.trainer.hooks.given import check_live
from cprsim.trainer.hooks.layout import Layout, Live, RowRange
from cprsim.trainer.hooks.nested import from_bytes, packed, unpacked
from cprsim.trainer.hooks.ranks import OneProcess, Ranks, all_can
from cprsim.trainer.hooks.sharded import merged
from cprsim.trainer.hooks.snapshot import Image, Snapshot
from cprsim.trainer.hooks.trackers import LiveRows, RowTrackers, tracked_rows
from cprsim.trainer.hooks.updates import UpdateCount, UpdatedRows, UpdateGate

_Batch = TypeVar("_Batch")
#: Threads that write: most of the time they wait for the disk.
_WRITERS = 8


class ProcessState(Generic[_Batch]):
    """The tables and the dense part that an adapter leads to, and their checkpoints.

    Arguments are those of `TrainerHooks`, with the plan, which may choose the rows of saves, and
    the system that saves.

    Attributes
    ----------
    checkpoints
        Those of this process.
    gate
        Closed while rows are copied or loaded.
    servers
        Shards of the job in all processes.
    tells_modified, by_rows
        Whether saves may have modified rows only, or those or rows that a tracker chose.
    updates
        Counts of updates that no checkpoint has.
    accounts
        The accounts of the job in the dense part that was loaded last.
    """

    def __init__(
        self,
        adapter: ShardAdapter[_Batch],
        folder: Path,
        earlier: Sequence[Path],
        scenario: Scenario,
        plan: Plan,
        seed: int,
        policy: str,
    ) -> None:
        self._adapter, self._tracking, self._seed = adapter, plan.tracking, seed
        servers, rows = scenario.cluster.parameter_servers, scenario.context.rows
        self.servers, self.tells_modified = servers, plan.tells_modified
        self.by_rows = plan.tells_modified or plan.tracking is not None
        self._table_rows = [] if rows is None else [table.rows for table in rows.tables]
        given = adapter.shards()
        self._layout = layout = Layout(given, servers, rows)
        check_live(given, adapter.shards())
        self._tables = rows.tracked_tables if rows is not None else ()
        self.updates = UpdateCount(layout.rows, "rows")
        if plan.tracking is None:
            self.updates = UpdateCount(len(layout.shards), f"{servers} shards")
        self._trackers = self._new_trackers()
        self._modified = UpdatedRows(layout, self._tables) if plan.tells_modified else None
        self._gap = False  # whether the next save has to have all rows
        self.gate = UpdateGate()
        # Made here, and given its work by the thread that trains: at the end of the interpreter
        # work that was begun is ended, but no thread may be given more.
        self._writers = Threads(_WRITERS, "cprsim-save")

        self.checkpoints = ProcessCheckpoints(folder, earlier, layout, policy)
        self._dense = DensePart(adapter)
        self.accounts: dict[str, Any] = {}

    @property
    def shards(self) -> tuple[int, ...]:
        """Numbers of the shards of this process."""
        return self._layout.shards

    # --- Faults to warn of ---

    def missing(self, total: Callable[[float], float]) -> Iterator[str]:
        """Yield a warning of rows that no checkpoint has, and of shards and rows in no process.

        `total` adds up over all processes.
        """
        for each in self.checkpoints.start.grown:
            yield f"{each} are in no checkpoint; they keep the values that they have now"
        found = []
        shards = round(total(len(self.shards)))
        if shards < self.servers:
            found.append(f"{self.servers - shards} of the {self.servers} shards")
        here = Counter[int]()
        for part in self._layout.parts:
            here[part.table] += part.rows
        for table, rows in enumerate(self._table_rows):
            there = round(total(here[table]))
            if there < rows:
                found.append(f"{rows - there:,} of the {rows:,} rows of table {table}")
        if found:
            yield (
                f"no process gives {'; '.join(found)}: unless dense() has them, they are neither "
                "saved nor loaded"
            )

    def check(self) -> set[tuple[str, int]]:
        """Find optimizers in the dense part that keep state of rows which the adapter doesn't give.

        Returns the name of each, and a table. Raises `UsageError` if tensors are not of the shapes
        that they had at the start.
        """
        return self._dense.foreign_state(self._live())

    def observe(self, step: int, batch: _Batch) -> None:
        """Note the rows that the batch of a step has looked up."""
        numbers = None
        if self._trackers is not None:
            numbers = self._layout.numbers(self._adapter.lookups(batch))
            self._trackers.observe(numbers)
        elif self._modified is not None:
            looked_up = self._layout.numbers(self._adapter.lookups(batch))
            self._modified.note(step, looked_up.numpy())
        self.updates.did(numbers)

    def _live(self) -> Live:
        return self._layout.tensors(self._adapter.shards())

    # --- Saving ---

    def snapshot(self, step: int, save: Save, usable: int, job: dict[str, Any]) -> Snapshot:
        """Copy the rows that deserve a save, or all, and the dense part.

        `usable`: the step of the last checkpoint that all processes have. `job`: its accounts,
        which are stored with the dense part.
        """
        with self.gate.closed():
            live = self._live()
            chosen = rows = None
            if self._modified is not None:
                rows = self._modified.select(step, None if self._gap else save.since, usable)
                self._check_unused(self._modified, step, live)
            elif self._trackers is not None and save.portion != 1 and not self._gap:
                rows = chosen = self._trackers.select()
            job["updates"] = self.updates.document(chosen)
            since = save.since if self._modified is not None and rows is not None else None
            images = self._images(live, rows, since)
            # Should a file of a chain be spoilt, rows return to an older step: so must this.
            chains = self.checkpoints.rows if self.by_rows else ()
            keeps = frozenset(step for each in chains for step in each.steps)
            content = packed({"state": self._dense.states(), "job": job})
            dense = Image(self.checkpoints.dense, content, keeps=keeps)
        whole_bytes = sum(each.nbytes for tensors in live.values() for each in tensors)
        whole_bytes += sum(each.nbytes for each in content)
        return Snapshot((*images, dense), chosen, since is not None, whole_bytes)

    def _images(
        self, live: Live, numbers: RowIds | None, since: Since | None = None
    ) -> list[Image]:
        """Copy all rows, or those of these numbers, a block each."""
        blocks = zip(self.checkpoints.rows, self._layout.blocks, strict=True)
        return [Image(store, *block.copied(live, numbers), since) for store, block in blocks]

    def _check_unused(self, modified: UpdatedRows, step: int, live: Live) -> None:
        if not self.gate.used:  # else rows of batches that are not reported yet may have changed
            sample = [each.arrays for each in self._images(live, modified.sampled)]
            modified.check(step, sample, [block.numbers for block in self._layout.blocks])

    def write(self, step: int, snapshot: Snapshot, returns_to: Collection[int]) -> None:
        """Begin to store it, all files at once; one is done before the next is begun.

        `returns_to`: as in `CheckpointStore.write`.
        """
        # Each of them is its own store; a load takes a step that all of them have.
        submit = self._writers.submit
        snapshot.watch(*(submit(each.write, step, returns_to) for each in snapshot.images))

    def saved(self, snapshot: Snapshot, sure: bool) -> None:
        """Note that the snapshot is stored, or will be, which is not `sure`."""
        self.updates.saved(snapshot.chosen, sure)
        if self._trackers is not None:
            rows = np.arange(self._layout.rows) if snapshot.chosen is None else snapshot.chosen
            self._trackers.saved(rows)
        if snapshot.chosen is None:
            self._gap = False

    def save_failed(self, snapshot: Snapshot) -> None:
        """Note that the snapshot was not stored."""
        self.updates.settle(stored=False)
        if not snapshot.modified:  # trackers take it for saved, so the next save is of all rows
            self._gap = True

    def forget(self) -> None:
        """Note that the state is not what was saved: the next save is of all rows."""
        self._trackers = self._new_trackers()
        if self._modified is not None:
            self._modified.return_to(0, np.empty(0, np.int64))
        self._gap = True

    # --- Loading ---

    def load_all(self, at_most: int, ranks: Ranks) -> tuple[int, int]:
        """Return everything to one checkpoint; return its step, and the bytes read."""
        step, size, changed = self._load(at_most, self._layout.parts, True, ranks)
        self._trackers = self._new_trackers()
        if self._modified is not None:
            self._modified.return_to(step, changed)
        self._gap = False
        return step, size

    def load_dense(self, at_most: int) -> tuple[int, int]:
        """Return the dense part only; return its step, and the bytes read."""
        return self._load(at_most, (), True, OneProcess())[:2]

    def load_shard(self, shard: int, at_most: int) -> tuple[int, int]:
        """Return one shard to its last checkpoint; return its step, and the bytes read."""
        before = max((step for step in self.checkpoints.steps if step <= at_most), default=0)
        parts = self._parts_of(shard)
        step, size, _ = self._load(at_most, parts, False, OneProcess())
        self._lose(shard, gap=step < before)  # what was saved since is in files that are spoilt
        return step, size

    def _load(
        self, at_most: int, parts: Sequence[RowRange], dense: bool, ranks: Ranks
    ) -> tuple[int, int, RowIds]:
        """Return these rows, and the dense part, to the last checkpoint up to a step.

        `ranks`: those that return together; if one has to go further back, all go as far. Rows
        that no checkpoint has keep their values.

        Returns its step, the bytes read here, and the numbers of the rows that it has other than
        its base. Raises `RunError` in all processes if one can't load.
        """
        with self.gate.closed():
            step, size, found = self.checkpoints.read(at_most, parts, dense, ranks)
            with all_can(ranks):
                self.checkpoints.return_to(found)
                return step, size, self._take(found)

    def _take(self, found: Sequence[Read]) -> RowIds:
        """Load what was read; return the numbers of the rows that differ from their base."""
        stores, moved = self.checkpoints, self.checkpoints.moved
        # The dense part first: an optimizer that loads may make the state of rows again.
        whole = [unpacked(each.checkpoint.arrays) for each in found if each.wanted is None]
        if whole:
            self.accounts = whole[0]["job"]
            if moved:
                takes_counts = stores.start.takes_counts
                self.accounts = accounts.joined([each["job"] for each in whole], takes_counts)
            self._dense.take(merged([each["state"] for each in whole]))
        live, changed = self._live(), [np.empty(0, np.int64)]
        folders = (store.folder for store in stores.rows)
        blocks = dict(zip(folders, self._layout.blocks, strict=True))
        for folder, wanted, read in found:
            arrays = iter(read.arrays)
            for part, to, _, rows in wanted or ():
                for mine in live[part]:
                    content = from_bytes(next(arrays), mine.dtype, (rows, *mine.shape[1:]))
                    mine[to : to + rows] = content
            if wanted is not None and not moved:
                changed.append(read.changed + blocks[folder].numbers.start)
        return np.concatenate(changed)

    def copy_dense(self, ranks: Ranks, lost: bool) -> int:
        """Take the dense part from a process that has it, if it is lost here; return its bytes."""
        return self._dense.copy(ranks, lost)

    def _lose(self, shard: int, gap: bool) -> None:
        """Note that a shard is as it was saved; `gap`: no save may leave out rows."""
        self._gap = self._gap or gap
        places = [part.numbers for part in self._parts_of(shard)]
        if self._trackers is None:  # updates are counted by shards
            at = self._layout.shards.index(shard)
            places = [range(at, at + 1)]
        self.updates.lose(places)  # before trackers forget these counts
        if self._trackers is not None:
            self._trackers.forget(self._tracked(shard))

    def _parts_of(self, shard: int) -> list[RowRange]:
        return [part for part in self._layout.parts if part.shard == shard]

    # --- Twins ---

    def rows_of(self, shard: int) -> list[Any]:
        """Return the rows of a shard, in a form that is the same for its twins."""
        return self._layout.document(shard)

    def content(self, shard: int) -> list[Tensor]:
        """Return the tensors in use of a shard, those of each part."""
        live = self._live()
        return [each for part in self._parts_of(shard) for each in live[part]]

    def take(self, shard: int, content: Sequence[Tensor]) -> None:
        """Take the content of a twin; what was done here since the averaging is lost."""
        with self.gate.closed():
            for mine, theirs in zip(self.content(shard), content, strict=True):
                mine.copy_(theirs)
        self._lose(shard, gap=self._modified is not None)

    # --- Trackers ---

    def _new_trackers(self) -> RowTrackers | None:
        if self._tracking is None:
            return None
        return RowTrackers(self._tracked(), self._tracking, self._seed, self.updates.since)

    def _tracked(self, shard: int | None = None) -> dict[range, LiveRows]:
        """Return the tracked rows of all shards, or of one, with what SCAR looks at."""
        assert self._tracking is not None
        scar = self._tracking.tracker == "scar"
        live = self._live()
        return tracked_rows(self._adapter, self._layout, live, self._tables, scar, shard)
