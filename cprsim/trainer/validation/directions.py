"""In how many directions the gradients of a row point: what SCAR's choice rests on."""

import math

import torch
from torch.nn import functional

from cprsim.job.workload import MOST_DIRECTIONS
from cprsim.trainer.data import Data
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.uses import Uses
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import SPREAD

#: Steps that are trained for it: of a row's gradients the first are those that move it far.
_STEPS = 100
_SEED = 0


def gradient_directions(data: Data, section: TrainerSection) -> int | None:
    """How many independent directions the gradients of a row have; None without two of any row.

    The scenario's model is trained in this process on the first samples, from a seed of its own.
    The square of the cosine between two independent normal gradients in n directions is 1 / n on
    average, and its mean is taken over each gradient of a row and the one before it.
    """
    placement = Placement(tuple(table.rows for table in data.tables), 1)
    dim = data.tables[0].dim
    shard = Shard(placement.total, dim, _SEED, SPREAD, section.learning_rate)
    model = Dlrm(data.dense, len(data.tables), dim, section.hidden, _SEED, section.learning_rate)
    last = torch.zeros_like(shard.weights)
    squares, pairs = 0.0, 0
    for step in range(min(_STEPS, data.steps)):
        dense, sparse, labels = data.batch(step)
        uses = Uses(placement, sparse)
        ids = torch.from_numpy(uses.ids)
        rows = uses.spread(shard.lookup(ids)).view(*sparse.shape, dim)
        of_uses = model.step(torch.from_numpy(dense), rows, torch.from_numpy(labels))
        gradients = uses.collect(of_uses.reshape(-1, dim))
        before = last.index_select(0, ids)
        both = before.any(dim=1) & gradients.any(dim=1)
        cosines = functional.cosine_similarity(before[both], gradients[both], eps=1e-30)
        squares += math.fsum(cosines.double().square().tolist())
        pairs += len(cosines)
        last.index_copy_(0, ids, gradients)
        shard.update(ids, gradients)
    if not 0 < squares < math.inf:  # a model that diverges has none
        return None
    return min(max(round(pairs / squares), 1), dim, MOST_DIRECTIONS)
