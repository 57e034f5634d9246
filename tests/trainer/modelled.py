"""A small job on members in memory: every one of its rows is known."""

from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import torch

from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.coordinator.execution import Execution
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import InjectionMode, StepClock, Strikes
from cprsim.trainer.data.contract import Batch
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.parameters import Parameters
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.server import ServerSpec, with_copies
from cprsim.trainer.members.trainer import TrainerSpec
from tests.trainer.runs import copied
from tests.trainer.world import MemoryStore, ModelBrokenError, World

DEADLINES = Deadlines(answer_s=1.0, work_s=20.0)
_DIM = 1


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

    def batch(self, step):
        rows = (np.arange(self.servers) + self.servers * (step % 2)).reshape(-1, 1)
        return Batch(np.zeros((self.servers, 1), np.float32), rows, np.zeros(1, np.float32))


@dataclass(frozen=True, kw_only=True)
class ModelServer(ServerSpec):
    kept: MemoryStore = field(default_factory=MemoryStore)

    def store(self):
        return self.kept


@dataclass(frozen=True, kw_only=True)
class ModelTrainer(TrainerSpec):
    kept: MemoryStore = field(default_factory=MemoryStore)

    def model(self):
        return Sums()

    def store(self):
        return self.kept


def carried_out(case, pick, faults=()):
    """The world after the job, and rows of all servers; raises `ModelBrokenError`."""
    placement = Placement((2 * case.servers,), case.servers)
    specs = [
        ModelServer(each, 2, _DIM, each, 0.5, 0.5, None, (), Path(), deadlines=DEADLINES)
        for each in range(case.servers)
    ]
    plan = copied(case.servers, case.copies, case.interval)
    trainer = ModelTrainer(
        Two(case.servers),
        placement,
        _DIM,
        0,
        0,
        0.5,
        DEADLINES.answer_s,
        Path(),
        copies=case.copies,
    )
    job = RunningJob(plan.start(), case.steps, 1.0)
    worlds = []

    def roster(given):
        worlds.append(World(given, pick, case.room))
        return worlds[0]

    with LocalCluster(
        with_copies(specs, plan.redundancy), [trainer], DEADLINES, roster=roster
    ) as all_:
        (world,) = worlds
        world.strike_later(faults)
        clock = StepClock(1.0, lambda: job.executed)
        clock.pinned = not case.free
        timeline = AbsoluteTimeline((), ()).cursor()
        strikes = Strikes(all_, timeline, clock, InjectionMode(), True)
        execution = Execution(job, all_, strikes, None, lambda _: None, plan.redundancy)
        try:
            execution.run()
        finally:
            world.is_over()
    rows = {
        (server, shard): state.shard.weights.numpy()
        for server in range(case.servers)
        for shard, state in world.members["server", server].server._states.items()
    }
    return world, rows, execution.recovery.replaced


def check(case, pick, faults=()):
    """Carry out the job: rows are those of steps one after another, and copies are equal to them.

    Raises `ModelBrokenError`; returns the world.
    """
    world, rows, replaced = carried_out(case, pick, faults)
    if replaced > len(world.struck):
        raise ModelBrokenError(f"{replaced} were replaced, {len(world.struck)} struck")
    # A step goes on from a trainer to a server, and from there to the copies: where both die at
    # once it may be in no row of that shard. In all others each step is, once.
    both = {role for role, _ in world.struck} == {"server", "trainer"}
    for (server, shard), found in rows.items():
        allowed = _expected(case, shard, int(both))
        if tuple(found[:, 0]) not in allowed or not np.array_equal(found, rows[shard, shard]):
            raise ModelBrokenError(f"server {server} has wrong rows of shard {shard}: {found}")
    return world


@cache
def _expected(case, shard, missing):
    """Worked out with no members at all: rows after all steps, up to so many left out."""
    spec = ServerSpec(shard, 2, _DIM, shard, 0.5, 0.5, None, (), Path())
    found = set()
    for count in range(missing + 1):
        for left_out in combinations(range(case.steps), count):
            held = spec.shard()
            for step in sorted({*range(case.steps)}.difference(left_out)):
                ids = torch.tensor([step % 2])
                held.update(ids, 1 + held.lookup(ids) / 8)
            found.add(tuple(held.weights[:, 0].tolist()))
    return found
