"""Hot swap: its plan, its spares, and whole runs worked by hand."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import cprsim
from cprsim.contract import Loss, Mirror, Recover
from cprsim.rows.model import RowModel, TableRows
from cprsim.rows.skew import Skew
from cprsim.sim.engine import play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import IN_MEMORY, Run, assert_entries, job_of, log_of, played


class TestHotSwap(PolicyConformance):
    policy: ClassVar = {"system": "hot-swap", "iteration": "5 s"}


def scenario(policy: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """Steps of 10 s, unless the policy says otherwise."""
    return job_of({"system": "hot-swap", "iteration": "10 s"} | policy, **IN_MEMORY | tables)


# Pairs (0, 1) to (6, 7), steps of 10 s, a takeover of 40 s, one spare; no remote save unless asked.
NO_SPARES, TWO_SPARES = {"spares": 0}, {"spares": 2}
RUNS: dict[str, Run] = {
    "a spare takes over at once": (
        "105,0",
        {},
        {"lost": 15, "reschedule": 40, "load": 20, "wall": 1075},
    ),
    "without spares the machine is waited for": ("105,0", NO_SPARES, {"reschedule": 50 + 40}),
    # After the last server come the trainers.
    "a spare stands in for a trainer too": ("105,8", {}, {"lost": 15, "reschedule": 40, "load": 0}),
    # Repaired at 155 s, so that it can take over at 200 s, and another one at 250 s.
    "the machine that is repaired is a spare again": (
        "105,0 200,5 275,1",
        {},
        {"reschedule": 3 * 40},
    ),
    # Both of a burst: one spare, and the first of two repairs.
    "more failures than spares wait for the first repairs": (
        "105,0 105,2",
        {},
        {"lost": 15, "reschedule": 50 + 40},
    ),
    # It loads from 145 s and fails at 150 s; the machine that it stood in for is there at 155 s.
    "the spare fails while it loads": (
        "105,0 150,0",
        {},
        {"lost": 15, "reschedule": 40 + 5 + 40, "load": 5 + 20},
    ),
    # Both copies are gone: from step 9 to the save at 60 s, or to the start.
    "the peer fails during the recovery": (
        "105,0 150,1",
        TWO_SPARES | {"interval": "60 s"},
        {"lost": 15 + 30, "reschedule": 40 + 40, "load": 5 + 20},
    ),
    "the peer fails during the recovery and nothing is saved": (
        "105,0 150,1",
        TWO_SPARES,
        {"lost": 105},
    ),
    "a failure during the takeover is absorbed": (
        "105,0 120,1",
        {},
        {"lost": 15, "absorbed": 1, "failures": 1},
    ),
    "a pair at once goes back to the remote store": (
        "105,2 105,3",
        TWO_SPARES | {"interval": "60 s"},
        {"lost": 45, "reschedule": 40, "load": 20},
    ),
    "two of two pairs do not": ("105,1 105,2", TWO_SPARES, {"lost": 15}),
    "a failure of the cluster needs more than the spares": (
        "105,0,cluster",
        {"spares": 9, "interval": "60 s"},
        {"lost": 45, "reschedule": 50 + 40},
    ),
    "a takeover is all that it adds to a recovery": (
        "105,0 300,3 300,5 600,2",
        NO_SPARES | {"takeover": "1 s"},
        {"reschedule": 3 * (50 + 1)},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_swaps_by_hand(name: str, tmp_path: Path) -> None:
    strikes, keys, entries = RUNS[name]
    policy = {"system": "hot-swap", "iteration": "10 s", "interval": "2000 s", "spares": 1} | keys

    assert_entries(played(tmp_path, strikes, policy, **IN_MEMORY), entries)


def test_the_clusters_own_spares_are_not_the_policys(tmp_path):
    cluster = {"parameter_servers": 8, "spares": 3}
    job = scenario(NO_SPARES, failures=log_of(tmp_path, "105,0"), cluster=cluster)
    assert play(job, "p", 0, 0).reschedule == 50.0 + 40.0


def test_the_spare_that_took_over_fails_and_the_pool_is_empty(tmp_path):
    # It goes on at 165 s; at 200 s the spare fails. The first machine is repaired at 305 s, and has
    # taken over at 345 s. 35 s after 90 s, three full steps: back to 110 s.
    costs = {"save": "1 s", "load": "20 s", "reschedule": "200 s"}
    policy = {"interval": "2000 s", "spares": 1}
    job = scenario(policy, failures=log_of(tmp_path, "105,0 200,0"), costs=costs)
    entries = {"lost": 15 + 15, "reschedule": 40 + 105 + 40, "load": 20 + 20}

    assert_entries(play(job, "p", 0, 0), entries)


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
def test_what_a_step_sends(samples, policy, step_bytes):
    job = {"useful_time": "1000 s"} | ({"samples": samples} if samples else {})
    plan = scenario(policy, job=job, model=_MODEL).plan("p")
    assert plan.peer_bytes_per_s == pytest.approx(step_bytes / 10, rel=1e-12)


def test_numbers_of_a_plan():
    plan = scenario({"stall": "0.5 s"}).plan("p")
    assert plan.mirror == Mirror("memory", 10.0, 1)
    assert plan.spares == 2
    assert plan.slowdown == 0.05
    assert plan.memory_overhead == 4.0  # two buffers of the own and the peer's shard
    assert plan.peer_bytes_per_s == 0.0  # no model
    loss = Loss(frozenset({6, 7}), frozenset())
    assert plan.recover(loss) == Recover("all", takeover_s=40.0)


# --- Switched off --------------------------------------------------------------------------------


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
