"""The model and the rows of a run in one process, without processes and seconds."""

import math

import torch
from torch.nn import functional

from cprsim.job.workload import MOST_DIRECTIONS
from cprsim.trainer.data import Data
from cprsim.trainer.lab.members import ModelSpec, Updates
from cprsim.trainer.lab.model import Uses
from cprsim.trainer.section import TrainerSection

#: Steps that are trained for it: of a row's gradients the first are those that move it far.
_STEPS = 100
#: Models that are trained for it: of one, there may be half as many directions as of another. Runs
#: have no seeds as large.
_MODELS = range(1 << 40, (1 << 40) + 5)


class InProcess:
    """The state of all members: given the run's seed, bit for bit as long as nobody is struck.

    `placement`: of rows on servers. `shards`: the rows of each server. `model`: the dense part.
    """

    def __init__(self, data: Data, section: TrainerSection, servers: int, seed: int) -> None:
        spec = ModelSpec(data, section, servers, seed)
        self._data, self.placement = data, spec.placement
        self.shards, self.model = [spec.shard(each) for each in range(servers)], spec.model()

    def step(self, number: int) -> list[Updates]:
        """Train on a batch of the samples; what that did on each server."""
        batch = self._data.batch(number)
        uses = Uses(self.placement, batch.sparse)
        ids, times = torch.from_numpy(uses.ids), torch.from_numpy(uses.times)
        parts = list(zip(self.shards, uses.parts, strict=True))
        gradients = self.model.learn(batch, uses, self.look_up(uses))
        for shard, part in parts:
            shard.update(ids[part], gradients[part])
        return [Updates(ids[part], times[part], gradients[part]) for part in uses.parts]

    def look_up(self, uses: Uses) -> torch.Tensor:
        """Return the distinct rows of a batch, shape (rows, dim)."""
        ids, parts = torch.from_numpy(uses.ids), zip(self.shards, uses.parts, strict=True)
        return torch.cat([shard.lookup(ids[part]) for shard, part in parts])


def gradient_directions(data: Data, section: TrainerSection) -> int | None:
    """Return the independent directions of the gradients of a row; None without two of any row.

    Some models of the scenario are trained in this process on the first samples, from seeds of
    their own. The square of the cosine between two independent normal gradients in n directions is
    1 / n on average, and its mean is taken over each gradient of a row and the one before it.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as members have: more would only spin for cores that others use
    try:
        sums = [_squared_cosines(data, InProcess(data, section, 1, seed)) for seed in _MODELS]
    finally:
        torch.set_num_threads(threads)
    sound = [each for each in sums if 0 < each[0] < math.inf]  # not of models that diverge
    if not sound:
        return None
    squares, pairs = map(math.fsum, zip(*sound, strict=True))
    return min(max(round(pairs / squares), 1), data.tables[0].dim, MOST_DIRECTIONS)


def _squared_cosines(data: Data, run: InProcess) -> tuple[float, int]:
    """Their sum, and of how many pairs."""
    last = torch.zeros_like(run.shards[0].weights)
    squares, pairs = 0.0, 0
    for step in range(min(_STEPS, data.steps)):
        (update,) = run.step(step)
        before = last.index_select(0, update.ids)
        both = before.any(dim=1) & update.gradients.any(dim=1)
        cosines = functional.cosine_similarity(before[both], update.gradients[both], eps=1e-30)
        squares += math.fsum(cosines.double().square().tolist())
        pairs += len(cosines)
        last.index_copy_(0, update.ids, update.gradients)
    return squares, pairs
