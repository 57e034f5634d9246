"""Servers that are filled while others die: what they are asked, with nothing real."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from cprsim.errors import RunError
from cprsim.trainer.coordinator.cluster import Reply
from cprsim.trainer.coordinator.execution import Execution
from cprsim.trainer.coordinator.rebuilding import Rebuilding
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.members.copying import Ring
from cprsim.trainer.members.wire import Message, Op

TRAINER = ("trainer", 0)


@dataclass
class Told:
    """A cluster that notes what it is told, and says what it is made to say."""

    dead: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    said: list = field(default_factory=list)
    listeners: list = field(default_factory=list)
    news: bool = False
    servers: list = field(default_factory=lambda: [("server", 0), ("server", 1)])

    def ask(self, name, op, step=0, **facts):
        self.asked.append((op, name))

    def fill(self, name, epoch, sources):
        self.asked.append((Op.FILL, name, sources))

    def end_lost(self, message):
        assert not message.lost

    def next(self, _timeout_s=0.0):
        event = self.said.pop(0)
        for each in self.listeners:
            each(event)
        return event


class Bench:
    """One server of a ring is lost, and has been started again."""

    def __init__(self, lost, rollback, servers, copies):
        self.name, self.cluster = ("server", lost), Told()
        self.job = RunningJob(None, 100, 1.0)
        strikes = SimpleNamespace(loading=lambda _names: None, placed=lambda _names: None)
        ring = Ring(servers, copies)
        self.rebuilding = Rebuilding(self.job, self.cluster, strikes, ring)
        self.lose([self.name], rollback)
        self.say(Op.READY)

    def lose(self, died, rollback):
        self.cluster.dead = list(died)
        lost = set(died) - self.rebuilding.away - {TRAINER}
        self.rebuilding.take(lost, died, rollback)
        self.rebuilding.restarted(died)
        self.cluster.dead = []

    def say(self, op, **facts):
        self.cluster.said.append(Reply(self.name, Message(op, 0, (), facts)))
        self.cluster.next()


@pytest.mark.parametrize("servers", [2, 3, 4])
def test_a_trainer_that_dies_is_no_server_that_is_down(servers):
    bench = Bench(1, "none", servers, 2)
    first = bench.cluster.asked.copy()

    bench.lose([TRAINER], "none")  # copies may have been under way from who has died

    assert first
    assert bench.cluster.asked == [*first, *first]


def test_who_is_started_again_loads_again_though_its_answer_came_before_its_death_was_heard():
    bench = Bench(0, "lost", 2, 1)
    bench.say(Op.LOADED, epoch=bench.job.epoch)
    assert bench.rebuilding.filled == {bench.name}

    bench.lose([bench.name], "lost")

    assert not bench.rebuilding.filled
    bench.say(Op.READY)
    assert bench.cluster.asked == [(Op.LOAD, bench.name)] * len(bench.cluster.asked)
    assert len(bench.cluster.asked) >= 2


def test_a_server_that_is_silent_while_the_cluster_predicts_ends_the_run():
    lost = Message(Op.LOST, 0, (), {"lost": [1]})
    cluster = Told(said=[Reply(TRAINER, lost)])
    execution = Execution.__new__(Execution)
    execution._cluster = cluster

    with pytest.raises(RunError, match=r"^server 1 was lost while the cluster predicted$"):
        execution.predict(0, 1)
