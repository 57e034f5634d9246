"""Hot swap: its plan, its spares, and whole runs worked by hand."""

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import cprsim
from cprsim.contract import Loss, Mirror, Recover
from cprsim.contract.ledger import Ledger
from cprsim.errors import ScenarioError
from cprsim.rows.model import RowModel, TableRows
from cprsim.rows.skew import Skew
from cprsim.sim.engine import play, simulate
from cprsim.testing import PolicyConformance
from tests.policies import in_memory


class TestHotSwap(PolicyConformance):
    policy: ClassVar = {"system": "hot-swap", "iteration": "5 s"}


scenario = partial(in_memory.scenario, "hot-swap")


def ledger(folder: Path, strikes: str, reschedule: str = "50 s", **policy: object) -> Ledger:
    """Pairs (0, 1) to (6, 7), steps of 10 s, a takeover of 40 s; no remote save unless asked."""
    costs = {"save": "1 s", "load": "20 s", "reschedule": reschedule}
    job = scenario(folder, strikes, {"interval": "2000 s", "spares": 1} | policy, costs=costs)
    return play(job, "p", 0, 0)


# --- Spares and takeovers ------------------------------------------------------------------------


def test_a_spare_takes_over_at_once(tmp_path):
    run = ledger(tmp_path, "105,0\n")
    assert (run.lost, run.reschedule, run.load) == (15.0, 40.0, 20.0)
    assert run.wall == 1075.0


def test_without_spares_the_machine_is_waited_for(tmp_path):
    assert ledger(tmp_path, "105,0\n", spares=0).reschedule == 50.0 + 40.0


def test_a_spare_stands_in_for_a_trainer_too(tmp_path):
    run = ledger(tmp_path, "105,8\n")  # after the last server come the trainers
    assert (run.lost, run.reschedule, run.load) == (15.0, 40.0, 0.0)


def test_the_clusters_own_spares_are_not_the_policys(tmp_path):
    cluster = {"parameter_servers": 8, "spares": 3}
    job = scenario(tmp_path, "105,0\n", {"spares": 0}, cluster=cluster)
    assert play(job, "p", 0, 0).reschedule == 50.0 + 40.0


# --- Double faults -------------------------------------------------------------------------------


def test_the_spare_that_took_over_fails_and_the_pool_is_empty(tmp_path):
    # It goes on at 165 s; at 200 s the spare fails. The first machine is repaired at 305 s, and has
    # taken over at 345 s. 35 s after 90 s, three full steps: back to 110 s.
    run = ledger(tmp_path, "105,0\n200,0\n", reschedule="200 s")
    assert run.lost == 15.0 + 15.0
    assert run.reschedule == 40.0 + 105.0 + 40.0
    assert run.load == 20.0 + 20.0


def test_the_machine_that_is_repaired_is_a_spare_again(tmp_path):
    # Repaired at 155 s, so that it can take over at 200 s, and another one at 250 s.
    run = ledger(tmp_path, "105,0\n200,5\n275,1\n")
    assert run.reschedule == 3 * 40.0


def test_more_failures_than_spares_wait_for_the_first_repairs(tmp_path):
    # Both of a burst: one spare, and the first of two repairs.
    run = ledger(tmp_path, "105,0\n105,2\n")
    assert (run.lost, run.reschedule) == (15.0, 50.0 + 40.0)


def test_the_spare_fails_while_it_loads(tmp_path):
    # It loads from 145 s and fails at 150 s; the machine that it stood in for is there at 155 s.
    run = ledger(tmp_path, "105,0\n150,0\n")
    assert run.lost == 15.0
    assert run.reschedule == 40.0 + 5.0 + 40.0
    assert run.load == 5.0 + 20.0


def test_the_peer_fails_during_the_recovery(tmp_path):
    # Both copies are gone: from step 9 to the save at 60 s, or to the start.
    run = ledger(tmp_path, "105,0\n150,1\n", spares=2, interval="60 s")
    assert run.lost == 15.0 + 30.0
    assert run.reschedule == 40.0 + 40.0
    assert run.load == 5.0 + 20.0
    assert ledger(tmp_path, "105,0\n150,1\n", spares=2).lost == 105.0


def test_a_failure_during_the_takeover_is_absorbed(tmp_path):
    run = ledger(tmp_path, "105,0\n120,1\n")
    assert (run.lost, run.absorbed, run.failures) == (15.0, 1, 1)


def test_a_pair_at_once_goes_back_to_the_remote_store(tmp_path):
    run = ledger(tmp_path, "105,2\n105,3\n", spares=2, interval="60 s")
    assert (run.lost, run.reschedule, run.load) == (45.0, 40.0, 20.0)
    assert ledger(tmp_path, "105,1\n105,2\n", spares=2).lost == 15.0  # of two pairs


def test_a_failure_of_the_cluster_needs_more_than_the_spares(tmp_path):
    run = ledger(tmp_path, "105,0,cluster\n", spares=9, interval="60 s")
    assert (run.lost, run.reschedule) == (45.0, 50.0 + 40.0)


def test_a_failure_during_a_remote_save_voids_it(tmp_path):
    # Saved from 100 s to 101 s; the next is due 100 s after step 9: 190, 290, ... 990.
    assert ledger(tmp_path, "100.5,0\n100.5,1\n", interval="100 s").lost == 100.5
    run = ledger(tmp_path, "100.5,0\n", interval="100 s")
    assert (run.lost, run.saves) == (10.5, 9)


# --- What travels --------------------------------------------------------------------------------


def table(rows: int, skew: Skew, lookups: float = 1.0) -> TableRows:
    return TableRows(rows, skew, lookups, row_bytes=8.0, saved_bytes=12.0 * rows)


def test_rows_are_copied_once_however_often_they_are_touched():
    # Each of samples x lookups accesses finds one of the rows, of 12 B.
    model = RowModel((table(4, Skew(name="uniform"), 2.0), table(1, Skew(name="uniform"))))
    expected = 12 * 4 * (1 - 0.75**6) + 12
    assert model.touched_bytes(3.0) == pytest.approx(expected, rel=1e-12)
    assert model.touched_bytes(1e9) == 12 * 5
    assert model.touched_bytes(0.0) == 0.0


def test_touched_rows_of_a_skewed_table_one_by_one():
    # Rows of a class have its mean share, from which theirs spread by 4 %: an error of second
    # order, 0.04**2 / 2.
    rows, samples = 5000, 3000.0
    share = np.arange(1.0, rows + 1) ** -0.9
    expected = 12 * float((1 - np.exp(-samples * share / share.sum())).sum())
    model = RowModel((table(rows, Skew(zipf=0.9)),))
    assert model.touched_bytes(samples) == pytest.approx(expected, rel=8e-4)


_MODEL = {
    "tables": [{"rows": 1000, "dim": 16, "optimizer_slots": 1, "skew": "uniform", "pooling": 2.0}],
    "dense": "1 GB",
}


@pytest.mark.parametrize(
    ("samples", "policy", "step_bytes"),
    [
        # 100 samples and 200 lookups in each of the 100 steps; rows of 64 B and as much again.
        (10_000, {}, 128_000 * (1 - 0.999**200)),
        (None, {}, 128_000.0),  # the shards, without the dense part
        (10_000, {"snapshot": "5 kB"}, 5000.0),
    ],
)
def test_what_a_step_sends(tmp_path, samples, policy, step_bytes):
    job = {"useful_time": "1000 s"} | ({"samples": samples} if samples else {})
    plan = scenario(tmp_path, "1,0\n", policy, job=job, model=_MODEL).plan("p")
    assert plan.peer_bytes_per_s == pytest.approx(step_bytes / 10, rel=1e-12)


def test_numbers_of_a_plan(tmp_path):
    plan = scenario(tmp_path, "1,0\n", {"stall": "0.5 s"}).plan("p")
    assert plan.mirror == Mirror("memory", 10.0, 1)
    assert plan.spares == 2
    assert plan.slowdown == 0.05
    assert plan.memory_overhead == 4.0  # two buffers of the own and the peer's shard
    assert plan.peer_bytes_per_s == 0.0  # no model
    loss = Loss(frozenset({6, 7}), frozenset())
    assert plan.recover(loss) == Recover("all", takeover_s=40.0)


# --- Switched off, and refused -------------------------------------------------------------------


@pytest.mark.parametrize("conditions", ["exponential", "trainers", "shared links", "nodes"])
def test_without_spares_and_takeover_it_is_peer_memory_with_two_copies(conditions):
    tables = PolicyConformance.conditions[conditions]
    policies = {
        "peer": {"system": "peer-memory", "iteration": "10 min"},
        "swap": {
            "system": "hot-swap",
            "iteration": "10 min",
            "spares": 0,
            "takeover": "0 s",
            "snapshot": "800.1 GB",  # all of the checkpoint, dense part and all
        },
        "spares": {"system": "hot-swap", "iteration": "10 min", "takeover": "0 s"},
    }
    job = cprsim.Scenario(**tables | {"policies": policies})
    runs = simulate(job, list(policies), range(10), 5)
    assert runs[:, 0].tobytes() == runs[:, 1].tobytes()
    assert runs[:, 1].tobytes() != runs[:, 2].tobytes()


def test_a_takeover_is_all_that_it_adds_to_a_recovery(tmp_path):
    strikes = "105,0\n300,3\n300,5\n600,2\n"
    without = ledger(tmp_path, strikes, spares=0, takeover="0 s")
    with_it = ledger(tmp_path, strikes, spares=0, takeover="1 s")
    assert with_it.reschedule - without.reschedule == 3.0


def test_more_spares_than_nodes_are_refused(tmp_path):
    scenario(tmp_path, "1,0\n", {"spares": 10})
    with pytest.raises(ScenarioError) as error:
        scenario(tmp_path, "1,0\n", {"spares": 11})
    assert str(error.value) == (
        "policies.p: spares = 11 is more than the 10 nodes of the job; one for each is the most "
        "that can be of use"
    )


def test_a_server_without_a_neighbour_is_refused(tmp_path):
    with pytest.raises(ScenarioError) as error:
        scenario(tmp_path, "0.5,0\n", {}, cluster={"parameter_servers": 1, "trainers": 3})
    assert str(error.value) == (
        "policies.p: parameter_servers = 1 has no neighbour that could hold its shard; give the "
        'cluster two, or use system = "peer-memory" with copies = 1'
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("spares", -1, "policies.p.spares: -1 is out of range: it must be >= 0"),
        ("takeover", "-1 s", "policies.p.takeover: '-1 s' is out of range: it must be >= 0"),
        ("iteration", "0 s", "policies.p.iteration: '0 s' is out of range: it must be > 0"),
    ],
)
def test_values_out_of_range(tmp_path, key, value, message):
    with pytest.raises(ScenarioError) as error:
        scenario(tmp_path, "1,0\n", {key: value})
    assert str(error.value) == message
