"""The checkpoints of one process: in which folder they are, and what is read from them.

Rows lie in blocks, each of which has a store of checkpoints, as has the dense part. Each store is
by itself; a load takes the newest step that all of them have.
"""

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from cprsim.basics.files import sync_folder
from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.job_folder import Claim, JobFolder, JobProcess
from cprsim.trainer.hooks.job_start import JobStart, agreed_start
from cprsim.trainer.hooks.layout import Layout, RowBlock, RowRange
from cprsim.trainer.hooks.observer import warn_of_spoilt
from cprsim.trainer.hooks.ranks import Ranks, agreed, all_can
from cprsim.trainer.store.store import CheckpointStore, ReadCheckpoint, last_sound


class Wanted(NamedTuple):
    """Rows of a part that a block's checkpoint has: in the part from `to`, there from `at`."""

    part: RowRange
    to: int
    at: int
    rows: int


class Read(NamedTuple):
    """A checkpoint that was read: of a dense part, `wanted` being None, or of a block."""

    folder: Path
    wanted: list[Wanted] | None
    checkpoint: ReadCheckpoint


class ProcessCheckpoints:
    """The checkpoints of the rows of a layout and of the dense part.

    `folder`: of this process. `earlier`: folders of processes before. `policy`: the system that
    saves.

    Attributes
    ----------
    path, folder
        The folder of this process, and its claim.
    unstored
        The message if the first checkpoint can't be stored, and the way out.
    start, was_stopped
        What the job starts from, and whether it was stopped on purpose; known from `begin` on.
    dense, rows
        The stores of the dense part and of each block of rows.
    """

    dense: CheckpointStore
    rows: list[CheckpointStore]
    start: JobStart
    was_stopped: bool

    def __init__(self, folder: Path, earlier: Sequence[Path], layout: Layout, policy: str) -> None:
        self._policy, self._given, self.path = policy, tuple(earlier), folder
        self.folder = JobFolder(folder)
        fault = f"folder {folder}: the first checkpoint can't be stored"
        self.unstored = fault, "make room, or give another folder"
        tables = json.loads(json.dumps(layout.document()))  # as a claim has them
        whole = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        known = uuid4().hex if self.folder.claim is None else self.folder.claim.id
        self._mine = JobProcess(whole, [*layout.shards], tables, known)
        self._sources: Sequence[JobProcess] = ()

    def begin(self, ranks: Ranks) -> bool:
        """Find what the job starts from; return whether there is anything. All processes call it.

        Raises as `agreed_start` does, with nothing written. What is loaded from other checkpoints
        counts as stored here only after `claim`, so that a start which is killed can be repeated.
        """
        mine, folder = self._mine, self.folder
        start = self.start = agreed_start(mine, folder, self._given, self._policy, ranks)
        claim, generation = start.claim, start.claim.generation
        if start.sources and folder.claim is not None:
            claim = folder.claim
        elif start.sources:  # until all have stored theirs
            claim = claim._replace(generation=-1, tables=[], processes=[])
        with agreed(ranks, *self.unstored):
            folder.write(claim)
            if start.sources:
                folder.clear(generation)
            self._open(generation)
        read = JobFolder(self.path).claim
        if not ranks.least(int(read is not None and read.id == mine.id)):
            raise UsageError(
                f"folder {self.path}: several processes of the job have the same folder; give each "
                "another"
            )
        self._sources = start.sources
        self.was_stopped = folder.stopped
        if self._sources:
            self.was_stopped = all(JobFolder(each.folder).stopped for each in self._sources)
        else:
            folder.keep_only(generation)
        return start.begun

    def replace(self) -> None:
        """Open the folder of a lost process, whose place this one takes.

        Raises `UsageError` if it holds other rows than this process.
        """
        claim = self.folder.claim
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
        self._write_claim(self.start.claim, ranks)

    def renew(self, ranks: Ranks) -> None:
        """Open empty stores, which replace those of before at `settle_on`.

        Raises `RunError` in all processes if one can't.
        """
        new = self._mine.generation + 1
        self._mine = self._mine._replace(generation=new)
        with agreed(ranks, f"folder {self.path}: no new checkpoints can be begun", "make room"):
            self.folder.clear(new)
            self._open(new)

    def settle_on(self, stored: bool, ranks: Ranks) -> None:
        """Continue with the new stores if all processes have `stored` theirs, or the old ones."""
        if stored:
            assert self.folder.claim is not None
            self._write_claim(self.folder.claim, ranks)
        else:
            new = self._mine.generation
            self._open(new - 1)
            self.folder.clear(new)

    def _write_claim(self, claim: Claim, ranks: Ranks) -> None:
        """Have the open stores count, and no other ones."""
        generation = self._mine.generation
        with agreed(ranks, f"folder {self.path}: its claim can't be written", "make room"):
            self.folder.write(claim._replace(generation=generation))
        self.folder.keep_only(generation)  # not before: others may still read what goes now

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
        return self.folder.bytes_of_others(self._mine.generation)

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

    # --- Reading ---

    def read(
        self, at_most: int, parts: Sequence[RowRange], dense: bool, ranks: Ranks
    ) -> tuple[int, int, list[Read]]:
        """Read the last checkpoint up to a step, of these rows and of the dense part if wanted.

        `ranks`: those that read together; if one has to go further back, all go as far.

        Returns its step, the bytes read here, and what was read. Raises `RunError` in all processes
        if one can't read.
        """
        places = [*self._places(parts, dense)]
        size, spoilt = 0, dict[str, None]()
        while True:
            found: list[ReadCheckpoint] = []
            with all_can(ranks):
                found += [self._read(*each, at_most) for each in places]
            size += sum(each.size for each in found)
            spoilt |= dict.fromkeys(itertools.chain(*(each.spoilt for each in found)))
            steps = [each.step for each in found] or [at_most]
            first, last = ranks.least(min(steps)), -ranks.least(-max(steps))
            if first == last:
                break
            at_most = first
        warn_of_spoilt(spoilt, first)
        pairs = zip(places, found, strict=True)
        return first, size, [Read(*place, checkpoint) for place, checkpoint in pairs]

    def return_to(self, found: Sequence[Read]) -> None:
        """Have later checkpoints than those that were read no longer count."""
        if self.moved:
            return
        stores = {store.folder: store for store in self.stores}
        for each in found:
            with _readable(each.folder):
                stores[each.folder].return_to(each.checkpoint)

    def _places(
        self, parts: Sequence[RowRange], dense: bool
    ) -> Iterator[tuple[Path, list[Wanted] | None]]:
        """Yield the folders to read: of dense parts (None), and of blocks with wanted rows."""
        sources = self._sources or [self._mine._replace(folder=self.path)]
        if dense:
            for each in sources:
                yield each.dense, None
        for each in sources:
            for folder, block in each.rows:
                if wanted := [*_shared(parts, block)]:
                    yield folder, wanted

    def _read(self, folder: Path, wanted: list[Wanted] | None, at_most: int) -> ReadCheckpoint:
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


def _shared(parts: Sequence[RowRange], block: RowBlock) -> Iterator[Wanted]:
    """Yield the rows of these parts that a block has, too."""
    for part, other in itertools.product(parts, block.parts):
        if (part.table, part.kinds) != (other.table, other.kinds):
            continue
        first = max(part.first, other.first)
        rows = min(part.first + part.rows, other.first + other.rows) - first
        if rows > 0:
            at = first - other.first + other.start - block.numbers.start
            yield Wanted(part, first - part.first, at, rows)
