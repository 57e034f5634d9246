"""A small job on members in memory: every one of its rows is known."""

import math
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import torch

from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.coordinator.execution import Execution
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import InjectionMode, StepClock, Strikes
from cprsim.trainer.data.contract import Batch
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.parameters import EPSILON, Parameters
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.server import ServerSpec, with_copies
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.trainer import TrainerSpec
from cprsim.trainer.support import TRAINER
from tests.trainer.runs import copied
from tests.trainer.world import MemoryStore, ModelBrokenError, World

DEADLINES = Deadlines(answer_s=1.0, work_s=20.0)
#: Numbers of a row, and rows of a server.
_DIM, _ROWS = 1, 2


@dataclass(frozen=True)
class Case:
    """Servers, copies of each shard, steps.

    `interval`: steps from save to save. `free`: training goes on while servers are filled. `room`:
    messages that a link holds which nobody has received.
    """

    servers: int = 4
    copies: int = 3
    steps: int = 4
    interval: float = 3.0
    free: bool = True
    room: int = 2

    @cached_property
    def plan(self):
        return copied(self.servers, self.copies, self.interval)


class Sums:
    """A dense part that counts steps; gradients depend on rows, so what is wrong stays wrong."""

    def __init__(self):
        self.parameters = Parameters(torch.zeros(1), torch.zeros(1))

    def step(self, _dense, rows, _labels):
        self.parameters.weights += 1
        return 1 + rows / 8


@dataclass(frozen=True)
class Two:
    """Of each server, every sample uses a row."""

    servers: int

    @cache  # noqa: B019  (there are few)
    def batch(self, step):
        rows = (np.arange(self.servers) + self.servers * (step % 2)).reshape(-1, 1)
        return Batch(np.zeros((self.servers, 1), np.float32), rows, np.zeros(1, np.float32))


@dataclass(frozen=True, kw_only=True)
class ModelServer(ServerSpec):
    kept: MemoryStore = field(default_factory=MemoryStore)

    def store(self):
        return self.kept


class FewRows(Shard):
    """Rows of one number: plain Adagrad, number by number; quicker where there are that few."""

    def __init__(self, weights, learning_rate):
        Parameters.__init__(self, weights, torch.zeros(len(weights)))
        self._rate = learning_rate
        self._numbers = self.weights.numpy()[:, 0], self.squares.numpy()

    def update(self, ids, gradients):
        weights, squares = self._numbers
        for row, (gradient,) in zip(ids.tolist(), gradients.tolist(), strict=True):
            squares[row] += gradient * gradient
            weights[row] -= self._rate * gradient / math.sqrt(squares[row] + EPSILON)


@dataclass(frozen=True, kw_only=True)
class FewRowsServer(ModelServer):
    def shard(self):
        return FewRows(_initial(self.rows, self.seed).clone(), self.learning_rate)


@cache
def _initial(rows, seed):
    return Shard(rows, _DIM, seed, 0.5, 0.5).weights


@dataclass(frozen=True, kw_only=True)
class ModelTrainer(TrainerSpec):
    kept: MemoryStore = field(default_factory=MemoryStore)

    def model(self):
        return Sums()

    def store(self):
        return self.kept


def _specs(case):
    return [
        FewRowsServer(each, _ROWS, _DIM, each, 0.5, 0.5, None, (), Path(), deadlines=DEADLINES)
        for each in range(case.servers)
    ]


def carried_out(case, pick, faults=()):
    """The world after the job, its servers, how many were replaced; raises `ModelBrokenError`."""
    placement = Placement((_ROWS * case.servers,), case.servers)
    plan = case.plan
    trainer = ModelTrainer(
        Two(case.servers),
        placement,
        _DIM,
        0,
        0,
        0.5,
        DEADLINES.answer_s,
        Path(),
        copies=1 + plan.redundancy.parity,
    )
    job = RunningJob(TRAINER.start(plan), case.steps, 1.0)
    worlds = []

    def roster(given):
        worlds.append(World(given, pick, case.room))
        return worlds[0]

    with LocalCluster(
        with_copies(_specs(case), plan.redundancy), trainer, DEADLINES, roster
    ) as all_:
        (world,) = worlds
        world.strike_later(faults)
        clock = StepClock(1.0, lambda: job.executed)
        clock.pinned = not case.free
        timeline = cursor_of(AbsoluteTimeline((), ()))
        strikes = Strikes(all_, timeline, clock, InjectionMode(), True)
        execution = Execution(job, all_, strikes, None, lambda _: None, plan.redundancy)
        try:
            execution.run()
        finally:
            world.is_over()
    servers = [world.members["server", each].server for each in range(case.servers)]
    return world, servers, execution.recovery.replaced, job


def check(case, pick, faults=()):
    """Carry out the job: rows are those of steps one after another, and copies are equal to them.

    Raises `ModelBrokenError`; returns the world.
    """
    world, servers, replaced, job = carried_out(case, pick, faults)
    if replaced > len(world.struck):
        raise ModelBrokenError(f"{replaced} were replaced, {len(world.struck)} struck")
    if job.executed < case.steps or job.dense_lost_steps:
        raise ModelBrokenError(f"{job.executed} steps, {job.dense_lost_steps} lost")
    trainer = world.members["trainer", 0].trainer
    if float(trainer._model.parameters.weights) != case.steps:
        raise ModelBrokenError(f"the dense part has {trainer._model.parameters.weights} steps")
    right = _expected(case)
    for server in servers:
        for shard, state in server._states.items():
            found = state.shard.arrays()
            if not all(map(np.array_equal, found, right[shard])):
                raise ModelBrokenError(
                    f"server {server.number} has wrong rows of shard {shard}: {found}"
                )
    return world


@cache
def _expected(case):
    """Worked out with no members at all: rows and optimiser state of each shard after all steps."""
    found = []
    for held in (spec.shard() for spec in _specs(case)):
        for step in range(case.steps):
            ids = torch.tensor([step % 2])
            held.update(ids, 1 + held.lookup(ids) / 8)
        found.append(held.arrays())
    return found
