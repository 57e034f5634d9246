"""Which of the rows that a process holds deserve the next save."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from cprsim.contract import Tracking
from cprsim.errors import UsageError
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.layout import Layout, RowRange
from cprsim.trainer.members.trackers import ShardTracker

#: Of each part, by its shard, table and first row, a number of each row that grows as it moves.
Movement: TypeAlias = Callable[[], Mapping[tuple[int, int, int], Tensor]]


class MovedRows:
    """The rows of a part that have moved furthest since they were saved, by a number of each.

    Parameters
    ----------
    part
        The rows.
    movement
        Gives the numbers, as they are now.
    fraction
        Share of the rows that a save takes.
    """

    def __init__(self, part: RowRange, movement: Movement, fraction: float) -> None:
        self._part, self._movement = part, movement
        self._share = round(fraction * part.rows) or part.rows
        self._saved = self._now().clone()

    def observe(self, rows: Tensor) -> None:
        """Nothing: how far a row has moved is looked at when it is chosen."""

    def select(self) -> RowIds:
        """Return the rows of the next save, ascending."""
        moved = self._now() - self._saved
        chosen = moved.topk(self._share).indices.sort().values
        return chosen.cpu().numpy()

    def saved(self, rows: RowIds) -> None:
        """Note that these rows have been saved."""
        ids = torch.as_tensor(rows, device=self._saved.device)
        self._saved[ids] = self._now()[ids]

    def _now(self) -> Tensor:
        return self._movement()[self._part.shard, self._part.table, self._part.first]


class ProcessTrackers:
    """Trackers of all rows of a process, told of lookups in one go.

    SCAR looks at live rows, so each tensor has a tracker of its own. MFU and SSU know numbers
    alone: one tracker does for all rows of the process, however many shards these lie in.

    Parameters
    ----------
    layout
        Which rows there are, and their numbers.
    weights
        The live rows of each part.
    tracking
        What the plan says of trackers.
    tables
        The tables that are tracked; rows of others are saved whole each time.
    seed
        Of SSU's evictions.
    movement
        How far rows have moved, where the adapter says so; SCAR compares them otherwise.
    """

    def __init__(
        self,
        layout: Layout,
        weights: Mapping[RowRange, Tensor],
        tracking: Tracking,
        tables: Collection[int],
        seed: int,
        movement: Movement | None = None,
    ) -> None:
        self._tracking, self._seed, self._movement = tracking, seed, movement
        self._rows = layout.rows
        self._tracked = [part for part in layout.parts if part.table in tables]
        self._trackers: dict[range, ShardTracker | MovedRows] = {}
        if tracking.tracker == "scar":
            for part in self._tracked:
                self._trackers[part.numbers] = self._of_values(part, weights[part])
        elif self._tracked:
            # Rows without numbers in them: only how many there are is looked at.
            numbers = [part.numbers for part in self._tracked]
            self._trackers[range(layout.rows)] = self._tracker(torch.empty(layout.rows, 0), numbers)

    def observe(self, numbers: Tensor) -> None:
        """Take note of the rows that one batch has used, by their numbers in the process."""
        if len(self._trackers) == 1 and range(self._rows) in self._trackers:
            self._trackers[range(self._rows)].observe(numbers)
            return
        ordered, _ = numbers.sort()
        for rows, tracker in self._trackers.items():
            first, end = torch.searchsorted(ordered, torch.tensor([rows.start, rows.stop])).tolist()
            tracker.observe(ordered[first:end] - rows.start)

    def select(self) -> RowIds:
        """The rows of the next save, ascending: a share of each tracked part, and all others."""
        chosen = np.ones(self._rows, dtype=bool)
        for rows, tracker in self._trackers.items():
            chosen[rows.start : rows.stop] = False
            chosen[tracker.select() + rows.start] = True
        return np.flatnonzero(chosen)

    def saved(self, numbers: RowIds) -> None:
        """Take note that these rows, ascending, have been saved."""
        for rows, tracker in self._trackers.items():
            first, end = np.searchsorted(numbers, (rows.start, rows.stop))
            tracker.saved(numbers[first:end] - rows.start)

    def forget(self, shard: int, weights: Mapping[RowRange, Tensor]) -> None:
        """What was known of the rows of a shard is lost with it: they are as they were saved."""
        for part in self._tracked:
            if part.shard != shard:
                continue
            if self._tracking.tracker == "scar":
                self._trackers[part.numbers] = self._of_values(part, weights[part])
            else:
                self.saved(np.arange(part.start, part.numbers.stop))

    def _of_values(self, part: RowRange, weights: Tensor) -> ShardTracker | MovedRows:
        if self._movement is not None:
            return MovedRows(part, self._movement, self._tracking.fraction)
        if weights.device.type != "cpu":
            raise UsageError(
                f"shards(): table {part.table} is on {weights.device}, and scar compares rows in "
                "CPU memory; keep them there, give the adapter movement(), or take a policy whose "
                "tracker is mfu or ssu"
            )
        return self._tracker(weights, [range(part.rows)])

    def _tracker(self, weights: Tensor, ranges: list[range]) -> ShardTracker:
        by = self._tracking
        return ShardTracker(by.tracker, weights, ranges, by.fraction, by.subsample, self._seed)
