"""The checkpoints of one process of a job: where they are, from the start on, and their loads."""

import itertools
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from torch.nn import Module
from torch.optim import Optimizer

from cprsim.basics.files import sync_folder
from cprsim.contract.actions import Since
from cprsim.errors import RunError, UsageError
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.job_folder import Claim, JobFolder
from cprsim.trainer.hooks.layout import Layout, Live, RowRange
from cprsim.trainer.hooks.nested import from_bytes, packed, unpacked
from cprsim.trainer.hooks.observer import warn_of_spoilt
from cprsim.trainer.hooks.ranks import Least, Ranks, agreed
from cprsim.trainer.hooks.sharded import filled, is_sharded, merged
from cprsim.trainer.hooks.start import JobProcess, JobStart, agreed_start
from cprsim.trainer.store.files import Arrays
from cprsim.trainer.store.store import CheckpointStore, ReadCheckpoint, last_sound


class Image(NamedTuple):
    """A copy of what a store is to have: all, or the rows `ids` of it.

    `since`: the checkpoint that these are on top of, as in `Save`. `keeps`: steps of older ones
    that stay.
    """

    store: CheckpointStore
    arrays: Arrays
    ids: NDArray[np.int64] | None = None
    since: Since | None = None
    keeps: frozenset[int] = frozenset()

    def write(self, step: int, returns_to: Collection[int]) -> int:
        """Store it, and keep what the job may still return to; gives the bytes written."""
        return self.store.write(step, self.arrays, self.ids, returns_to, self.since, self.keeps)


class _Wanted(NamedTuple):
    """Rows of a part that a checkpoint of a block has: in the part from `to`, there from `at`."""

    part: RowRange
    to: int
    at: int
    rows: int


class ProcessStores:
    """The stores of the dense part and of each block of rows, and the folder that they are in.

    `adapter`, `layout`: lead to the tensors of this process, and say which rows these are.
    `folder`: for the checkpoints of this process. `earlier`: folders of processes that the job had
    before, where `folder` is new. `policy`: the system that saves. `path`: the folder of this
    process. `unstored`: what to say where its first checkpoint can't be stored, and the way out.
    `accounts`: what the dense part that was loaded last says of the job. `changed`: numbers of the
    rows that the checkpoint that was loaded last has other than its base.
    """

    dense: CheckpointStore
    rows: list[CheckpointStore]

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
        self._sources: Sequence[JobProcess] = ()
        self._stopped = self._folder.stopped
        self.accounts: dict[str, Any] = {}
        self.changed: RowIds = np.empty(0, np.int64)

    # --- Where they are ---

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
            self._stopped = all(JobFolder(each.folder).stopped for each in self._sources)
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
        new = self._mine.generation + 1
        self._mine = self._mine._replace(generation=new)
        with agreed(ranks, f"folder {self.path}: no new checkpoints can be begun", "make room"):
            self._folder.clear(new)
            self._open(new)

    def settle_on(self, stored: bool, ranks: Ranks) -> None:
        """Continue with the new stores, if all processes have `stored` theirs, or the old ones."""
        if stored:
            assert self._folder.claim is not None
            self._write(self._folder.claim, ranks)
        else:
            new = self._mine.generation
            self._open(new - 1)
            self._folder.clear(new)

    def _write(self, claim: Claim, ranks: Ranks) -> None:
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

    @property
    def freed(self) -> int:
        """The bytes of older checkpoints here, which go at `claim`."""
        return self._folder.bytes_of_others(self._mine.generation)

    @property
    def moved(self) -> bool:
        """Whether what the job starts from is still in folders of processes before."""
        return bool(self._sources)

    @property
    def grown(self) -> Sequence[str]:
        """Rows of this process that no checkpoint has, in words."""
        return self._start.grown

    @property
    def steps(self) -> list[int]:
        """The steps of all checkpoints of anything here."""
        return [step for store in self._all for step in store.steps]

    @property
    def newest(self) -> int:
        """The step of the newest checkpoint of which everything here is stored; -1: of none."""
        if self._sources:
            steps = set.intersection(*(each.whole_steps for each in self._sources))
            return max(steps, default=-1)
        return min(max(store.steps, default=-1) for store in self._all)

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

    @property
    def _all(self) -> list[CheckpointStore]:
        return [self.dense, *self.rows]

    # --- What is saved ---

    def rows_now(
        self, live: Live, numbers: RowIds | None, since: Since | None = None
    ) -> list[Image]:
        """Copies of all rows, or of those of these numbers, a block each."""
        blocks = zip(self.rows, self._layout.blocks, strict=True)
        return [Image(store, *block.copied(live, numbers), since) for store, block in blocks]

    def dense_now(self, accounts: dict[str, Any], keeps: frozenset[int]) -> Image:
        """A copy of the dense part, with the accounts of the job."""
        content = packed({"state": states(self._adapter), "job": accounts})
        return Image(self.dense, content, keeps=keeps)

    # --- What is loaded ---

    def load(
        self, at_most: int, parts: Sequence[RowRange], dense: bool, least: Least
    ) -> tuple[int, int]:
        """Return these rows, and the dense part, to the last checkpoint up to a step.

        `least`: of all processes that return together; where one has to go further back, all go as
        far. Rows that no checkpoint has keep their values.

        Returns its step, and the bytes read here. Raises `RunError` in all processes where one
        can't load.
        """
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
                stores = {store.folder: store for store in self._all}
                for (folder, _), read in zip(places, found, strict=True):
                    with _readable(folder):
                        stores[folder].return_to(read)
            self._take(places, found)
        return first, size

    def _places(
        self, parts: Sequence[RowRange], dense: bool
    ) -> Iterator[tuple[Path, list[_Wanted] | None]]:
        """The folders to read: of dense parts (None), and of blocks that have some of the rows."""
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

        Copies where it is of a process before: what is wanted of each may be little.
        """
        found = _last(folder, at_most)
        if wanted is None:
            return found
        rows = (array[each.at : each.at + each.rows] for each in wanted for array in found.arrays)
        return found._replace(arrays=tuple(each.copy() if self.moved else each for each in rows))

    def _take(
        self,
        places: Sequence[tuple[Path, list[_Wanted] | None]],
        found: Sequence[ReadCheckpoint],
    ) -> None:
        # The dense part first: an optimizer that loads may make the state of rows again.
        pairs = [*zip(places, found, strict=True)]
        whole = [unpacked(read.arrays) for (_, wanted), read in pairs if wanted is None]
        if whole:
            self.accounts = whole[0]["job"]
            if self.moved:
                said = [each["job"] for each in whole]
                self.accounts = _accounts(said, self._start.takes_counts)
            take_over(self._adapter, merged([each["state"] for each in whole]))
        live = self._layout.tensors(self._adapter.shards())
        for (_, wanted), read in pairs:
            arrays = iter(read.arrays)
            for part, to, _, rows in wanted or ():
                for mine in live[part]:
                    content = from_bytes(next(arrays), mine.dtype, (rows, *mine.shape[1:]))
                    mine[to : to + rows] = content
        blocks = dict(zip((store.folder for store in self.rows), self._layout.blocks, strict=True))
        changed = [
            read.changed + blocks[folder].numbers.start
            for (folder, wanted), read in pairs
            if wanted is not None and not self.moved
        ]
        self.changed = np.concatenate([np.empty(0, np.int64), *changed])


# --- The dense part ---


def states(adapter: ShardAdapter[Any]) -> dict[str, Mapping[str, Any]]:
    """The state of each of its parts, now."""
    return {name: each.state_dict() for name, each in adapter.dense().items()}


def content_for_others(adapter: ShardAdapter[Any]) -> Arrays:
    """What another process can take over: all but what is held in parts, which are its own."""
    return packed({name: each for name, each in states(adapter).items() if not is_sharded(each)})


def take_from_another(adapter: ShardAdapter[Any], content: Arrays) -> int:
    """Take over what another process has; gives its bytes."""
    live = adapter.dense()
    for name, state in unpacked(content).items():
        live[name].load_state_dict(state)
    return sum(each.nbytes for each in content)


def take_over(adapter: ShardAdapter[Any], state: Mapping[str, Any]) -> None:
    """Take over what a checkpoint of the dense part has."""
    live = adapter.dense()
    if live.keys() != state.keys():
        raise UsageError(
            f"dense(): gives {sorted(live)}, but the checkpoint has {sorted(state)}; give the "
            "same, or another folder"
        )
    for name, each in live.items():
        stored = state[name]
        now: Any = each if isinstance(each, Optimizer) else None
        # Of others it is asked only if needed: it may be costly, or draw random numbers.
        if isinstance(each, Module) or (now is None and is_sharded(stored)):
            now = each.state_dict()
        each.load_state_dict(filled(stored, now, f"dense().{name}"))


# --- Reading ---


@contextmanager
def _all_can(least: Least) -> Iterator[None]:
    """Raise in all processes where one fails in this block: its own error, or that it is so."""
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
    """Raise `RunError` where the system refuses something in this block."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{folder}: a checkpoint can't be read now: {error}; try again, or remove that file to "
            "go on from the checkpoint before"
        ) from error


def _last(folder: Path, at_most: int) -> ReadCheckpoint:
    with _readable(folder):
        found = last_sound(folder, at_most)
    if found is None:
        raise RunError(f"{folder}: no sound checkpoint is left in it; begin in another folder")
    return found


def _shared(parts: Sequence[RowRange], held: Sequence[RowRange]) -> Iterator[_Wanted]:
    """The rows that both have."""
    for part, other in itertools.product(parts, held):
        if (part.table, part.kinds) != (other.table, other.kinds):
            continue
        first = max(part.first, other.first)
        rows = min(part.first + part.rows, other.first + other.rows) - first
        if rows > 0:
            yield _Wanted(part, first - part.first, first - other.first + other.start, rows)


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
