"""Row trackers of a process: choose the rows of the next save.

Each tracked range of rows has a tracker of `cprsim.rows.trackers`. Two of the three kinds need no
look at a batch, since updates are counted row by row anyway (`UpdateCount`): MFU chooses by these
counts, and SCAR compares the rows that have any.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.contract import Tracking
from cprsim.errors import UsageError
from cprsim.rows.trackers import MFU, SCAR, SSU, RowIds
from cprsim.rows.trackers.contract import distinct
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.layout import Layout, Live, RowRange

#: The tensor in use of a range of rows, which SCAR compares with a copy; or a function that returns
#: a number of each row that grows as the row moves.
LiveRows: TypeAlias = Tensor | Callable[[], Tensor]


class RowTrackers:
    """Trackers of ranges of the rows of a process.

    A save takes a share of each tracked range, and all other rows; so it does of a range whose
    share is not one row.

    `tracked`: the tracked ranges, ascending and apart, with the live rows. `tracking`: the tracker
    and the share of the plan. `seed`: of SSU's evictions. `since`: updates of each row since it was
    saved, shape (rows,), int32, on the CPU; counted by the caller.
    """

    def __init__(
        self, tracked: Mapping[range, LiveRows], tracking: Tracking, seed: int, since: Tensor
    ) -> None:
        shares = {rows: round(tracking.fraction * len(rows)) for rows in tracked}
        self._shares = {rows: share for rows, share in shares.items() if share}
        self._tracking, self._since = tracking, since.numpy()
        self._batches, self._rng = 0, np.random.default_rng(seed)
        self._trackers = {rows: self._tracker(rows, tracked[rows]) for rows in self._shares}

    def observe(self, numbers: Tensor) -> None:
        """Note the rows that a batch has used, by their numbers."""
        if self._tracking.tracker != "ssu":
            return
        if self._batches % self._tracking.subsample == 0:
            for rows, ids in self._parts(distinct(numbers.numpy())):
                tracker = self._trackers[rows]
                assert isinstance(tracker, SSU)
                tracker.observe(ids)
        self._batches += len(numbers) > 0

    def select(self) -> RowIds:
        """Return the rows of the next save, ascending."""
        chosen = np.ones(self._since.size, dtype=bool)
        for rows, tracker in self._trackers.items():
            here = slice(rows.start, rows.stop)
            if isinstance(tracker, SCAR):
                tracker.observe(np.flatnonzero(self._since[here]))
            chosen[here] = False
            chosen[tracker.select(self._shares[rows]) + rows.start] = True
        return np.flatnonzero(chosen)

    def saved(self, numbers: RowIds) -> None:
        """Note that these rows, ascending, have been saved."""
        for rows, ids in self._parts(numbers):
            self._trackers[rows].saved(ids)

    def forget(self, lost: Mapping[range, LiveRows]) -> None:
        """Track these ranges from now on: their rows are as they were saved."""
        for rows in lost.keys() & self._trackers.keys():
            tracker = self._trackers[rows]
            if isinstance(tracker, _MFUOfCounts):  # its counts are the caller's
                tracker.saved(np.arange(len(rows)))
            else:
                self._trackers[rows] = self._tracker(rows, lost[rows])

    def _tracker(self, rows: range, live: LiveRows) -> "MFU | SSU | SCAR | Movement":
        if self._tracking.tracker == "mfu":
            return _MFUOfCounts(self._since[rows.start : rows.stop])
        if self._tracking.tracker == "ssu":
            return SSU(len(rows), self._shares[rows], 1, self._rng)
        return SCAR(live.numpy()) if isinstance(live, Tensor) else Movement(live)

    def _parts(self, numbers: RowIds) -> Iterator[tuple[range, RowIds]]:
        """Yield each tracked range with the ascending numbers in it, counted from its start."""
        ends = np.searchsorted(numbers, [(rows.start, rows.stop) for rows in self._shares])
        for rows, (first, end) in zip(self._shares, ends.reshape(-1, 2).tolist(), strict=True):
            yield rows, numbers[first:end] - rows.start


class _MFUOfCounts(MFU):
    """`MFU` by counts that its caller keeps."""

    def __init__(self, counts: NDArray[np.int32]) -> None:
        super().__init__(len(counts))
        self._counts = counts


class Movement:
    """The rows of a part that have moved furthest since they were saved, by a number of each."""

    def __init__(self, moved: Callable[[], Tensor]) -> None:
        self._moved = moved
        self._saved = moved().clone()

    def select(self, k: int) -> RowIds:
        """Return the rows of the next save, ascending."""
        moved = self._moved() - self._saved
        return moved.topk(k).indices.sort().values.cpu().numpy()

    def saved(self, rows: RowIds) -> None:
        """Note that these rows have been saved."""
        ids = torch.as_tensor(rows, device=self._saved.device)
        self._saved[ids] = self._moved()[ids]


def tracked_rows(
    adapter: ShardAdapter[Any],
    layout: Layout,
    live: Live,
    tables: Collection[int],
    by_values: bool,
    shard: int | None = None,
) -> dict[range, LiveRows]:
    """Return the tracked rows of all shards, or of one, with what SCAR compares.

    `live`: the tensors of the rows. `tables`: those that are tracked. `by_values`: whether SCAR
    tracks them.
    """
    found = dict[range, LiveRows]()
    for part in layout.parts:
        if part.table not in tables or shard not in {None, part.shard}:
            continue
        found[part.numbers] = weights = live[part][0]
        if by_values and hasattr(adapter, "movement"):
            found[part.numbers] = partial(_moved, adapter, part)
        elif by_values and weights.device.type != "cpu":
            raise UsageError(
                f"shards(): table {part.table} is on {weights.device}, and scar compares rows "
                "in CPU memory; keep them there, give the adapter movement(), or take a policy "
                "whose tracker is mfu or ssu"
            )
    return found


def _moved(adapter: Any, part: RowRange) -> Tensor:
    """Return how far the rows of a part have moved, as the adapter has it."""
    parts, moved = adapter.shards()[part.shard], list(adapter.movement().get(part.shard, ()))
    if [each.shape for each in moved] != [(len(each.weights),) for each in parts]:
        raise UsageError(
            f"movement(): give for shard {part.shard} a tensor of shape (rows,) for each part "
            "that shards() gives"
        )
    places = [(each.table, each.first) for each in parts]
    found: Tensor = moved[places.index((part.table, part.first))]
    return found.detach()
