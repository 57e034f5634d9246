"""What a process of a training loop has in checkpoints: blocks of rows, and the dense part."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.nn import Module
from torch.optim import Optimizer

from cprsim.contract.actions import Since
from cprsim.errors import RunError, UsageError
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.layout import Layout, Live, RowBlock
from cprsim.trainer.hooks.nested import from_bytes, joined, packed, unpacked
from cprsim.trainer.hooks.observer import warn_of_spoilt
from cprsim.trainer.hooks.ranks import Least
from cprsim.trainer.hooks.sharded import filled, is_sharded
from cprsim.trainer.store.files import Arrays
from cprsim.trainer.store.store import CheckpointStore, ReadCheckpoint


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


class CheckpointedRows:
    """The rows of one block, wherever the adapter says that they are now.

    `changed`: numbers in the process of the rows that the checkpoint that was loaded last has other
    than its base.
    """

    def __init__(
        self, block: RowBlock, layout: Layout, adapter: ShardAdapter[Any], folder: Path
    ) -> None:
        self.store = CheckpointStore(folder)
        self._block, self._layout, self._adapter = block, layout, adapter
        self.changed = np.empty(0, np.int64)

    def image(self, live: Live, numbers: RowIds | None, since: Since | None = None) -> Image:
        """A copy of its rows, or of those of these numbers in the process."""
        if numbers is None:
            return Image(self.store, self._block.bytes_of(live))
        chosen = []
        for part in self._block.parts:
            ids = _within(numbers, part.numbers) - part.start
            chosen.append(tuple(each[ids] for each in live[part]))
        mine = _within(numbers, self._block.numbers) - self._block.numbers.start
        return Image(self.store, joined(chosen), mine, since)

    def load(self, at_most: int, shard: int | None = None) -> tuple[int, int]:
        """Return to the last sound checkpoint up to a step; gives its step, and the bytes read.

        All rows return, or those of one shard.
        """
        found = _restored(self.store, at_most)
        self.changed = found.changed + self._block.numbers.start
        live = self._layout.tensors(self._adapter.shards())
        for part in self._block.parts:
            if shard is not None and part.shard != shard:
                continue
            first = part.start - self._block.numbers.start
            for mine, stored in zip(live[part], found.arrays, strict=True):
                content = stored[first : first + part.rows]
                mine.copy_(from_bytes(content, mine.dtype, mine.shape))
        return found.step, found.size

    def has(self, shard: int) -> bool:
        """Whether rows of that shard are among these."""
        return any(part.shard == shard for part in self._block.parts)


class CheckpointedDense:
    """All that is in no table, and the accounts of the job.

    `accounts`: what the checkpoint that was loaded last says of the job.
    """

    def __init__(self, adapter: ShardAdapter[Any], folder: Path) -> None:
        self.store = CheckpointStore(folder)
        self.accounts: dict[str, Any] = {}
        self._adapter = adapter

    def image(self, accounts: dict[str, Any]) -> Image:
        """A copy of it."""
        return Image(self.store, packed({"state": self._states(), "job": accounts}))

    def content(self) -> Arrays:
        """What another process can take over with `take`: all but shards, which are its own."""
        return packed({name: each for name, each in self._states().items() if not is_sharded(each)})

    def take(self, content: Arrays) -> int:
        """Take over what another process has; gives its bytes."""
        live = self._adapter.dense()
        for name, state in unpacked(content).items():
            live[name].load_state_dict(state)
        return sum(each.nbytes for each in content)

    def load(self, at_most: int) -> tuple[int, int]:
        """As `CheckpointedRows.load`."""
        found = _restored(self.store, at_most)
        self.take_whole(unpacked(found.arrays))
        return found.step, found.size

    def take_whole(self, whole: Mapping[str, Any]) -> None:
        """Take over what a checkpoint of the dense part has, with the accounts of the job."""
        live, state = self._adapter.dense(), whole["state"]
        if live.keys() != state.keys():
            raise UsageError(
                f"dense(): gives {sorted(live)}, but the checkpoint has {sorted(state)}; give the "
                "same, or another folder"
            )
        self.accounts = whole["job"]
        for name, each in live.items():
            stored = state[name]
            now: Any = each if isinstance(each, Optimizer) else None
            # Of others it is asked only if needed: it may be costly, or draw random numbers.
            if isinstance(each, Module) or (now is None and is_sharded(stored)):
                now = each.state_dict()
            each.load_state_dict(filled(stored, now, f"dense().{name}"))

    def _states(self) -> dict[str, Mapping[str, Any]]:
        return {name: each.state_dict() for name, each in self._adapter.dense().items()}


def together(
    loads: Sequence[Callable[[int], tuple[int, int]]], at_most: int, least: Least
) -> tuple[int, int]:
    """Return all of these, in all processes, to the last checkpoint that every one of them has.

    Gives its step, and the bytes read here. Where one has to go further back, all go as far. Raises
    `RunError` in all processes where one can't load.
    """
    size = 0
    while True:
        failed: Exception | None = None
        loaded = [(0, 0)]
        try:
            loaded = [load(at_most) for load in loads]
        except Exception as error:  # of a user's load_state_dict, too
            failed = error
        if not least(int(failed is None)):
            other = RunError("another process can't load its part of a checkpoint; see its error")
            raise failed or other
        size += sum(read for _, read in loaded)
        steps = [step for step, _ in loaded]
        first, last = least(min(steps)), -least(-max(steps))
        if first == last:
            return first, size
        at_most = first


def _restored(store: CheckpointStore, at_most: int) -> ReadCheckpoint:
    try:
        found = store.restore(at_most)
    except OSError as error:
        raise RunError(
            f"{store.folder}: a checkpoint can't be read now: {error}; try again, or remove that "
            "file to go on from the checkpoint before"
        ) from error
    if found is None:
        raise RunError(
            f"{store.folder}: no sound checkpoint is left in it; begin in another folder"
        )
    warn_of_spoilt(found.spoilt, found.step)
    return found


def _within(numbers: RowIds, rows: range) -> NDArray[np.int64]:
    first, end = np.searchsorted(numbers, (rows.start, rows.stop))
    return numbers[first:end]
