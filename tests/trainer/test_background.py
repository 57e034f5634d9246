"""Saves in the background: what counts when, and what a failure voids."""

from dataclasses import dataclass, field

import pytest

from cprsim.contract import Save, Saved, Stored
from cprsim.policies.full import full_plan
from cprsim.policies.partial import partial_plan
from cprsim.trainer.coordinator.background import SavesUnderWay
from cprsim.trainer.coordinator.cluster import Reply
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members.wire import Message, Op
from tests.trainer.runs import STEPS, behind, ran, servers_hit, trainer_hit
from tests.trainer.test_oracle import INTERVAL, KILLS

BEHIND = Save(blocking=False)
SERVERS = [("server", 0), ("server", 1)]
TRAINER = ("trainer", 0)


# --- Accounts, with nothing real ---


@dataclass
class Told:
    """A controller and a cluster that note what they are told."""

    names: list = field(default_factory=lambda: [*SERVERS, TRAINER])
    events: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    listeners: list = field(default_factory=list)
    news: bool = False

    def tell(self, event):
        self.events.append(event)

    def ask(self, name, op, number, **facts):
        assert op == Op.SAVE
        self.asked.append((name, number, facts["at"], facts["returns_to"]))


@dataclass
class Bench:
    told: Told = field(default_factory=Told)

    def __post_init__(self):
        self.job = RunningJob(self.told, STEPS, 1.0)
        self.saves = SavesUnderWay(self.job, self.told)

    def begin(self, step):
        self.job.step = step
        each = self.saves.begin(BEHIND)
        self.saves.ask(self.told.names)
        return each

    def hear(self, op, each, *names):
        took = {"bytes": 0, "of_bytes": 0, "select_s": 0.0, "gather_s": 0.0, "write_s": 0.0}
        said = Message(op, each.number, (), {"whole": True, **took})
        for name in names or self.told.names:
            for listener in self.told.listeners:
                listener(Reply(name, said))

    def kinds(self):
        return [type(event) for event in self.told.events]


def test_a_checkpoint_counts_once_all_have_stored_it_as_of_when_it_was_taken():
    bench = Bench()
    each = bench.begin(5)
    bench.hear(Op.TAKEN, each)
    bench.hear(Op.SAVED, each, *SERVERS)
    assert not bench.saves.taking
    bench.saves.go_on(each)
    bench.job.step = 8
    assert bench.saves.pending == (BEHIND,)
    assert bench.job.usable.last.step == 0

    bench.hear(Op.SAVED, each, TRAINER)

    assert bench.kinds() == [Saved, Stored]
    assert bench.told.events[0].stored is False
    assert (bench.job.usable.last.step, bench.saves.pending) == (5, ())
    assert bench.told.news


def test_what_is_stored_before_training_may_go_on_is_told_after_that():
    bench = Bench()
    each = bench.begin(5)
    for op in (Op.TAKEN, Op.SAVED):
        bench.hear(op, each)
    assert bench.kinds() == []

    bench.saves.go_on(each)

    assert bench.kinds() == [Saved, Stored]


@pytest.mark.parametrize(
    ("died", "rollback"), [(SERVERS[:1], "lost"), (SERVERS, "all"), ([TRAINER], "all")]
)
def test_late_answers_to_a_void_save_change_nothing(died, rollback):
    bench = Bench()
    each = bench.begin(5)
    bench.hear(Op.TAKEN, each)
    bench.saves.go_on(each)
    bench.saves.lose(died, rollback)
    assert bench.job.row_events == []

    bench.hear(Op.SAVED, each)

    assert bench.kinds() == [Saved]
    assert bench.job.usable.last.step == 0


def test_a_trainer_that_is_replaced_takes_its_part_again():
    bench = Bench()
    each = bench.begin(5)
    bench.hear(Op.TAKEN, each)
    bench.saves.go_on(each)
    bench.hear(Op.SAVED, each)
    each = bench.begin(9)
    bench.hear(Op.TAKEN, each)
    bench.saves.go_on(each)
    bench.hear(Op.SAVED, each, TRAINER)
    bench.saves.lose([TRAINER], "lost")
    bench.hear(Op.SAVED, each, *SERVERS)
    assert bench.job.usable.last.step == 5

    assert bench.saves.ask(bench.told.names)
    assert bench.saves.taking
    assert bench.told.asked[-1] == (TRAINER, each.number, 9, [5])
    for op in (Op.TAKEN, Op.SAVED):
        bench.hear(op, each, TRAINER)

    assert bench.job.usable.last.step == 9


def test_who_saves_is_told_which_checkpoints_may_still_be_needed():
    bench = Bench()
    for step in (5, 9):
        each = bench.begin(step)
        bench.hear(Op.TAKEN, each)
        bench.saves.go_on(each)

    assert bench.told.asked[-1][1:] == (2, 9, [0, 5])


# --- Real runs ---


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return ran(full_plan(1e9), [], tmp_path_factory.mktemp("clean"))


@pytest.mark.parametrize(
    "manner", [InjectionMode(), InjectionMode(saving=1.0)], ids=["servers", "saving"]
)
def test_full_recovery_predicts_what_a_run_without_failures_does(clean, tmp_path, manner):
    plan = behind(full_plan(INTERVAL))
    kills = [*KILLS[:3], (27.0, trainer_hit())]
    recovered = ran(plan, kills, tmp_path, manner=manner, final_save=True)

    assert recovered.predictions == clean.predictions
    assert recovered.replaced == recovered.struck > 0
    assert recovered.job.usable.last.step == STEPS
    seconds = recovered.job.watch.seconds
    assert seconds["stall"] > 0


def test_saves_land_beside_training(clean, tmp_path):
    plan = behind(full_plan(2.0), max_pending=2)
    recovered = ran(plan, [(25.5, servers_hit(1))], tmp_path, watch=True, free=True)

    assert recovered.predictions == clean.predictions
    assert 1 <= max(recovered.watched.pending) <= 2
    assert recovered.watched.pending[-1] >= 0


def test_pinned_to_steps_saves_land_before_the_next_failure(tmp_path):
    plan = behind(partial_plan(INTERVAL))
    recovered = ran(plan, KILLS, tmp_path, watch=True)

    # As with saves that training waits for (test_oracle).
    assert recovered.job.lost_steps == 3 + 4 + 4 + 10 + 8
    for (loss, before, saved), after in recovered.watched.recoveries():
        for server, rows in after.items():
            expected = saved if server in loss.servers else before
            assert (rows == expected[server]).all()


def test_a_server_that_dies_while_a_save_is_under_way_goes_back_to_the_one_before(tmp_path):
    plan = behind(partial_plan(INTERVAL))
    recovered = ran(plan, [(13.0, servers_hit(0))], tmp_path, manner=InjectionMode(saving=1.0))

    assert recovered.replaced == recovered.struck == 1
    assert recovered.job.lost_steps == 20 - 10
