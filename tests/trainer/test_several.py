"""Two trainers, and the server of the dense part that they share."""

import tomllib
from collections import Counter
from fractions import Fraction
from signal import SIGKILL

import numpy as np
import pytest
import torch

from cprsim.errors import ScenarioError
from cprsim.policies.full import full_plan
from cprsim.policies.partial import partial_plan
from cprsim.scenario import Scenario
from cprsim.trainer.coordinator.history import JobSetBack, ShardSetBack, losses
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.wire import Op
from cprsim.trainer.section import trainer_section
from cprsim.trainer.training import train
from tests.trainer.modelled import ModelServer
from tests.trainer.runs import (
    BATCH,
    DATA,
    DENSE,
    IMPATIENT,
    STEPS,
    ran,
    servers_hit,
    trainer_hit,
)
from tests.trainer.test_training import QUICK, SECTION, SMALL
from tests.trainer.world import ModelMember, World

INTERVAL = 10.0


def two(plan, failures, folder, **options):
    return ran(plan, failures, folder, trainers=2, watch=True, **options)


def same(rows, expected):
    assert rows.keys() == expected.keys() == {0, 1, DENSE}
    return all(np.array_equal(rows[server], expected[server]) for server in rows)


@pytest.mark.slow
def test_two_trainers_learn_what_one_does():
    mapping = tomllib.loads(QUICK.read_text())
    mapping["failures"] = {"exactly": 0}
    mapping["job"]["samples"] = 50_000
    section = trainer_section(mapping.pop("trainer") | {"answer": "60 s"})
    one = train(Scenario(**mapping), section, "partial")
    mapping["cluster"]["trainers"] = 2
    both = train(Scenario(**mapping), section, "partial")

    assert both.steps == both.executed == one.executed
    # Some gradients are a few steps old: that takes about 0.002. Half of the samples take 0.02.
    assert both.auc == pytest.approx(one.auc, abs=0.01)


@pytest.mark.parametrize(
    "failures",
    [[], [(9.0, servers_hit(0)), (17.0, trainer_hit(trainer=1)), (25.5, trainer_hit(0, 1))]],
    ids=["unharmed", "rolled back"],
)
def test_steps_that_are_done_one_after_another_are_those_of_one_trainer(tmp_path, failures):
    """Bit for bit, so each of them is in all rows and in the dense part once."""
    one = ran(full_plan(INTERVAL), [], tmp_path / "one")
    several = ran(full_plan(INTERVAL), failures, tmp_path / "two", trainers=2, warm_start=STEPS)

    assert several.predictions == one.predictions
    assert several.failures == len(failures)


def test_a_lost_trainer_takes_nothing_with_it(tmp_path):
    kills = [(13.0, trainer_hit(trainer=1)), (21.0, trainer_hit()), (30.0, trainer_hit())]
    recovered = two(partial_plan(INTERVAL), kills, tmp_path)

    recoveries = [*recovered.watched.recoveries()]
    assert len(recoveries) == 3
    for (loss, before, _), after in recoveries:
        assert len(loss.trainers) == 1
        assert same(after, before)
    assert (recovered.failures, recovered.struck, recovered.replaced) == (3, 3, 3)
    assert recovered.pls == 0
    assert recovered.job.executed == STEPS


def test_a_lost_trainer_rolls_the_job_back_under_full_recovery(tmp_path):
    recovered = two(full_plan(INTERVAL), [(13.0, trainer_hit(trainer=1))], tmp_path)

    ((_, before, saved),), (after,) = recovered.watched.before, recovered.watched.after
    assert same(after, saved)
    assert not same(after, before)
    assert recovered.job.executed == STEPS + 3
    assert recovered.job.row_events[1] == JobSetBack(13, 10)


def test_lost_servers_lose_as_much_as_with_one_trainer(tmp_path):
    kills = [(3.0, servers_hit(0)), (14.5, servers_hit(0, 1)), (20.0, servers_hit(1))]
    recovered = two(partial_plan(INTERVAL), kills, tmp_path)

    # All are at the same step where something strikes or is saved: 3, 14 and 20.
    assert recovered.pls == float(Fraction(3 + 4 + 4 + 10, STEPS * 2))
    for (loss, before, saved), after in recovered.watched.recoveries():
        expected = {
            server: (saved if server in loss.servers else before)[server] for server in after
        }
        assert same(after, expected)


@pytest.mark.parametrize("kind", ["partial", "full"])
def test_a_server_of_the_dense_part_that_dies_returns_to_its_checkpoint(tmp_path, kind):
    killed = []

    def stepped(cluster, step):
        if step == 15 and not killed:
            killed.append(cluster.strike(("dense", 0), SIGKILL))

    plan = full_plan(INTERVAL) if kind == "full" else partial_plan(INTERVAL)
    recovered = two(plan, [], tmp_path, stepped=stepped)

    assert killed == [True]
    ((loss, _, saved),), (after,) = recovered.watched.before, recovered.watched.after
    assert loss.trainers == {0, 1}
    assert np.array_equal(after[DENSE], saved[DENSE])
    assert (recovered.failures, recovered.replaced, recovered.pls) == (0, 1, 0)
    set_back = [each for each in recovered.job.row_events if isinstance(each, JobSetBack)]
    assert [each.to for each in set_back] == ([10] if kind == "full" else [])


@pytest.mark.slow
def test_a_trainer_that_hangs_takes_no_server_with_it(tmp_path):
    kills = [(13.0, trainer_hit(trainer=1)), (25.0, trainer_hit(1))]
    recovered = two(
        full_plan(INTERVAL), kills, tmp_path, manner=InjectionMode(hangs=1.0), deadlines=IMPATIENT
    )

    assert recovered.struck == 3
    assert recovered.replaced >= 3


def test_updates_that_rows_hold_are_those_that_were_not_lost(tmp_path):
    """By brute force: a row that holds an update is not what it was at the start.

    Servers are killed while both trainers are at some step, one ahead of the other perhaps.
    """
    due = [(7, 0), (18, 1), (26, 0), (37, 1)]

    def stepped(cluster, step):
        if due and step >= due[0][0]:
            _, server = due.pop(0)
            cluster.strike(("server", server), SIGKILL)

    found = two(partial_plan(INTERVAL), [], tmp_path, stepped=stepped)
    placement = Placement(tuple(table.rows for table in DATA.tables), 2)
    held, saved, lost, done = Counter(), {0: Counter()}, 0, set()
    for each in [*found.job.row_events, None]:
        reached = range(STEPS if each is None else each.step)
        for step in {*reached, *getattr(each, "ahead", ())} - done:
            held.update(placement.ids(DATA.batch(step).sparse).ravel().tolist())
            done.add(step)
        if isinstance(each, ShardSetBack):
            for row in [row for row in held if row % 2 == each.server]:
                lost += held[row] - saved[each.to][row]
                held[row] = saved[each.to][row]
        elif each is not None:
            saved[each.step] = Counter(held)
    changed = {
        2 * place + server
        for server in (0, 1)
        for place in np.flatnonzero(
            (found.watched.final[server] != found.watched.first[server]).any(axis=1)
        )
    }

    assert found.replaced == 4
    assert found.job.lost_steps >= 7 + 8 + 6 + 7
    assert changed == {row for row, updates in held.items() if updates}
    assert losses(found.job.row_events, STEPS, DATA, placement).updates_lost == pytest.approx(
        lost / (STEPS * BATCH * 3), rel=1e-12
    )


def test_a_server_adds_each_step_of_each_trainer_once(tmp_path):
    spec = ModelServer(0, 6, 2, 1, 0.5, 0.1, None, (), tmp_path, trainers=2)
    world = World({("server", 0): spec}, lambda _: 0)
    world.start(("server", 0))
    world.run()
    client = world.members["trainer", 0] = ModelMember(world, ("trainer", 0))
    links = [client.connect(world.address(("server", 0))) for _ in range(2)]
    for link in links:
        link.tell(Op.GREET, 0, {"shard": 0, "copies": [], "by": None})
    ids, times = np.array([1, 4]), np.array([1, 1])
    # Trainer 0 is ahead; both do again what the server has already.
    for step in (0, 2, 4, 1, 2, 4, 6, 1, 3, 5):
        links[step % 2].put(Op.UPDATE, step, ids, times, np.full((2, 2), 1.0 + step, np.float32))
        world.run()
    expected = spec.shard()
    for step in (0, 2, 4, 1, 6, 3, 5):
        expected.update(torch.from_numpy(ids), torch.full((2, 2), 1.0 + step))

    rows = world.members["server", 0].server._own.shard.weights
    assert torch.equal(rows, expected.weights)


def test_messages_larger_than_any_buffer_block_nobody():
    """Servers that answered one trainer at a time would wait in a circle with both."""
    mapping = tomllib.loads(SMALL)
    mapping["job"]["samples"] = 6 * 8192
    mapping["model"]["tables"] = [{"rows": 50_000, "dim": 64}] * 2
    mapping["cluster"]["trainers"] = 2
    mapping["failures"] = {"exactly": 0}
    section = SECTION | {"batch": 8192, "test_samples": 8192, "warm_start": 0}
    trained = train(Scenario(**mapping), trainer_section(section), "partial")

    assert (trained.executed, trained.replaced) == (6, 0)


def test_the_shipped_scenario_is_trained_by_two():
    mapping = tomllib.loads(QUICK.read_text())
    mapping.pop("trainer")
    mapping["cluster"]["trainers"] = 2
    mapping["job"]["samples"] = 2560
    mapping["failures"] = {"exactly": 4, "hits": {"parameter_servers": 0, "trainers": 1}}
    trained = train(Scenario(**mapping), trainer_section(SECTION), "cpr-mfu")

    assert trained.failures == trained.replaced == 4
    assert (trained.pls, trained.updates_lost) == (0, 0)


def test_copies_beside_several_trainers_are_refused():
    mapping = tomllib.loads(SMALL)
    mapping["cluster"]["trainers"] = 2
    mapping["failures"] = {"exactly": 0}
    mapping["policies"] = {"mine": {"system": "replication"}}

    with pytest.raises(ScenarioError) as error:
        train(Scenario(**mapping), trainer_section(SECTION), "mine")

    assert str(error.value) == (
        "policies.mine: copies beside several trainers (cluster.trainers = 2) can be simulated "
        "but not trained yet; add a policy that needs less"
    )
