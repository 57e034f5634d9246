"""Train the lab's model in one process, with parameter servers that lose rows at given steps.

The parts are those of `cprsim train`: samples, placement, rows, MLPs. Without losses and under
Adagrad the predictions are the same, bit for bit (tests/validation/test_learning.py). Here SGD can
be used as well, and a run takes a second.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.machine.rules import learning_lost
from cprsim.trainer.data import Data
from cprsim.trainer.lab.members import Updates, member_seed
from cprsim.trainer.lab.model import Dlrm, Shard, Uses
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import auc
from cprsim.trainer.validation.in_process import InProcess
from tools.counted import SavedRows

Rule = Literal["adagrad", "sgd"]
RULES: Final[tuple[Rule, ...]] = get_args(Rule)
SERVERS: Final = 4
#: Learning rates of SGD, of the MLPs and the rows, at which the model without failures has about
#: the best AUC on planted samples (seed 100).
_OF_DENSE, _OF_ROWS = 0.3, 40.0
#: Of priority saving: so many saves of an equal share of the rows each, in place of a whole one.
_PORTIONS: Final = 8


class Loss(NamedTuple):
    """A server loses all that its rows learned since they were saved."""

    step: int
    server: int


@dataclass(frozen=True)
class Lost:
    """Losses of a run, and how well its model ranks.

    `pls`: of CPR's equation (E4). `updates_lost`: share of the updates of rows. `change_lost`:
    share of the way that all rows go (the sum of the lengths of their steps). `learning_lost`: mean
    over servers of -ln(1 - u), u being the share of a server's updates that it lost.
    `learning_lost_by_row`: the same of rows, weighted by their updates; a row lost but for its
    first values is taken to have kept one update.
    """

    auc: float
    pls: float
    updates_lost: float
    change_lost: float
    learning_lost: float
    learning_lost_by_row: float


class SgdDlrm(Dlrm):
    """MLPs that learn by plain SGD at a constant rate."""

    def step(self, dense: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        """Take one step on a batch; return the gradient of its mean loss by `rows`."""
        of_weights, of_rows = self.gradients(dense, rows, labels)
        self.weights -= self._rate * of_weights
        return of_rows


class _Counts:
    """Updates and ways of one server's rows: made, live in the model, and stored."""

    def __init__(self, rows: int) -> None:
        self.made = np.zeros(rows)
        self.lost = np.zeros(rows)
        self.live = np.zeros((2, rows))  # updates, and the way of the row
        self.stored = np.zeros((2, rows))
        self.way_made = self.way_lost = 0.0

    def add(
        self, ids: NDArray[np.int64], times: NDArray[np.int32], ways: NDArray[np.floating]
    ) -> None:
        self.made[ids] += times
        self.live[0][ids] += times
        self.live[1][ids] += ways
        self.way_made += float(ways.sum())

    @property
    def unsaved(self) -> NDArray[np.float64]:
        """Updates of each row since it was saved, shape (rows,)."""
        unsaved: NDArray[np.float64] = self.live[0] - self.stored[0]
        return unsaved

    def save(self, rows: NDArray[np.int64] | slice) -> None:
        self.stored[:, rows] = self.live[:, rows]

    def lose(self) -> None:
        self.lost += self.unsaved
        self.way_lost += float((self.live[1] - self.stored[1]).sum())
        self.live[:] = self.stored


class _Server:
    """A shard, what was saved of it, and what it lost; `rule`: by which its rows learn."""

    def __init__(self, shard: Shard, rule: Rule) -> None:
        self._shard, self._rule = shard, rule
        self.counts = _Counts(len(shard))
        self._saved = SavedRows(shard)
        self.lookup = shard.lookup

    def update(self, ids: Tensor, gradients: Tensor) -> None:
        """Take one step, as `Shard.update`, or by plain SGD at a constant rate."""
        before = self.lookup(ids)
        if self._rule == "sgd":
            self._shard.weights.index_add_(0, ids, gradients * -_OF_ROWS)
        else:
            self._shard.update(ids, gradients)
        self._ways = (self.lookup(ids) - before).norm(dim=1).numpy()

    def note(self, done: Updates) -> None:
        """Count the last step."""
        self.counts.add(done.ids.numpy(), done.times.numpy(), self._ways)

    def save(self, rows: NDArray[np.int64] | slice = slice(None)) -> None:
        self._saved.save(rows)
        self.counts.save(rows)

    def save_most_used(self) -> None:
        """Save an equal portion of the rows, those with most updates since they were saved."""
        count = -(-len(self._shard) // _PORTIONS)
        self.save(np.argpartition(-self.counts.unsaved, count - 1)[:count])

    def lose(self) -> None:
        self._saved.set_back()
        self.counts.lose()


def trained(
    data: Data,
    rule: Rule,
    seed: int,
    losses: Sequence[Loss] = (),
    every: int | None = None,
    priority: bool = False,
) -> Lost:
    """Train one pass over the samples.

    Parameters
    ----------
    losses
        What is lost, after so many steps.
    every
        Steps from save to save; None: only the first values are saved.
    priority
        Whether saves are of portions of the most used rows, eight times as often (MFU).
    """
    section = TrainerSection()
    run = InProcess(data, section, SERVERS, seed)
    if rule == "sgd":
        widths = data.dense, len(data.tables), data.tables[0].dim, section.hidden
        run.model = SgdDlrm(*widths, member_seed(seed, SERVERS), _OF_DENSE)
    servers = [_Server(shard, rule) for shard in run.shards]
    run.shards = servers  # type: ignore[assignment]
    pls, saved_at = 0.0, 0
    for step in range(data.steps):
        for server, update in zip(servers, run.step(step), strict=True):
            server.note(update)
        done = step + 1
        if every is not None and done % every == 0:
            saved_at = done
        if every is not None and not priority and done % every == 0:
            for server in servers:
                server.save()
        elif every is not None and priority and done % max(every // _PORTIONS, 1) == 0:
            for server in servers:
                server.save_most_used()
        for loss in losses:
            if loss.step == done:
                servers[loss.server].lose()
                pls += (done - saved_at) / data.steps / SERVERS
    return _lost(servers, pls, _auc(data, run))


def _auc(data: Data, run: InProcess) -> float:
    predicted, clicks = [], []
    for step in range(data.steps, data.steps + data.test_steps):
        dense, sparse, labels = data.batch(step)
        uses = Uses(run.placement, sparse)
        looked = uses.spread(run.look_up(uses)).view(*sparse.shape, -1)
        predicted.append(run.model.predict(torch.from_numpy(dense), looked).numpy())
        clicks.append(labels)
    return auc(np.concatenate(predicted), np.concatenate(clicks))


def _lost(servers: Sequence[_Server], pls: float, found: float) -> Lost:
    counts = [each.counts for each in servers]
    made = np.array([each.made.sum() for each in counts])
    lost = np.array([each.lost.sum() for each in counts])
    rows_made = np.concatenate([each.made for each in counts])
    kept = rows_made - np.concatenate([each.lost for each in counts])
    used = rows_made > 0
    by_row = -np.log(np.maximum(kept[used], 1.0) / rows_made[used])
    return Lost(
        found,
        pls,
        float(lost.sum() / made.sum()),
        math.fsum(e.way_lost for e in counts) / math.fsum(e.way_made for e in counts),
        math.fsum(map(learning_lost, (lost / made).tolist())) / SERVERS,
        float((by_row * rows_made[used]).sum() / rows_made.sum()),
    )
