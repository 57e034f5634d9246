"""The rows that batches have updated since a checkpoint."""

from collections.abc import Collection, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.actions import Since
from cprsim.errors import UsageError
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.layout import Layout
from cprsim.trainer.store.files import Arrays

#: Rows of which saves look whether they change without being looked up, as by weight decay.
_SAMPLED = 1000
#: Copies of the sampled rows, one tuple for each block.
Sample: TypeAlias = Sequence[Arrays]


class UpdatedRows:
    """The last step, for each row of a process, that looked it up.

    Steps in place of a bitmap for each checkpoint: a failed save leaves nothing to put right, and
    any checkpoint may be built on. A checkpoint of step s has all steps before s and none after, so
    a row is modified since it if its last step is s or later.

    `layout`: the rows, and their numbers. `tables`: the tables that are tracked, all if empty; rows
    of others are in every save. `sampled`: numbers of the rows that `check` compares, ascending.
    """

    def __init__(self, layout: Layout, tables: Collection[int]) -> None:
        self._last = np.full(layout.rows, -1, np.int64)
        self._always = np.zeros(layout.rows, bool)
        for part in layout.parts:
            if tables and part.table not in tables:
                self._always[part.start : part.numbers.stop] = True
        # Of checkpoints that saves may build on, the step from which rows differ from their base.
        self._bases = {0: 0}
        drawn = np.random.default_rng(0).permutation(layout.rows)[:_SAMPLED]
        self.sampled: RowIds = np.sort(drawn)
        self._sample: tuple[int, Sample] | None = None

    def note(self, step: int, numbers: NDArray[np.int64]) -> None:
        """Note the rows that a step has updated."""
        self._last[numbers] = step

    def select(self, step: int, since: Since | None, usable: int) -> RowIds | None:
        """Return the rows of a save at that step, ascending; None for all.

        `usable`: the step of the last checkpoint that all processes have.
        """
        on = max((each for each in self._bases if each <= usable), default=None)
        if since is None or on is None:
            self._bases = {each: at for each, at in self._bases.items() if each == on}
            self._bases[step] = step
            return None
        base = self._bases[on]
        self._bases = {on: base, step: base}
        changed = self._last >= (on if since == "save" else base)
        return np.flatnonzero(changed | self._always)

    def return_to(self, step: int, changed: RowIds) -> None:
        """The rows are those of a checkpoint again, which differs in these from its base."""
        self._last.fill(-1)
        self._last[changed] = step - 1
        self._bases = {step: 0}
        self._sample = None

    def check(self, step: int, sample: Sample, blocks: Sequence[range]) -> None:
        """Raise `UsageError` where sampled rows have changed that no batch has looked up.

        `sample`: copies of them at this step. `blocks`: the numbers of the rows of each block.
        """
        if self._sample is not None:
            before_step, before = self._sample
            for rows, then, now in zip(blocks, before, sample, strict=True):
                first, end = np.searchsorted(self.sampled, (rows.start, rows.stop))
                sampled = self.sampled[first:end]
                unused = (self._last[sampled] < before_step) & ~self._always[sampled]
                for one, other in zip(then, now, strict=True):
                    moved = int((one[unused] != other[unused]).any(axis=1).sum())
                    if moved:
                        raise UsageError(
                            f"lookups(): {moved} of {int(unused.sum())} sampled rows changed that "
                            "no batch looked up, so saves of modified rows would miss them; name "
                            "all rows that change, give an optimizer that leaves unused rows alone "
                            "(no weight decay, no momentum), or take a policy that saves all rows"
                        )
        self._sample = step, sample
