"""The next batch is made while servers work, and nothing else is different: ids are prefetched."""

import numpy as np
import pytest

from cprsim.trainer.data.contract import Batch
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.wire import Op
from tests.trainer.modelled import DEADLINES, ModelServer, ModelTrainer
from tests.trainer.world import World

TRAINER, SERVER = ("trainer", 0), ("server", 0)


class Noting:
    """One row in every step; `made`: of which steps a batch was made."""

    def __init__(self):
        self.made = []

    def batch(self, step):
        self.made.append(step)
        return Batch(np.zeros((1, 1), np.float32), np.zeros((1, 1), int), np.zeros(1, np.float32))


class Pair:
    """A trainer that is connected to a server."""

    def __init__(self, folder):
        self.data = Noting()
        trainer = ModelTrainer(
            self.data, Placement((1,), 1), 1, 0, 0, 0.5, DEADLINES.answer_s, folder
        )
        specs = {SERVER: ModelServer(0, 1, 1, 0, 0.5, 0.5, None, (), folder), TRAINER: trainer}
        self.world = World(specs, lambda _: 0)
        for name in specs:
            self.world.start(name)
        self.world.run()
        routes = [[(0, self.world.address(SERVER))]]
        self.tell(Op.CONNECT, 0, routes=routes, epoch=1, again=False)
        self.world.run()
        self.said().clear()

    def tell(self, op, step, **facts):
        self.world.tell(TRAINER, op, step, facts)

    def said(self):
        """To the controller, by the trainer."""
        return self.world.members[TRAINER].to_controller.inbox

    @property
    def applied(self):
        """Steps that the server has."""
        return self.world.members[SERVER].server._own.applied


def test_it_is_made_before_rows_have_come(tmp_path):
    pair = Pair(tmp_path)
    pair.world.strike(SERVER, "hangs")
    pair.tell(Op.TRAIN, 3, first=0)
    pair.world.run()

    assert pair.data.made == [0, 1]


@pytest.mark.parametrize("end", [0, 1, 2, 5])
def test_each_is_made_once_and_none_beyond_the_last(tmp_path, end):
    pair = Pair(tmp_path)
    pair.tell(Op.TRAIN, end, first=0)
    pair.world.run()

    assert pair.data.made == list(range(end))
    assert [each.op for each in pair.said()] == [*[Op.STEPPED] * end, Op.TRAINED]
    assert pair.applied == end


def test_a_halt_leaves_what_was_made_and_its_rows_are_not_asked_for(tmp_path):
    pair = Pair(tmp_path)
    pair.tell(Op.TRAIN, 5, first=0)
    pair.world.run(lambda: pair.data.made == [0, 1])
    pair.tell(Op.HALT, 0)
    pair.world.run()

    assert [each.op for each in pair.said()] == [Op.STEPPED, Op.TRAINED]
    assert pair.data.made == [0, 1]
    pair.tell(Op.TRAIN, 2, first=1)
    pair.world.run()
    assert pair.data.made == [0, 1, 1]
    assert pair.applied == 2
