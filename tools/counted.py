"""Updates lost as the trainer counts them, played in one process: its rows, kills and trackers.

No processes and no seconds; the trainer's own model, rows and trackers, fed the trainer's own
batches, lose the same updates to the last one (a test compares). For plans that wait for saves,
and return what is lost to the last one.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from cprsim.contract import Plan, Tracking
from cprsim.scenario import Scenario
from cprsim.trainer.hooks.trackers import RowTrackers
from cprsim.trainer.lab.members import Updates, member_seed
from cprsim.trainer.lab.model import Shard
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.validation.in_process import InProcess
from cprsim.trainer.validation.predicted import Prediction


def counted(
    scenario: Scenario,
    section: TrainerSection,
    plan: Plan,
    prediction: Prediction,
    seed: int,
    model_seed: int | None = None,
) -> float:
    """Share of all updates that a run loses which saves and is struck when the prediction says.

    `model_seed`: of the initial model and rows; the run's own by default.
    """
    data, servers = section.data(scenario, seed), scenario.cluster.parameter_servers
    of_model = seed if model_seed is None else model_seed
    run = InProcess(data, section, servers, of_model)
    assert scenario.context.rows is not None
    assert plan.tracking is not None
    saved = [
        _Saved(
            shard,
            plan.tracking,
            [
                run.placement.range_of(table, server)
                for table in scenario.context.rows.tracked_tables
            ],
            member_seed(of_model, server),
        )
        for server, shard in enumerate(run.shards)
    ]
    lost = updates = 0
    for step in range(data.steps):
        if step and prediction.period and step % prediction.period == 0:
            for each in saved:
                each.save()
        for kill in prediction.kills:
            if kill.executed == step:
                lost += sum(saved[server].set_back() for server in kill.hit.servers)
        for each, update in zip(saved, run.step(step), strict=True):
            each.note(update)
            updates += int(update.times.sum())
    return lost / updates


class SavedRows:
    """The saved copy of a server's rows and of their state."""

    def __init__(self, shard: Shard) -> None:
        self._live = shard.weights, shard.squares
        self._saved = [each.clone() for each in self._live]

    def save(self, rows: NDArray[np.int64] | slice = slice(None)) -> None:
        """Save some rows, or all."""
        for saved, live in zip(self._saved, self._live, strict=True):
            saved[rows] = live[rows]

    def set_back(self) -> None:
        """Return all rows to what is saved."""
        for saved, live in zip(self._saved, self._live, strict=True):
            live.copy_(saved)


class _Saved:
    """The saved copy of a server's rows, and the updates of each row since it was saved."""

    def __init__(
        self, shard: Shard, tracking: Tracking, tables: Sequence[range], seed: int
    ) -> None:
        self._shard, self._tracking, self._tables, self._seed = shard, tracking, tables, seed
        self._saved = SavedRows(shard)
        self._since = torch.zeros(len(shard), dtype=torch.int32)
        self._tracker = self._new_tracker()

    def note(self, update: Updates) -> None:
        self._tracker.observe(update.ids.repeat_interleave(update.times))
        self._since.index_add_(0, update.ids, update.times)

    def save(self) -> None:
        rows = self._tracker.select()
        self._saved.save(rows)
        self._tracker.saved(rows)
        self._since[torch.from_numpy(rows)] = 0

    def set_back(self) -> int:
        """Return to the saved rows; return the updates that this loses."""
        lost = int(self._since.sum())
        self._saved.set_back()
        self._since.zero_()
        self._tracker = self._new_tracker()
        return lost

    def _new_tracker(self) -> RowTrackers:
        weights = self._shard.weights
        tracked = {rows: weights[rows.start : rows.stop] for rows in self._tables}
        return RowTrackers(tracked, self._tracking, self._seed, self._since)
