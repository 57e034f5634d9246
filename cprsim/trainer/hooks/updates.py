"""Updates of rows since they were saved: which rows, how many, and none while rows are copied."""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.contract.actions import Since
from cprsim.errors import UsageError
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.layout import Layout
from cprsim.trainer.store.files import Arrays

#: Counts of a job that has just begun.
_NONE = {"made": 0, "steps": 0, "lost": 0, "unsaved": 0}


class UpdateCount:
    """Counts updates of a process since they were saved, each once.

    `places`: how many are counted one by one: rows, 4 bytes each, if lookups are known; if not,
    shards, which are saved whole. `since`: updates of each place since it was saved, int32, shape
    (places,), always the same tensor. `lost`: updates that are lost for good. `unit`: what a step
    updates, in words: jobs of other shards or of another policy count something else.
    """

    def __init__(self, places: int, unit: str) -> None:
        self.since = torch.zeros(places, dtype=torch.int32)
        self._unit = unit
        # Lost before, where that was counted in another unit: so many steps' worth of the job.
        self._earlier_steps = 0.0
        self._cleared: tuple[RowIds | None, Tensor] | None = None
        self.lost = self._made = self._steps = 0

    def did(self, places: Tensor | None = None) -> None:
        """A step has updated these places, as often as they are named; None: each once."""
        self._steps += 1
        if places is None:
            self.since += 1
            self._made += len(self.since)
        else:
            self.since.index_add_(0, places, torch.ones_like(places, dtype=torch.int32))
            self._made += len(places)

    def saved(self, chosen: RowIds | None, sure: bool) -> None:
        """Note that these places, or all, are saved; if not `sure`, `settle` says whether so."""
        # A slice where it can be: no copy of what is only to be cleared.
        at = slice(None) if chosen is None else torch.as_tensor(chosen)
        self._cleared = None if sure else (chosen, self.since[at].clone())
        self.since[at] = 0

    def settle(self, stored: bool) -> None:
        """Note whether the last save that was not sure is stored."""
        if self._cleared is not None and not stored:
            chosen, counts = self._cleared
            at = slice(None) if chosen is None else torch.as_tensor(chosen)
            self.since[at] += counts
        self._cleared = None

    def lose(self, places: Iterable[range]) -> None:
        """These are as they were saved: what came after is lost."""
        for each in places:
            self.lost += int(self.since[each.start : each.stop].sum())
            self.since[each.start : each.stop] = 0

    def return_to(self, before: Mapping[str, Any], steps: int, fresh: bool) -> None:
        """All is as it was in a checkpoint, whose counts `document` gave.

        What came after is done again, but for so many `steps`, which are lost: about as many
        updates as the steps before had. `fresh`: this process knows of no losses itself.
        """
        counts = before if self._counts(before) else _NONE
        self._made, self._steps = counts["made"], counts["steps"]
        if fresh:
            self.lost = counts["lost"]
            self._earlier_steps = before.get("earlier_steps" if counts is before else "worth", 0.0)
        self.lost += counts["unsaved"] + round(steps * self._made / max(self._steps, 1))
        self.since.zero_()
        self._cleared = None

    def adopt(self, before: Mapping[str, Any]) -> None:
        """Nothing was lost by a return, whose counts were these: the state is another one."""
        if self._counts(before):
            self.lost = before["lost"]

    def _counts(self, before: Mapping[str, Any]) -> bool:
        """Return whether counts are in the unit of this process; 0.1.0 noted none."""
        return bool(before.get("unit", self._unit) == self._unit)

    def document(self, chosen: RowIds | None) -> dict[str, Any]:
        """Return the counts for a checkpoint of these places, or of all."""
        unsaved = 0
        if chosen is not None:
            unsaved = int(self.since.sum()) - int(self.since[torch.as_tensor(chosen)].sum())
        counts = {"made": self._made, "steps": self._steps, "lost": self.lost, "unsaved": unsaved}
        return counts | {"unit": self._unit, "earlier_steps": self._earlier_steps}

    def lost_and_all(self, steps: int) -> tuple[float, float]:
        """Updates that were lost, and those of a job of so many steps if all are like these."""
        if not self._steps:
            return self._earlier_steps, float(steps)
        before = self._earlier_steps * self._made / self._steps
        return self.lost + before, steps * self._made / self._steps


def share(lost: float, of: float) -> float:
    """`updates_lost`: of all updates; 0 where there are none."""
    return lost / of if of else 0.0


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


class UpdateGate:
    """Lets threads update rows at the same time, and none while rows are copied or loaded.

    `used`: whether threads have entered it.
    """

    def __init__(self) -> None:
        self.used = False
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}  # blocks that each thread is in
        self._closed = False

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Keep copies and loads waiting until the block ends."""
        self.used, me = True, threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: me in self._inside or not self._closed)
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Wait for updates that have begun; others wait until the block ends."""
        if threading.get_ident() in self._inside:
            raise UsageError("a save inside updating(): end that block before after_step()")
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
