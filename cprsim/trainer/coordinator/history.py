"""What happened in a run to the rows, in order, and what they lost by it."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.machine.rules import r24_learning_lost
from cprsim.trainer.data.contract import Batches
from cprsim.trainer.members.placement import Placement


class RowsSaved(NamedTuple):
    """At `step` a save became usable; of servers in `rows` only these rows, of others all."""

    step: int
    rows: Mapping[int, NDArray[np.int64]]


class ShardSetBack(NamedTuple):
    """With the job at `step`, the rows of one server returned to the checkpoint of step `to`."""

    step: int
    server: int
    to: int


class ShardAway(NamedTuple):
    """From `step` on the rest trains without the rows of one server: their updates are lost."""

    step: int
    server: int


class ShardFilled(NamedTuple):
    """From `step` on the rows of that server are trained again."""

    step: int
    server: int


class JobSetBack(NamedTuple):
    """With the job at `step`, all of it returned to the checkpoint of step `to`."""

    step: int
    to: int


RowEvent: TypeAlias = RowsSaved | ShardSetBack | ShardAway | ShardFilled | JobSetBack


class _RowCheckpoint(NamedTuple):
    """A checkpoint: updates that each row has in it and had when it was taken.

    `lost`: what each server had lost by then.
    """

    stored: NDArray[np.int64]
    live: NDArray[np.int64]
    lost: NDArray[np.int64]


class Losses(NamedTuple):
    """What a run has lost for good, counted row by row; an update is one use of a row by a sample.

    `updates_lost`: share of all updates. `learning_lost`: as `cprsim.contract.ledger` has it, from
    the share of each server's own updates. Updates that are made again after a rollback of the
    whole job are not lost.
    """

    updates_lost: float
    learning_lost: float


def losses(
    row_events: Sequence[RowEvent], steps: int, batches: Batches, placement: Placement
) -> Losses:
    """Count the updates that a run has lost for good.

    The batches of the run are looked at once more for it, so that nothing that was killed has had
    to keep count.
    """
    returned_to = {each.to for each in row_events if isinstance(each, ShardSetBack | JobSetBack)}
    rows = _RowHistory(batches, placement, returned_to)
    for each in row_events:
        rows.train_to(each.step)
        if isinstance(each, RowsSaved):
            rows.save(each)
        elif isinstance(each, ShardSetBack):
            rows.set_back(each.server, each.to)
        elif isinstance(each, ShardAway):
            rows.away.add(each.server)
        elif isinstance(each, ShardFilled):
            rows.away.discard(each.server)
        else:
            rows.roll_back(each.to)
    if not steps:
        return Losses(0.0, 0.0)
    return Losses(int(rows.lost.sum()) / (steps * rows.per_step), rows.learning_lost(steps))


class _RowHistory:
    """How many updates each row has, of those that were made to it.

    Of checkpoints, those are kept that the job will return to, and the last one.
    """

    def __init__(
        self, batches: Batches, placement: Placement, returned_to: Collection[int]
    ) -> None:
        self._batches, self._placement = batches, placement
        self._returned_to = {0, *returned_to}
        self._live = np.zeros(placement.total, dtype=np.int64)
        self._step = 0
        self.lost = np.zeros(placement.servers, dtype=np.int64)
        self._stored = {0: _RowCheckpoint(self._live.copy(), self._live.copy(), self.lost.copy())}
        self.away: set[int] = set()  # servers whose rows nobody trains
        self.per_step = batches.batch(0).sparse.size

    def train_to(self, step: int) -> None:
        for each in range(self._step, step):
            self._train(each)
        self._step = step

    def _train(self, step: int) -> None:
        ids = self._placement.ids(self._batches.batch(step).sparse)
        passed_by = np.isin(ids % self._placement.servers, list(self.away))
        self.lost += self._by_server(ids[passed_by])
        np.add.at(self._live, ids[~passed_by], 1)

    def learning_lost(self, steps: int) -> float:
        """Return the mean over servers of what each has lost of its learning, after all steps."""
        servers = self._placement.servers
        made = np.zeros(servers, dtype=np.int64)
        for step in range(steps):
            made += self._by_server(self._placement.ids(self._batches.batch(step).sparse))
        shares = (self.lost / np.maximum(made, 1)).tolist()
        return math.fsum(map(r24_learning_lost, shares)) / servers

    def _by_server(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        servers = self._placement.servers
        return np.bincount(ids.ravel() % servers, minlength=servers)

    def save(self, saved: RowsSaved) -> None:
        stored = self._live.copy()
        last = self._newest
        for server, ids in saved.rows.items():
            mine = slice(server, None, self._placement.servers)
            part = last[mine].copy()
            part[ids] = self._live[mine][ids]
            stored[mine] = part
        self._stored = {
            step: each for step, each in self._stored.items() if step in self._returned_to
        }
        self._stored[saved.step] = _RowCheckpoint(stored, self._live.copy(), self.lost.copy())

    def set_back(self, server: int, to: int) -> None:
        mine = slice(server, None, self._placement.servers)
        stored = self._stored[to].stored[mine]
        self.lost[server] += int((self._live[mine] - stored).sum())
        self._live[mine] = stored
        self._newest[mine] = stored  # what it had stored since is no more

    @property
    def _newest(self) -> NDArray[np.int64]:
        return self._stored[max(self._stored)].stored

    def roll_back(self, to: int) -> None:
        kept = self._stored[to]
        self._stored = {step: each for step, each in self._stored.items() if step <= to}
        # What the last save left of its rows is trained no more.
        self.lost, servers = kept.lost.copy(), self._placement.servers
        for server in range(servers):
            self.lost[server] += int((kept.live - kept.stored)[server::servers].sum())
        self._live = kept.stored.copy()
        self._step = to
        self.away.clear()
