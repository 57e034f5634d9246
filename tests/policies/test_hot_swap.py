"""Hot swap: its plan, its spares, and whole runs worked by hand."""

from typing import Any, ClassVar

import numpy as np
import pytest

import cprsim
from cprsim.contract import Loss, Mirror, Recover
from cprsim.rows.model import RowModel, TableRows
from cprsim.rows.skew import Skew
from cprsim.sim.engine import simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import IN_MEMORY, job_of


class TestHotSwap(PolicyConformance):
    policy: ClassVar = {"system": "hot-swap", "iteration": "5 s"}


def scenario(policy: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """Steps of 10 s, unless the policy says otherwise."""
    return job_of({"system": "hot-swap", "iteration": "10 s"} | policy, **IN_MEMORY | tables)


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
