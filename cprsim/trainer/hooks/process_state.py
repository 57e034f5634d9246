"""The state of one process of a training loop, and its checkpoints: saved, and loaded.

Rows lie in blocks, each of which has a store of checkpoints, as has the dense part. Each store is
by itself; a load takes the newest step that all of them have.
"""

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np
from torch import Tensor
from torch.nn import Module
from torch.optim import Optimizer

from cprsim.basics.files import sync_folder
from cprsim.basics.interrupts import Threads
from cprsim.contract import Plan, Save
from cprsim.contract.actions import Since
from cprsim.errors import RunError, UsageError
from cprsim.rows.trackers import RowIds
from cprsim.scenario import Scenario
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.job_folder import Claim, JobFolder, JobProcess, JobStart, agreed_start
from cprsim.trainer.hooks.layout import Layout, Live, RowRange, check_live
from cprsim.trainer.hooks.nested import from_bytes, packed, unpacked
from cprsim.trainer.hooks.observer import warn_of_spoilt
from cprsim.trainer.hooks.ranks import Least, OneProcess, Ranks, agreed
from cprsim.trainer.hooks.sharded import filled, is_sharded, merged
from cprsim.trainer.hooks.snapshot import Image, Snapshot
from cprsim.trainer.hooks.trackers import LiveRows, RowTrackers
from cprsim.trainer.hooks.updates import UpdateCount, UpdatedRows, UpdateGate
from cprsim.trainer.store.store import CheckpointStore, ReadCheckpoint, last_sound

_Batch = TypeVar("_Batch")
#: Threads that write: most of the time they wait for the disk.
_WRITERS = 8


class _Wanted(NamedTuple):
    """Rows of a part that a block's checkpoint has: in the part from `to`, there from `at`."""

    part: RowRange
    to: int
    at: int
    rows: int


class ProcessState(Generic[_Batch]):
    """The tables and the dense part that an adapter leads to, and their checkpoints.

    Arguments are those of `TrainerHooks`, with the plan, which may choose the rows of saves, and
    the system that saves.

    Attributes
    ----------
    path
        The folder of this process.
    gate
        Closed while rows are copied or loaded.
    servers
        Shards of the job in all processes.
    tells_modified, by_rows
        Whether saves may have modified rows only, or those or rows that a tracker chose.
    updates
        Counts of updates that no checkpoint has.
    unstored
        The message if the first checkpoint can't be stored, and the way out.
    accounts
        The accounts of the job in the dense part that was loaded last.
    dense, rows
        The stores of the dense part and of each block of rows.
    """

    dense: CheckpointStore
    rows: list[CheckpointStore]

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
        by_shard = plan.tracking is None
        self.updates = UpdateCount(len(layout.shards) if by_shard else layout.rows)
        self._trackers = self._new_trackers()
        self._modified = UpdatedRows(layout, self._tables) if plan.tells_modified else None
        self._gap = False  # whether the next save has to have all rows
        self.gate = UpdateGate()
        # Made here, and given its work by the thread that trains: at the end of the interpreter
        # work that was begun is ended, but no thread may be given more.
        self._writers = Threads(_WRITERS, "cprsim-save")

        self._policy, self._given, self.path = policy, tuple(earlier), folder
        self._folder = JobFolder(folder)
        fault = f"folder {folder}: the first checkpoint can't be stored"
        self.unstored = fault, "make room, or give another folder"
        tables = json.loads(json.dumps(layout.document()))  # as a claim has them
        whole = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        known = uuid4().hex if self._folder.claim is None else self._folder.claim.id
        self._mine = JobProcess(whole, [*layout.shards], tables, known)
        self._start = JobStart(0, [], "", begun=False)
        self._sources: Sequence[JobProcess] = ()
        self._stopped = self._folder.stopped
        self.accounts: dict[str, Any] = {}

    @property
    def shards(self) -> tuple[int, ...]:
        """Numbers of the shards of this process."""
        return self._layout.shards

    # --- Where the checkpoints are ---

    def begin(self, ranks: Ranks) -> bool:
        """Find what the job starts from; return whether there is anything. All processes call it.

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
                "another"
            )
        self._sources = start.sources
        if self._sources:
            self._stopped = all(JobFolder(each.folder).stopped for each in self._sources)
        else:
            folder.keep_only(start.generation)
        return start.begun

    def replace(self) -> None:
        """Open the folder of a lost process, whose place this one takes.

        Raises `UsageError` if it holds other rows than this process.
        """
        claim = self._folder.claim
        if claim is None or claim.tables != self._mine.tables:
            raise UsageError(
                f"folder {self.path}: does not have the checkpoints of the lost process, with the "
                "same rows; start all processes again"
            )
        self._open(claim.generation)

    def claim(self, ranks: Ranks) -> None:
        """Continue from here only, once all processes have stored what they loaded.

        All processes call it.
        """
        self._sources = ()
        self._write_claim(self._start.claim_of(self._mine, self._policy), ranks)
        self._folder.set_stopped(False)

    def renew(self, ranks: Ranks) -> None:
        """Open empty stores, which replace those of before at `settle_on`.

        Raises `RunError` in all processes if one can't.
        """
        new = self._mine.generation + 1
        self._mine = self._mine._replace(generation=new)
        with agreed(ranks, f"folder {self.path}: no new checkpoints can be begun", "make room"):
            self._folder.clear(new)
            self._open(new)

    def settle_on(self, stored: bool, ranks: Ranks) -> None:
        """Continue with the new stores if all processes have `stored` theirs, or the old ones."""
        if stored:
            assert self._folder.claim is not None
            self._write_claim(self._folder.claim, ranks)
        else:
            new = self._mine.generation
            self._open(new - 1)
            self._folder.clear(new)

    def _write_claim(self, claim: Claim, ranks: Ranks) -> None:
        """Have the open stores count, and no other ones."""
        generation = self._mine.generation
        with agreed(ranks, f"folder {self.path}: its claim can't be written", "make room"):
            self._folder.write(claim._replace(generation=generation))
        self._folder.keep_only(generation)  # not before: others may still read what goes now

    def _open(self, generation: int) -> None:
        self._mine = self._mine._replace(generation=generation)
        # Of a folder that has moved, the new path counts from the next start on.
        here = self._mine._replace(folder=self.path)
        self.dense = CheckpointStore(here.dense)
        self.rows = [CheckpointStore(folder) for folder, _ in here.rows]

    def keep_names(self) -> None:
        """Have the disk keep the names of folders that were made; stores sync their files."""
        sync_folder(self.path)
        sync_folder(self._mine.folder.parent)

    @property
    def freed(self) -> int:
        """Bytes of older checkpoints here, which are removed at `claim`."""
        return self._folder.bytes_of_others(self._mine.generation)

    @property
    def moved(self) -> bool:
        """True if the start of the job is still in folders of processes before."""
        return bool(self._sources)

    @property
    def steps(self) -> list[int]:
        """The steps of all checkpoints of anything here."""
        return [step for store in self.stores for step in store.steps]

    @property
    def newest(self) -> int:
        """The step of the newest checkpoint that has everything here; -1 if none has."""
        if self._sources:
            steps = set.intersection(*(each.whole_steps for each in self._sources))
            return max(steps, default=-1)
        return min(max(store.steps, default=-1) for store in self.stores)

    @property
    def stores(self) -> list[CheckpointStore]:
        """All stores of this process."""
        return [self.dense, *self.rows]

    @property
    def stopped(self) -> bool:
        """True if the job was stopped on purpose after the step that was done last."""
        return self._stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        if stopped != self._stopped:
            self._folder.set_stopped(stopped)
            self._stopped = stopped

    # --- Faults to warn of ---

    def missing(self, total: Callable[[float], float]) -> Iterator[str]:
        """Yield a warning of rows that no checkpoint has, and of shards and rows in no process.

        `total` adds up over all processes.
        """
        for each in self._start.grown:
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
        """Note the rows that the batch of a step has looked up."""
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

        `usable`: the step of the last checkpoint that all processes have. `accounts`: those of the
        job, which are stored with the dense part.
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
            images = self._images(live, rows, since)
            # Should a file of a chain be spoilt, rows return to an older step: so must this.
            chains = self.rows if self.by_rows else ()
            keeps = frozenset(step for each in chains for step in each.steps)
            content = packed({"state": self._states(), "job": accounts})
            dense = Image(self.dense, content, keeps=keeps)
        whole_bytes = sum(each.nbytes for tensors in live.values() for each in tensors)
        whole_bytes += sum(each.nbytes for each in content)
        return Snapshot((*images, dense), chosen, since is not None, whole_bytes)

    def _images(
        self, live: Live, numbers: RowIds | None, since: Since | None = None
    ) -> list[Image]:
        """Copy all rows, or those of these numbers, a block each."""
        blocks = zip(self.rows, self._layout.blocks, strict=True)
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
        step, size, changed = self._load(at_most, self._layout.parts, True, ranks.least)
        self._trackers = self._new_trackers()
        if self._modified is not None:
            self._modified.return_to(step, changed)
        self._gap = False
        return step, size

    def load_dense(self, at_most: int) -> tuple[int, int]:
        """Return the dense part only; return its step, and the bytes read."""
        return self._load(at_most, (), True, OneProcess().least)[:2]

    def load_shard(self, shard: int, at_most: int) -> tuple[int, int]:
        """Return one shard to its last checkpoint; return its step, and the bytes read."""
        before = max((step for step in self.steps if step <= at_most), default=0)
        parts = self._parts_of(shard)
        step, size, _ = self._load(at_most, parts, False, OneProcess().least)
        self._lose(shard, gap=step < before)  # what was saved since is in files that are spoilt
        return step, size

    def _load(
        self, at_most: int, parts: Sequence[RowRange], dense: bool, least: Least
    ) -> tuple[int, int, RowIds]:
        """Return these rows, and the dense part, to the last checkpoint up to a step.

        `least`: of all processes that return together; if one has to go further back, all go as
        far. Rows that no checkpoint has keep their values.

        Returns its step, the bytes read here, and the numbers of the rows that it has other than
        its base. Raises `RunError` in all processes if one can't load.
        """
        with self.gate.closed():
            places = [*self._places(parts, dense)]
            size, spoilt = 0, dict[str, None]()
            while True:
                found: list[ReadCheckpoint] = []
                with _all_can(least):
                    found += [self._read(*each, at_most) for each in places]
                size += sum(each.size for each in found)
                spoilt |= dict.fromkeys(itertools.chain(*(each.spoilt for each in found)))
                steps = [each.step for each in found] or [at_most]
                first, last = least(min(steps)), -least(-max(steps))
                if first == last:
                    break
                at_most = first
            warn_of_spoilt(spoilt, first)
            with _all_can(least):
                if not self.moved:
                    stores = {store.folder: store for store in self.stores}
                    for (folder, _), read in zip(places, found, strict=True):
                        with _readable(folder):
                            stores[folder].return_to(read)
                return first, size, self._take(places, found)

    def _places(
        self, parts: Sequence[RowRange], dense: bool
    ) -> Iterator[tuple[Path, list[_Wanted] | None]]:
        """Yield the folders to read: of dense parts (None), and of blocks with wanted rows."""
        sources = self._sources or [self._mine._replace(folder=self.path)]
        if dense:
            for each in sources:
                yield each.dense, None
        for each in sources:
            for folder, held in each.rows:
                if wanted := [*_shared(parts, held)]:
                    yield folder, wanted

    def _read(self, folder: Path, wanted: list[_Wanted] | None, at_most: int) -> ReadCheckpoint:
        """Read the last sound checkpoint; of a block the arrays of one wanted range after another.

        Copies if it is of a process before: little of each may be wanted.
        """
        with _readable(folder):
            found = last_sound(folder, at_most)
        if found is None:
            raise RunError(f"{folder}: no sound checkpoint is left in it; begin in another folder")
        if wanted is None:
            return found
        rows = (array[each.at : each.at + each.rows] for each in wanted for array in found.arrays)
        return found._replace(arrays=tuple(each.copy() if self.moved else each for each in rows))

    def _take(
        self,
        places: Sequence[tuple[Path, list[_Wanted] | None]],
        found: Sequence[ReadCheckpoint],
    ) -> RowIds:
        """Load what was read; return the numbers of the rows that differ from their base."""
        # The dense part first: an optimizer that loads may make the state of rows again.
        pairs = [*zip(places, found, strict=True)]
        whole = [unpacked(read.arrays) for (_, wanted), read in pairs if wanted is None]
        if whole:
            self.accounts = whole[0]["job"]
            if self.moved:
                self.accounts = _accounts([each["job"] for each in whole], self._start.takes_counts)
            self._take_dense(merged([each["state"] for each in whole]))
        live, changed = self._live(), [np.empty(0, np.int64)]
        blocks = dict(zip((store.folder for store in self.rows), self._layout.blocks, strict=True))
        for (folder, wanted), read in pairs:
            arrays = iter(read.arrays)
            for part, to, _, rows in wanted or ():
                for mine in live[part]:
                    content = from_bytes(next(arrays), mine.dtype, (rows, *mine.shape[1:]))
                    mine[to : to + rows] = content
            if wanted is not None and not self.moved:
                changed.append(read.changed + blocks[folder].numbers.start)
        return np.concatenate(changed)

    def _states(self) -> dict[str, Mapping[str, Any]]:
        return {name: each.state_dict() for name, each in self._adapter.dense().items()}

    def _take_dense(self, state: Mapping[str, Any]) -> None:
        live = self._adapter.dense()
        if live.keys() != state.keys():
            raise UsageError(
                f"dense(): gives {sorted(live)}, but the checkpoint has {sorted(state)}; give the "
                "same, or another folder"
            )
        for name, each in live.items():
            stored = state[name]
            now: Any = each if isinstance(each, Optimizer) else None
            # The state of others is read only if needed: it may be costly, or draw random numbers.
            if isinstance(each, Module) or (now is None and is_sharded(stored)):
                now = each.state_dict()
            each.load_state_dict(filled(stored, now, f"dense().{name}"))

    def copy_dense(self, ranks: Ranks, lost: bool) -> int:
        """Take the dense part from a process that has it, if it is lost here; return its bytes.

        Each process keeps the tensors that it holds a part of.
        """
        mine = (
            {} if lost else {n: each for n, each in self._states().items() if not is_sharded(each)}
        )
        content = ranks.copied(None if lost else packed(mine))
        if not lost or content is None:
            return 0
        live = self._adapter.dense()
        for name, state in unpacked(content).items():
            live[name].load_state_dict(state)
        return sum(each.nbytes for each in content)

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

    def rows_of(self, shard: int) -> dict[str, Any]:
        """Return the rows of a shard, in a form that is the same for its twins."""
        return {"rows": self._layout.document(shard)}

    def content(self, shard: int) -> dict[str, Any]:
        """Return the tensors in use of a shard, those of each part."""
        live = self._live()
        return {"tensors": [each for part in self._parts_of(shard) for each in live[part]]}

    def take(self, shard: int, content: Mapping[str, Any]) -> None:
        """Take the content of a twin; what was done here since the averaging is lost."""
        with self.gate.closed():
            mine = self.content(shard)["tensors"]
            for each, theirs in zip(mine, content["tensors"], strict=True):
                each.copy_(theirs)
        self._lose(shard, gap=self._modified is not None)

    # --- Trackers ---

    def _new_trackers(self) -> RowTrackers | None:
        if self._tracking is None:
            return None
        return RowTrackers(self._tracked(), self._tracking, self._seed, self.updates.since)

    def _tracked(self, shard: int | None = None) -> dict[range, LiveRows]:
        """Return the tracked rows of all shards, or of one, with what SCAR looks at."""
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
        """Return how far the rows of a part have moved, as the adapter has it."""
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


@contextmanager
def _all_can(least: Least) -> Iterator[None]:
    """Raise in all processes if one fails in this block: its own error, or that another failed."""
    failed: Exception | None = None
    try:
        yield
    except Exception as error:  # of a user's load_state_dict, too
        failed = error
    if not least(int(failed is None)):
        raise failed or RunError(
            "another process can't load its part of a checkpoint; see its error"
        )


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Raise `RunError` if the system refuses something in this block."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{folder}: a checkpoint can't be read now: {error}; try again, or remove that file to "
            "go on from the checkpoint before"
        ) from error


def _shared(parts: Sequence[RowRange], held: Sequence[RowRange]) -> Iterator[_Wanted]:
    """Yield the rows that both have."""
    for part, other in itertools.product(parts, held):
        if (part.table, part.kinds) != (other.table, other.kinds):
            continue
        first = max(part.first, other.first)
        rows = min(part.first + part.rows, other.first + other.rows) - first
        if rows > 0:
            yield _Wanted(part, first - part.first, first - other.first + other.start, rows)


def _accounts(all_said: Sequence[dict[str, Any]], takes_counts: bool) -> dict[str, Any]:
    """Return the accounts of the job, for one process to continue from.

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


def _memory(tensor: Tensor) -> int | None:
    """Return the address of a tensor's elements, which views share; None if it is in parts."""
    return None if is_sharded(tensor) else tensor.untyped_storage().data_ptr()
