"""Memory that plans need on each machine, counted by hand."""

import pytest

from cprsim.runs.memory import extra_bytes, memory_fault, model_fault, server_bytes
from cprsim.scenario import Scenario

GB = 1e9


def job(policy: dict, cluster: dict | None = None, **tables) -> Scenario:
    """8 servers, 40 GB of rows with as much optimizer state: 10 GB on each server."""
    return Scenario(
        **{
            "job": {"useful_time": "8 d", "samples": 10**9},
            "model": {"embedding": "40 GB", "optimizer": "adagrad", "dense": "2 GB"},
            "cluster": {"parameter_servers": 8, "trainers": 4, "nic": "1 GB/s"} | (cluster or {}),
            "storage": {"write": "8 GB/s", "read": "8 GB/s"},
            "failures": {"distribution": "exponential", "mean": "20 h"},
            "policies": {"it": policy},
        }
        | tables
    )


PLACES = {"local": {"write": "2 GB/s", "read": "2 GB/s"}, "peer": {"copies": 3}}
COPIES = [
    ({"system": "full"}, 10.0),
    ({"system": "partial"}, 10.0),
    ({"system": "cpr-vanilla"}, 10.0),
    ({"system": "async", "snapshot": "5 s"}, 20.0),  # one copy more
    ({"system": "async", "in_flight": 3, "iteration": "1 s", "staging": "pinned"}, 50.0),
    ({"system": "accepted-loss"}, 20.0),
    ({"system": "check-n-run", "modified": 0.2}, 20.0),
    ({"system": "delta", "modified": 0.2}, 20.0),
    ({"system": "replication", "copies": 3}, 30.0),
    ({"system": "ecrm", "parity": 4}, 12.5),  # and a parity of four entries
    ({"system": "peer-memory", "iteration": "1 s", "copies": 2}, 50.0),  # two buffers of each copy
    ({"system": "hot-swap", "iteration": "1 s"}, 50.0),  # of the own and of the peer's shard
    ({"system": "twin-groups", "every": "1 min", "groups": 4}, 40.0),
    ({"system": "tiered", "remote": {}}, 10.0),
    ({"system": "tiered", "remote": {"blocking": False}}, 20.0),
    ({"system": "tiered", **PLACES, "remote": {"blocking": False}}, 60.0),  # 1 + 3 + 1 more
    # Half of a checkpoint is in four experts, of which a save has one: 0.5 + 0.5 / 4.
    ({"system": "partial-experts", "experts": 4, "expert_share": 0.5}, 16.25),
    # The servers that are left take the rows of the others: 80 GB on 6, on 4 by default.
    ({"system": "elastic", "bound": 0.5, "least": 6}, 80 / 6),
    ({"system": "elastic", "bound": 0.5}, 20.0),
    ({"system": "elastic", "bound": 0.5, "least": 8}, 10.0),
]


@pytest.mark.parametrize(("policy", "size"), COPIES, ids=str)
def test_a_server_has_its_rows_and_copies_in_memory(policy, size):
    scenario = job(policy)
    assert scenario.model is not None

    assert server_bytes(scenario.plan("it"), scenario.model, 8) == pytest.approx(size * GB)


@pytest.mark.parametrize(
    ("tracker", "more"),
    [
        ("cpr-mfu", 4e7),  # 4 B a row
        ("cpr-ssu", 4e7 / 8),  # of an eighth of the rows
        ("cpr-scar", 10_000_000 * 64),  # a second copy of the rows without their state
    ],
)
def test_a_tracker_takes_memory_of_the_rows_that_are_tracked(tracker, more):
    tables = [{"rows": 10_000_000, "dim": 16, "optimizer_slots": 2, "skew": {"zipf": 1.0}}]
    policy = {"system": tracker, "interval": "4 h"}
    scenario = job(policy, model={"tables": tables, "tracked_tables": 1})
    plan, model = scenario.plan("it"), scenario.model
    assert model is not None

    assert extra_bytes(plan, model) == pytest.approx(more)
    of_rows = 10_000_000 * 64 * 3
    assert server_bytes(plan, model, 8) == pytest.approx((of_rows + more) / 8)


@pytest.mark.parametrize(
    ("copies", "cluster", "fault"),
    [
        (2, {}, None),  # memory is no limit
        (2, {"memory": "20 GB"}, None),
        (3, {"memory": "20 GB"}, "needs 30 GB on each parameter server, which has 20 GB"),
        (2, {"memory": "19.99 GB"}, "needs 20 GB on each parameter server, which has 19.99 GB"),
        (2, {"trainer_memory": "2 GB"}, None),
        (2, {"trainer_memory": "1.5 GB"}, "needs 2 GB on each trainer, which has 1.5 GB"),
    ],
)
def test_a_plan_that_does_not_fit_is_said_with_both_numbers(copies, cluster, fault):
    scenario = job({"system": "replication", "copies": copies}, cluster)

    assert memory_fault(scenario.plan("it"), scenario.cost_model) == fault


def test_the_model_alone_may_exceed_the_memory():
    exceeds = "needs 10 GB on each parameter server, which has 8 GB"

    assert model_fault(job({"system": "full"}, {"memory": "8 GB"}).cost_model) == exceeds
    assert model_fault(job({"system": "async"}, {"memory": "10 GB"}).cost_model) is None
