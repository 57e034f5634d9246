"""Copies of shards on other servers: nothing is lost while one is left."""

import pytest

from cprsim.policies.full import full_plan
from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members.copying import Ring
from tests.trainer.runs import (
    IMPATIENT,
    PATIENT,
    STEPS,
    copied,
    filled_late,
    ran,
    servers_hit,
    trainer_hit,
)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return {n: ran(full_plan(1e9), [], tmp_path_factory.mktemp("c"), servers=n) for n in (2, 3)}


def test_shards_are_on_their_servers_and_those_after_them():
    ring = Ring(4, 3)

    assert ring.shards(1) == [1, 0, 3]
    assert ring.holders(3) == [3, 0, 1]
    assert ring.holders(3, without={3, 0}) == [1]
    assert all(s in ring.shards(h) for s in range(4) for h in ring.holders(s))


@pytest.mark.parametrize("free", [False, True], ids=["pinned", "free"])
@pytest.mark.parametrize(("servers", "per_shard"), [(2, 2), (3, 2), (3, 3)])
def test_losses_of_one_server_change_no_prediction(
    clean, tmp_path, monkeypatch, servers, per_shard, free
):
    kills = [(9.0, servers_hit(0)), (30.0, servers_hit(servers - 1))]
    if free:  # else training waits for it
        filled_late(monkeypatch, 15)
        kills.pop()  # it may not be back by then
    plan = copied(servers, per_shard)
    recovered = ran(plan, kills, tmp_path, servers=servers, free=free)

    assert recovered.predictions == clean[servers].predictions
    assert recovered.replaced == recovered.struck == len(kills)
    assert recovered.job.executed == STEPS
    assert recovered.pls == 0
    assert recovered.job.row_events == []
    # What a copy holds is what its original does, bit for bit: also where it was filled.
    for server, digests in enumerate(recovered.digests):
        for shard, sha256 in digests["copies"].items():
            assert sha256 == recovered.digests[int(shard)]["sha256"], (server, shard)


def test_connections_after_a_loss_wait_for_the_ends_of_those_before_it(tmp_path, monkeypatch):
    """What the lost server had passed on is done then: see `test_copying`."""
    epochs = []

    def connect(self, epoch, holders, again):
        epochs.append((epoch, again))
        connected(self, epoch, holders, again)

    connected = LocalCluster.connect
    monkeypatch.setattr(LocalCluster, "connect", connect)
    ran(copied(2, 2), [(9.0, servers_hit(0)), (30.0, servers_hit(1))], tmp_path)

    after = [at for at, (_, again) in enumerate(epochs) if again]
    assert len(after) == 2
    assert all(epochs[at - 1][0] < epochs[at][0] for at in after)


def test_with_three_copies_two_may_go(clean, tmp_path):
    kills = [(9.0, servers_hit(0)), (9.0, servers_hit(1)), (30.0, servers_hit(1, 2))]
    recovered = ran(copied(3, 3), kills, tmp_path, servers=3)

    assert recovered.predictions == clean[3].predictions
    assert recovered.replaced == recovered.struck == 4
    assert recovered.job.executed == STEPS


def test_when_all_copies_of_a_shard_are_gone_the_job_rolls_back(clean, tmp_path):
    plan = copied(3, 2, interval_s=10.0)
    kills = [(14.0, servers_hit(0, 1)), (32.0, servers_hit(2))]
    recovered = ran(plan, kills, tmp_path, servers=3, free=True)

    assert recovered.predictions == clean[3].predictions
    assert recovered.job.executed == STEPS + 4
    for digests in recovered.digests:
        for shard, sha256 in digests["copies"].items():
            assert sha256 == recovered.digests[int(shard)]["sha256"]


@pytest.mark.parametrize(
    ("manner", "deadlines"),
    [
        (InjectionMode(saving=1.0), PATIENT),
        (InjectionMode(loading=1.0), PATIENT),
        pytest.param(InjectionMode(hangs=1.0), IMPATIENT, marks=pytest.mark.slow),
    ],
    ids=["saving", "loading", "hangs"],
)
def test_in_whatever_they_are_hit(clean, tmp_path, manner, deadlines):
    plan = copied(3, 2, interval_s=10.0)
    kills = [(13.0, servers_hit(1)), (27.0, servers_hit(2))]
    recovered = ran(plan, kills, tmp_path, servers=3, manner=manner, deadlines=deadlines, free=True)

    assert recovered.predictions == clean[3].predictions
    if deadlines is PATIENT:
        assert recovered.replaced == recovered.struck > 0


def test_a_lost_trainer_has_the_dense_part_from_a_survivor(clean, tmp_path):
    """It was lost, and nothing told of it (fault G of the trainer's findings)."""
    kills = [(13.0, servers_hit(0)), (13.0, trainer_hit()), (30.0, trainer_hit(1))]
    recovered = ran(copied(3, 2, 10.0), kills, tmp_path, servers=3, watch=True)

    assert recovered.replaced == recovered.struck == 4
    assert recovered.job.executed == STEPS
    assert recovered.job.dense_lost_steps == 0
    assert recovered.predictions == clean[3].predictions
    for digests in recovered.digests:
        for shard, sha256 in digests["copies"].items():
            assert sha256 == recovered.digests[int(shard)]["sha256"]


def test_kept_dense_parts_are_void_once_the_job_has_returned_to_a_checkpoint(clean, tmp_path):
    kills = [(14.0, servers_hit(0, 1)), (24.0, trainer_hit())]
    recovered = ran(copied(3, 2, 10.0), kills, tmp_path, servers=3)

    assert recovered.job.executed == STEPS + 4
    assert recovered.predictions == clean[3].predictions
