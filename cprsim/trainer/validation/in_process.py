"""The model and the rows of a run in one process, without wires and seconds."""

from typing import NamedTuple

import torch
from torch import Tensor

from cprsim.trainer.data import Data
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.uses import Uses
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import SPREAD, member_seed


class Update(NamedTuple):
    """What a step did on a server: distinct rows, how often each was used, and its gradient.

    `ids` and `times` have shape (rows,), `gradients` (rows, dim).
    """

    ids: Tensor
    times: Tensor
    gradients: Tensor


class InProcess:
    """What members hold: given the run's seed, bit for bit as long as nobody is struck.

    Attributes
    ----------
    placement
        Of rows on servers.
    shards
        The rows of each server.
    """

    def __init__(self, data: Data, section: TrainerSection, servers: int, seed: int) -> None:
        self._data, self._dim = data, data.tables[0].dim
        self.placement = Placement(tuple(table.rows for table in data.tables), servers)
        rate = section.learning_rate
        self.shards = [
            Shard(
                self.placement.rows_of(server), self._dim, member_seed(seed, server), SPREAD, rate
            )
            for server in range(servers)
        ]
        self._model = Dlrm(
            *(data.dense, len(data.tables), self._dim, section.hidden),
            *(member_seed(seed, servers), rate),
        )

    def step(self, number: int) -> list[Update]:
        """Train on a batch of the samples; what that did on each server."""
        dense, sparse, labels = self._data.batch(number)
        uses = Uses(self.placement, sparse)
        ids, times = torch.from_numpy(uses.ids), torch.from_numpy(uses.times)
        parts = list(zip(self.shards, uses.parts, strict=True))
        rows = torch.cat([shard.lookup(ids[part]) for shard, part in parts])
        looked = uses.spread(rows).view(*sparse.shape, self._dim)
        of_uses = self._model.step(torch.from_numpy(dense), looked, torch.from_numpy(labels))
        gradients = uses.collect(of_uses.reshape(-1, self._dim))
        for shard, part in parts:
            shard.update(ids[part], gradients[part])
        return [Update(ids[part], times[part], gradients[part]) for part in uses.parts]
