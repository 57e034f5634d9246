"""Updates lost as the trainer counts them, played in one process: its rows, kills and trackers.

No processes and no seconds; the trainer's own model, rows and trackers, fed the trainer's own
batches, lose the same updates to the last one (a test compares). For plans that wait for saves,
and return what is lost to the last one.
"""

from collections.abc import Sequence

import numpy as np
import torch

from cprsim.contract import Plan
from cprsim.scenario import Scenario
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.trackers import ShardTracker
from cprsim.trainer.members.uses import Uses
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import SPREAD, member_seed
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
    placement = Placement(tuple(table.rows for table in data.tables), servers)
    of_model = seed if model_seed is None else model_seed
    dim, rate = data.tables[0].dim, section.learning_rate
    model = Dlrm(
        data.dense, len(data.tables), dim, section.hidden, member_seed(of_model, servers), rate
    )
    assert scenario.context.rows is not None
    tracked = scenario.context.rows.tracked_tables
    shards = [
        _Played(placement, number, dim, member_seed(of_model, number), rate, plan, tracked)
        for number in range(servers)
    ]
    lost = updates = 0
    for step in range(data.steps):
        for kill in prediction.kills:
            if kill.executed == step:
                lost += sum(shards[number].set_back() for number in kill.hit.servers)
        if step and prediction.period and step % prediction.period == 0:
            for each in shards:
                each.save()
        dense, sparse, labels = data.batch(step)
        uses = Uses(placement, sparse)
        ids, times = torch.from_numpy(uses.ids), torch.from_numpy(uses.times)
        parts = list(zip(shards, uses.parts, strict=True))
        rows = torch.cat([each.shard.lookup(ids[part]) for each, part in parts])
        looked = uses.spread(rows).view(*sparse.shape, dim)
        of_uses = model.step(torch.from_numpy(dense), looked, torch.from_numpy(labels))
        gradients = uses.collect(of_uses.reshape(-1, dim))
        for each, part in parts:
            each.update(ids[part], gradients[part], times[part])
        updates += sparse.size
    return lost / updates


class _Played:
    """A server's rows, what is saved of them, and updates of each since."""

    def __init__(
        self,
        placement: Placement,
        number: int,
        dim: int,
        seed: int,
        rate: float,
        plan: Plan,
        tracked: Sequence[int],
    ) -> None:
        self.shard = Shard(placement.rows_of(number), dim, seed, SPREAD, rate)
        self._seed, self._plan = seed, plan
        self._tables = [placement.range_of(table, number) for table in tracked]
        self._saved = self.shard.arrays()
        self._since = np.zeros(len(self.shard), dtype=np.int64)
        self._tracker = self._new_tracker()

    def update(self, ids: torch.Tensor, gradients: torch.Tensor, times: torch.Tensor) -> None:
        self.shard.update(ids, gradients)
        self._tracker.note(ids, times)
        self._since[ids.numpy()] += times.numpy()

    def save(self) -> None:
        rows = self._tracker.select()
        for saved, now in zip(self._saved, self.shard.arrays(rows), strict=True):
            saved[rows] = now
        self._tracker.saved(rows)
        self._since[rows] = 0

    def set_back(self) -> int:
        """Return to what is saved; how many updates that loses."""
        lost = int(self._since.sum())
        self.shard.restore(self._saved)
        self._since[:] = 0
        self._tracker = self._new_tracker()
        return lost

    def _new_tracker(self) -> ShardTracker:
        tracking = self._plan.tracking
        assert tracking is not None
        return ShardTracker(
            tracking.tracker,
            self.shard.weights,
            self._tables,
            tracking.fraction,
            tracking.subsample,
            self._seed,
        )
