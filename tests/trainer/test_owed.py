"""An answer settles what it answers, and nothing else (fault C of the trainer's findings)."""

from cprsim.trainer.coordinator.cluster import Owed
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.wire import Message, Op

SERVER, TRAINER = ("server", 0), ("trainer", 0)


class Bench:
    def __init__(self):
        self.now = 0.0
        self.owed = Owed(Deadlines(answer_s=1.0, work_s=20.0), lambda: self.now)

    def hear(self, name, op, step=0, **facts):
        self.owed.hear(name, Message(op, step, (), facts))


def test_what_was_loaded_in_one_epoch_says_nothing_of_another():
    bench = Bench()
    bench.owed.ask(SERVER, Op.FILL, 0, {"epoch": 1})
    bench.now = 1.0
    bench.owed.ask(SERVER, Op.LOAD, 8, {"epoch": 2})
    bench.hear(SERVER, Op.LOADED, epoch=1)

    bench.now = 21.0
    assert bench.owed.late == {SERVER}
    bench.hear(SERVER, Op.LOADED, epoch=2)
    assert bench.owed.late == set()


def test_each_of_two_saves_is_owed():
    bench = Bench()
    for number in (1, 2):
        bench.owed.ask(SERVER, Op.SAVE, number, {})
    bench.hear(SERVER, Op.TAKEN, 1)

    bench.now = 3.0
    assert bench.owed.late == {SERVER}
    bench.hear(SERVER, Op.TAKEN, 2)
    assert bench.owed.late == set()
    bench.hear(SERVER, Op.SAVED, 2)
    bench.now = 20.0
    assert bench.owed.late == {SERVER}
    bench.hear(SERVER, Op.SAVED, 1)
    assert bench.owed.next_s == float("inf")


def test_who_steps_has_time_for_another_step_and_who_lost_servers_owes_no_training():
    bench = Bench()
    bench.owed.ask(TRAINER, Op.TRAIN, 9, {})
    bench.now = 2.0
    bench.hear(TRAINER, Op.STEPPED, 1)
    assert bench.owed.next_s == 5.0
    bench.owed.ask(TRAINER, Op.HALT, 0, {})
    bench.hear(TRAINER, Op.LOST, lost=[0])
    assert bench.owed.next_s == float("inf")


def test_the_dead_owe_nothing():
    bench = Bench()
    for name in (SERVER, TRAINER):
        bench.owed.expect(name, Op.READY)
    bench.owed.forgive({SERVER})
    bench.now = 20.0

    assert bench.owed.late == {TRAINER}
