"""Copies of all that a save of a process stores, and how their writing ends."""

from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.interrupts import Ended
from cprsim.contract.actions import Since
from cprsim.rows.trackers import RowIds
from cprsim.trainer.store.files import Arrays
from cprsim.trainer.store.store import CheckpointStore


class Image(NamedTuple):
    """A copy for a store: all rows, or the rows `ids`, or the dense part.

    `since`: the checkpoint that the rows are on top of, as in `Save`. `keeps`: steps of older
    checkpoints that stay.
    """

    store: CheckpointStore
    arrays: Arrays
    ids: NDArray[np.int64] | None = None
    since: Since | None = None
    keeps: frozenset[int] = frozenset()

    def write(self, step: int, returns_to: Collection[int]) -> int:
        """Store it, and keep what the job may still return to; return the bytes written."""
        return self.store.write(step, self.arrays, self.ids, returns_to, self.since, self.keeps)


@dataclass
class Snapshot:
    """Copies of all that a save stores, and their files, once these are being written.

    `chosen`: the rows that a tracker chose, or None. `modified`: whether it has the modified rows
    only. `whole_bytes`: size of a save of everything.
    """

    images: Sequence[Image] = ()
    chosen: RowIds | None = None
    modified: bool = False
    whole_bytes: int = 1
    files: Sequence[Future[int]] = ()
    ended: Ended[int] = field(default_factory=Ended)

    @property
    def whole(self) -> bool:
        """True if it has all rows."""
        return self.chosen is None and not self.modified

    def watch(self, *files: Future[int]) -> None:
        """Take these for its files."""
        self.files = [self.ended.watch(each) for each in files]

    def fail(self, error: Exception) -> None:
        """Note that it can't be written."""
        failed: Future[int] = Future()
        failed.set_exception(error)
        self.watch(failed)

    def done(self) -> bool:
        """Return whether all files are written, or have failed."""
        return all(each in self.ended for each in self.files)

    def result(self) -> tuple[int, Exception | None]:
        """Wait for all files; return the bytes written, and the error of the first that failed."""
        for each in self.files:
            self.ended.wait(each)
        try:
            return sum(each.result() for each in self.files), None
        except Exception as error:
            return 0, error
