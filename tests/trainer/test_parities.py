"""Parities on other servers: what a lost one held is worked out of the rest, bit for bit.

`ran` looks at all rows, their optimiser state and all parities when the job is done.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from cprsim.contract import Redundancy
from cprsim.policies.full import full_plan
from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.coordinator.rebuilding import Rebuilding
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members import decoding
from cprsim.trainer.members.copying import Forwarder
from cprsim.trainer.members.decoding import GroupPeers
from cprsim.trainer.members.stripes import Stripes
from cprsim.trainer.members.wire import Op
from tests.trainer.parities import check_held
from tests.trainer.ring import Ring, push
from tests.trainer.runs import IMPATIENT, PATIENT, STEPS, coded, ran, servers_hit, trainer_hit


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return {
        n: ran(full_plan(1e9), [], tmp_path_factory.mktemp("c"), servers=n) for n in (3, 4, 6, 8)
    }


def rows_of(run):
    """Hashes of what each server holds of its own."""
    return [each["sha256"] for each in run.digests]


def test_rows_and_their_parity_are_on_servers_one_after_another():
    stripes = Stripes(5, 2)

    assert stripes.holders(0) == [0, 2, 1]  # row 0 with those of server 1, row 1 with those of 4
    assert stripes.copied(2) == [0, 1]
    assert sorted(stripes.sources(0)) == [1, 2, 3, 4]
    assert stripes.sources(0, without={3}) is None
    assert sorted(Stripes(6, 2).sources(0)) == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("servers", "data"),
    # With 8 some servers have a row more than others, and so a stripe.
    [(3, 2), pytest.param(4, 3, marks=pytest.mark.slow), (8, 4)],
)
def test_losses_of_one_server_change_no_prediction(clean, tmp_path, servers, data):
    kills = [(9.0, servers_hit(0)), (30.0, servers_hit(servers - 1))]
    recovered = ran(coded(servers, data), kills, tmp_path, servers=servers)

    assert recovered.predictions == clean[servers].predictions
    assert rows_of(recovered) == rows_of(clean[servers])
    assert recovered.replaced == recovered.struck == len(kills)
    assert recovered.job.executed == STEPS
    assert recovered.pls == 0
    assert recovered.job.row_events == []


def worked_out_late(monkeypatch, step):
    """Nobody works out more than what is looked up before the trainer has done so many steps.

    From then on training waits for who is away, and so does the next failure. Gives who was away
    at each event.
    """
    ask, hear, held, away = LocalCluster.ask, Rebuilding._hear, [], []

    def late(self, name, op, at=0, **facts):
        if op == Op.CATCH_UP and held is not None:
            held.append((name, facts))
        else:
            ask(self, name, op, at, **facts)

    def heard(self, event):
        nonlocal held
        hear(self, event)
        away.append(self.away)
        if self._job.step >= step and held is not None:
            self._strikes._times.pinned = True
            given, held = held, None
            for name, facts in given:
                ask(self._cluster, name, Op.CATCH_UP, **facts)

    monkeypatch.setattr(LocalCluster, "ask", late)
    monkeypatch.setattr(Rebuilding, "_hear", heard)
    return away


@pytest.mark.parametrize(("servers", "data"), [(3, 2), pytest.param(6, 2, marks=pytest.mark.slow)])
def test_rows_are_worked_out_as_they_are_looked_up(clean, tmp_path, monkeypatch, servers, data):
    worked_out_late(monkeypatch, 25)
    kills = [(9.0, servers_hit(0)), (32.0, servers_hit(servers - 1))]
    recovered = ran(coded(servers, data), kills, tmp_path, servers=servers, free=True)

    assert recovered.predictions == clean[servers].predictions
    assert rows_of(recovered) == rows_of(clean[servers])
    assert recovered.job.executed == STEPS
    assert recovered.replaced == 2


@pytest.mark.slow
def test_servers_that_share_no_group_may_both_be_away(clean, tmp_path, monkeypatch):
    away = worked_out_late(monkeypatch, 25)
    kills = [(9.0, servers_hit(0)), (12.0, servers_hit(3)), (15.0, servers_hit(0))]
    recovered = ran(coded(6, 2), kills, tmp_path, servers=6, free=True)

    assert {("server", 0), ("server", 3)} in away
    assert recovered.predictions == clean[6].predictions
    assert rows_of(recovered) == rows_of(clean[6])
    assert recovered.job.executed == STEPS


@pytest.mark.parametrize(
    ("interval_s", "again"), [(10.0, 4), pytest.param(1e9, 14, marks=pytest.mark.slow)]
)
def test_two_losses_in_a_group_return_the_job_to_its_last_checkpoint(
    clean, tmp_path, interval_s, again
):
    """Or to its start; parities are worked out anew, and good for another loss."""
    kills = [(14.0, servers_hit(0, 2)), (32.0, servers_hit(1))]
    recovered = ran(coded(4, 2, interval_s), kills, tmp_path, servers=4)

    assert recovered.predictions == clean[4].predictions
    assert rows_of(recovered) == rows_of(clean[4])
    assert recovered.job.executed == STEPS + again


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manner", "deadlines"),
    [
        (InjectionMode(saving=1.0), PATIENT),
        (InjectionMode(loading=1.0), PATIENT),
        (InjectionMode(hangs=1.0), IMPATIENT),
    ],
    ids=["saving", "loading", "hangs"],
)
def test_in_whatever_they_are_hit(clean, tmp_path, manner, deadlines):
    kills = [(13.0, servers_hit(1)), (27.0, servers_hit(2))]
    recovered = ran(
        coded(6, 2, 10.0),
        kills,
        tmp_path,
        servers=6,
        manner=manner,
        deadlines=deadlines,
        free=True,
    )

    assert recovered.predictions == clean[6].predictions
    assert recovered.replaced >= recovered.struck > 0
    if deadlines is PATIENT:
        assert recovered.replaced == recovered.struck


@pytest.mark.slow
def test_a_lost_trainer_has_the_dense_part_from_a_survivor(clean, tmp_path):
    kills = [(13.0, servers_hit(0)), (13.0, trainer_hit()), (30.0, trainer_hit(1))]
    recovered = ran(coded(4, 2, 10.0), kills, tmp_path, servers=4)

    assert recovered.replaced == recovered.struck == 4
    assert recovered.job.executed == STEPS
    assert recovered.job.dense_lost_steps == 0
    assert recovered.predictions == clean[4].predictions
    assert rows_of(recovered) == rows_of(clean[4])


class CodedRing(Ring):
    """Three servers that hold parities of each other's rows."""

    def __init__(self, folder):
        super().__init__(folder, 3, Redundancy("parities", 2, 1))

    def connect(self, epoch):
        routes = self.routes(*(Stripes(3, 2).holders(shard) for shard in range(3)))
        self.do(self.links.connect(routes, epoch))

    def held(self):
        stripes = np.arange(self.servers[0]._reconstruction.coded.lost.shape[1])
        return [each._reconstruction.coded.read(2, stripes)[0].tobytes() for each in self.servers]


def test_the_first_parities_are_there_before_anybody_greets(tmp_path):
    """Making them may take longer than a greeting."""
    check_held(CodedRing(tmp_path).servers, 2)


def test_what_has_come_by_a_limit_is_taken_before_anybody_is_blamed():
    """A server that didn't run for so long finds its limit past and the difference unread."""
    unread = [{1}, {1}, set()]  # it is read in one round of links, and taken in the next
    coded = SimpleNamespace(behind=lambda _: unread[0])
    around = SimpleNamespace(now_s=lambda: 0.0)
    for wait in decoding.Decoder(around, coded, PATIENT)._heard({0: 1}):
        assert wait.due_s < float("inf") or wait.ready()
        unread.pop(0)


def test_a_difference_is_in_a_parity_once(tmp_path):
    """Also where it is sent again, as after every loss."""
    ring = CodedRing(tmp_path)
    ring.connect(1)
    ring.do(push(ring, 0))
    ring.do(ring.links.sync())
    once = ring.held()
    ring.connect(2)  # servers send what they sent last
    ring.do(push(ring, 0))
    ring.do(ring.links.sync())

    assert ring.held() == once
    check_held(ring.servers, 2)


def test_a_parity_that_lacks_a_difference_gets_it_with_the_next_connection(tmp_path, monkeypatch):
    """It was too slow for one update, and the trainer died that would have heard of it."""
    ring = CodedRing(tmp_path)
    ring.connect(1)
    with monkeypatch.context() as given_up:
        given_up.setattr(Forwarder, "put", lambda *_: None)
        ring.do(push(ring, 0))
        ring.do(ring.links.sync())
    with pytest.raises(AssertionError, match="the parity on server 0 is not that of its rows"):
        check_held(ring.servers, 2)

    ring.connect(2)

    check_held(ring.servers, 2)


def test_all_that_is_lost_is_worked_out_portion_by_portion(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "_PORTION", 3)
    ring = CodedRing(tmp_path)
    ring.connect(1)
    ring.do(push(ring, 0))
    ring.do(ring.links.sync())
    rebuild = ring.servers[0]._reconstruction
    shard, held = rebuild.coded.own.shard, ring.held()
    before = shard.digest()
    for place in range(3):
        rebuild.coded.lose(place, rebuild.coded.steps(place).copy())
    shard.weights.zero_()
    shard.squares.fill_(7.0)
    for entries in rebuild.coded._entries[2]:
        entries[:] = 7
    rebuild.peers = GroupPeers(0, dict(enumerate(ring.at)))

    ring.do(rebuild.end(0))

    assert shard.digest() == before
    assert ring.held() == held
    check_held(ring.servers, 2)
