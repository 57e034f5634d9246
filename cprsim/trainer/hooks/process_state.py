"""The state of one process of a training loop: its tables, the dense part, its trackers."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from torch import Tensor
from torch.optim import Optimizer

from cprsim.basics.interrupts import Ended, Threads
from cprsim.contract import Plan, Save
from cprsim.errors import UsageError
from cprsim.rows.trackers import RowIds
from cprsim.scenario import Scenario
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.layout import Layout, Live, RowRange, check_live
from cprsim.trainer.hooks.modified import UpdatedRows
from cprsim.trainer.hooks.ranks import OneProcess, Ranks
from cprsim.trainer.hooks.sharded import is_sharded
from cprsim.trainer.hooks.stores import (
    Image,
    ProcessStores,
    content_for_others,
    take_from_another,
)
from cprsim.trainer.hooks.trackers import LiveRows, RowTrackers
from cprsim.trainer.hooks.update_count import UpdateCount
from cprsim.trainer.hooks.update_gate import UpdateGate

_Batch = TypeVar("_Batch")
#: Threads that write: most of the time they wait for the disk.
_WRITERS = 8


@dataclass
class Snapshot:
    """Copies of all that a save stores, and their files, once these are being written.

    `chosen`: the rows that a tracker chose, or None. `modified`: whether it has the rows alone that
    were modified. `whole_bytes`: of a save of everything.
    """

    images: Sequence[Image] = ()
    chosen: RowIds | None = None
    modified: bool = False
    whole_bytes: int = 1
    files: Sequence[Future[int]] = ()
    ended: Ended[int] = field(default_factory=Ended)

    @property
    def whole(self) -> bool:
        """Whether all rows are in it."""
        return self.chosen is None and not self.modified

    def watch(self, *files: Future[int]) -> None:
        """These are its files."""
        self.files = [self.ended.watch(each) for each in files]

    def fail(self, error: Exception) -> None:
        """It can't be written."""
        failed: Future[int] = Future()
        failed.set_exception(error)
        self.watch(failed)

    def done(self) -> bool:
        """Whether no file is under way any more."""
        return all(each in self.ended for each in self.files)

    def result(self) -> tuple[int, Exception | None]:
        """Wait for all files: the bytes written, and what went wrong with the first that failed."""
        for each in self.files:
            self.ended.wait(each)
        try:
            return sum(each.result() for each in self.files), None
        except Exception as error:
            return 0, error


class ProcessState(Generic[_Batch]):
    """Saves and loads the tables and the dense part that an adapter leads to.

    Arguments are those of `TrainerHooks`, with the plan, which may choose the rows of saves, and
    the system that saves. `stores`: its checkpoints. `gate`: closed while rows are copied or
    loaded. `servers`: how many shards the job has in all processes. `tells_modified`, `by_rows`:
    whether saves may be of modified rows alone, or of those or rows that a tracker chose.
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
        self._layout = Layout(given, servers, rows)
        check_live(given, adapter.shards())
        self._tables = rows.tracked_tables if rows is not None else ()
        by_shard = plan.tracking is None
        self.updates = UpdateCount(len(self.shards) if by_shard else self._layout.rows)
        self._trackers = self._new_trackers()
        self._modified = UpdatedRows(self._layout, self._tables) if plan.tells_modified else None
        self.gate = UpdateGate()
        self.stores = ProcessStores(adapter, self._layout, folder, earlier, policy)
        self._gap = False
        # Made here, and given its work by whoever trains: at the end of the interpreter what was
        # begun is ended, but no thread may be given more.
        self._writers = Threads(_WRITERS, "cprsim-save")

    @property
    def shards(self) -> tuple[int, ...]:
        """Numbers of the shards that are here."""
        return self._layout.shards

    def missing(self, total: Callable[[float], float]) -> list[str]:
        """Shards and rows that no process has, in words; `total` adds up over all processes."""
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
        return found

    def check(self) -> set[tuple[str, int]]:
        """Find optimizers in the dense part that keep state of rows which the adapter doesn't give.

        Returns the name of each, and a table. Raises `UsageError` where tensors are not of the
        shapes that they had at the start.
        """
        live = self._live()
        tables = {_memory(tensors[0]): part.table for part, tensors in live.items()}
        given = {_memory(each) for tensors in live.values() for each in tensors}
        return {
            (name, tables[_memory(parameter)])
            for name, each in self._adapter.dense().items()
            if isinstance(each, Optimizer)
            for parameter, state in each.state.items()
            if _memory(parameter) in tables
            and any(
                isinstance(value, Tensor)
                and value.shape[:1] == parameter.shape[:1]
                and _memory(value) not in given
                for value in state.values()
            )
        }

    def observe(self, step: int, batch: _Batch) -> None:
        """Tell the trackers which rows the batch of a step has looked up."""
        numbers = None
        if self._trackers is not None:
            numbers = self._layout.numbers(self._adapter.lookups(batch))
            self._trackers.observe(numbers)
        elif self._modified is not None:
            looked_up = self._layout.numbers(self._adapter.lookups(batch))
            self._modified.note(step, looked_up.numpy())
        self.updates.did(numbers)

    def _live(self) -> dict[RowRange, tuple[Tensor, ...]]:
        return self._layout.tensors(self._adapter.shards())

    # --- Saving ---

    def snapshot(self, step: int, save: Save, usable: int, accounts: dict[str, Any]) -> Snapshot:
        """Copy the rows that deserve a save, or all, and the dense part.

        `usable`: the step of the last checkpoint that all processes have.
        """
        with self.gate.closed():
            live = self._live()
            chosen = rows = None
            if self._modified is not None:
                rows = self._modified.select(step, None if self._gap else save.since, usable)
                self._check_unused(self._modified, step, live)
            elif self._trackers is not None and save.portion != 1 and not self._gap:
                rows = chosen = self._trackers.select()
            accounts["updates"] = self.updates.document(chosen)
            since = save.since if self._modified is not None and rows is not None else None
            images = self.stores.rows_now(live, rows, since)
            # Should a file of a chain be spoilt, rows return to an older step: so must this.
            chains = self.stores.rows if self.by_rows else ()
            keeps = frozenset(step for each in chains for step in each.steps)
            dense = self.stores.dense_now(accounts, keeps)
        whole_bytes = sum(each.nbytes for tensors in live.values() for each in tensors)
        whole_bytes += sum(each.nbytes for each in dense.arrays)
        return Snapshot((*images, dense), chosen, since is not None, whole_bytes)

    def _check_unused(self, modified: UpdatedRows, step: int, live: Live) -> None:
        if not self.gate.used:  # else rows of batches that are not reported yet may have changed
            sample = [each.arrays for each in self.stores.rows_now(live, modified.sampled)]
            modified.check(step, sample, [block.numbers for block in self._layout.blocks])

    def write(self, step: int, snapshot: Snapshot, returns_to: Collection[int]) -> None:
        """Begin to store it, all files at once; one is done before the next is begun.

        `returns_to`: as in `CheckpointStore.write`.
        """
        # Each of them is its own store; whoever returns takes a step that all of them have.
        submit = self._writers.submit
        snapshot.watch(*(submit(each.write, step, returns_to) for each in snapshot.images))

    def saved(self, snapshot: Snapshot, sure: bool) -> None:
        """Take note that what is in the snapshot is stored, or will be, which is not `sure`."""
        self.updates.saved(snapshot.chosen, sure)
        if self._trackers is not None:
            rows = np.arange(self._layout.rows) if snapshot.chosen is None else snapshot.chosen
            self._trackers.saved(rows)
        if snapshot.chosen is None:
            self._gap = False

    def void(self, snapshot: Snapshot) -> None:
        """What was to be stored wasn't."""
        self.updates.settle(stored=False)
        if not snapshot.modified:  # trackers take it for saved, so the next save is of all rows
            self._gap = True

    def forget(self) -> None:
        """All is other than what was saved: the next save is of all rows."""
        self._trackers = self._new_trackers()
        if self._modified is not None:
            self._modified.return_to(0, np.empty(0, np.int64))
        self._gap = True

    # --- Loading ---

    def load_all(self, at_most: int, ranks: Ranks) -> tuple[int, int]:
        """Return everything to one checkpoint; gives its step, and the bytes read."""
        with self.gate.closed():
            step, size = self.stores.load(at_most, self._layout.parts, True, ranks.least)
        self._trackers = self._new_trackers()
        if self._modified is not None:
            self._modified.return_to(step, self.stores.changed)
        self._gap = False
        return step, size

    def load_dense(self, at_most: int) -> tuple[int, int]:
        """Return the dense part alone; gives its step, and the bytes read."""
        return self.stores.load(at_most, (), True, OneProcess().least)

    def load_shard(self, shard: int, at_most: int) -> tuple[int, int]:
        """Return one shard to its last checkpoint; gives its step, and the bytes read."""
        before = max((step for step in self.stores.steps if step <= at_most), default=0)
        with self.gate.closed():
            parts = self._parts_of(shard)
            step, size = self.stores.load(at_most, parts, False, OneProcess().least)
        self._lose(shard, gap=step < before)  # what was saved since is in files that are spoilt
        return step, size

    def _lose(self, shard: int, gap: bool) -> None:
        """What was done in a shard since its save is lost; `gap`: no save may leave out rows."""
        self._gap = self._gap or gap
        places = [part.numbers for part in self._parts_of(shard)]
        if self._trackers is None:  # updates are counted by shards
            at = self._layout.shards.index(shard)
            places = [range(at, at + 1)]
        else:
            self._trackers.forget(self._tracked(shard))
        self.updates.lose(places)

    def _parts_of(self, shard: int) -> list[RowRange]:
        return [part for part in self._layout.parts if part.shard == shard]

    def rows_of(self, shard: int) -> dict[str, Any]:
        """Which rows a shard has: what one with the same rows says as well."""
        return {"rows": self._layout.document(shard)}

    def content(self, shard: int) -> dict[str, Any]:
        """The tensors in use of a shard, those of each part."""
        live = self._live()
        return {"tensors": [each for part in self._parts_of(shard) for each in live[part]]}

    def take(self, shard: int, content: Mapping[str, Any]) -> None:
        """Take over what another with the same rows holds; what was done here since is lost."""
        with self.gate.closed():
            mine = self.content(shard)["tensors"]
            for each, theirs in zip(mine, content["tensors"], strict=True):
                each.copy_(theirs)
        self._lose(shard, gap=self._modified is not None)

    def copy_dense(self, ranks: Ranks, lost: bool) -> int:
        """Take the dense part from a process that has it, if it is lost here; gives its bytes."""
        content = ranks.copied(None if lost else content_for_others(self._adapter))
        return take_from_another(self._adapter, content) if lost and content is not None else 0

    @property
    def accounts(self) -> dict[str, Any]:
        """What the checkpoint of the dense part says that was loaded last."""
        return self.stores.accounts

    # --- Trackers ---

    def _new_trackers(self) -> RowTrackers | None:
        if self._tracking is None:
            return None
        return RowTrackers(self._tracked(), self._tracking, self._seed, self.updates.since)

    def _tracked(self, shard: int | None = None) -> dict[range, LiveRows]:
        """The tracked rows of all shards, or of one, with what SCAR looks at."""
        live, found = self._live(), dict[range, LiveRows]()
        by_values = self._tracking is not None and self._tracking.tracker == "scar"
        for part in self._layout.parts:
            if part.table not in self._tables or shard not in {None, part.shard}:
                continue
            found[part.numbers] = weights = live[part][0]
            if by_values and hasattr(self._adapter, "movement"):
                found[part.numbers] = partial(self._moved, part)
            elif by_values and weights.device.type != "cpu":
                raise UsageError(
                    f"shards(): table {part.table} is on {weights.device}, and scar compares rows "
                    "in CPU memory; keep them there, give the adapter movement(), or take a policy "
                    "whose tracker is mfu or ssu"
                )
        return found

    def _moved(self, part: RowRange) -> Tensor:
        """What the adapter says of how far the rows of a part have moved."""
        adapter: Any = self._adapter
        parts, moved = adapter.shards()[part.shard], list(adapter.movement().get(part.shard, ()))
        if [each.shape for each in moved] != [(len(each.weights),) for each in parts]:
            raise UsageError(
                f"movement(): give for shard {part.shard} a tensor of shape (rows,) for each part "
                "that shards() gives"
            )
        places = [(each.table, each.first) for each in parts]
        found: Tensor = moved[places.index((part.table, part.first))]
        return found.detach()


def _memory(tensor: Tensor) -> int | None:
    """Where the elements of a tensor are, which views share; None if it is held in parts."""
    return None if is_sharded(tensor) else tensor.untyped_storage().data_ptr()
