"""Which of the rows that a process holds deserve the next save."""

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from cprsim.contract import Tracking
from cprsim.errors import UsageError
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.layout import Layout, RowRange
from cprsim.trainer.members.trackers import ShardTracker


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
    """

    def __init__(
        self,
        layout: Layout,
        weights: Mapping[RowRange, Tensor],
        tracking: Tracking,
        tables: Collection[int],
        seed: int,
    ) -> None:
        self._tracking, self._seed = tracking, seed
        self._rows = layout.rows
        self._tracked = [part for part in layout.parts if part.table in tables]
        self._trackers: dict[range, ShardTracker] = {}
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

    def _of_values(self, part: RowRange, weights: Tensor) -> ShardTracker:
        if weights.device.type != "cpu":
            raise UsageError(
                f"shards(): table {part.table} is on {weights.device}, and scar compares rows in "
                "CPU memory; keep them there, or take a policy whose tracker is mfu or ssu"
            )
        return self._tracker(weights, [range(part.rows)])

    def _tracker(self, weights: Tensor, ranges: list[range]) -> ShardTracker:
        by = self._tracking
        return ShardTracker(by.tracker, weights, ranges, by.fraction, by.subsample, self._seed)
