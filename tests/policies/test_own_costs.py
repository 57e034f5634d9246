"""Costs of a policy's own, each against a hand calculation, and where each comes from."""

import math
from typing import Any

import pytest

from cprsim.job.derived import ASSUMED_MEMORY, OwnCost, applied_again, dense_copied
from cprsim.scenario import Scenario

# 8 servers; 4 M rows x 16 x 4 B = 256 MB and twice as much optimizer state, 32 MB dense: a
# checkpoint of 800 MB, 100 MB of it on each server. 1,000 samples a second look up 3 rows of 64 B.
TABLES: dict[str, Any] = {
    "job": {"useful_time": "1000 s", "samples": 1_000_000},
    "model": {
        "tables": [{"rows": 4_000_000, "dim": 16, "optimizer_slots": 2, "pooling": 3}],
        "dense": "32 MB",
    },
    "cluster": {
        "trainers": 4,
        "parameter_servers": 8,
        "nic": "1 GB/s",
        "memory_bandwidth": "2 GB/s",
    },
    "storage": {"write": "1 GB/s", "read": "1 GB/s"},
    "costs": {"reschedule": "10 s", "detect": "1 s"},
    "failures": {"distribution": "exponential", "mean": "300 s"},
}
BACKGROUND = {"blocking": False, "interval": "100 s"}


def planned(policy: dict[str, Any], **tables: Any) -> dict[str, OwnCost]:
    """The own costs of a policy, by key."""
    job = Scenario(**TABLES | tables, policies={"p": {"interval": "100 s"} | policy})
    return {cost.key: cost for cost in job.plan("p").own_costs}


@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        # 100 MB / 2 GB/s
        ({"system": "async"}, "snapshot", 0.05),
        ({"system": "accepted-loss"}, "snapshot", 0.05),
        ({"system": "check-n-run"}, "snapshot", 0.05),
        # 1 - 0.8 + 0.8 / 4 of it
        ({"system": "partial-experts", "experts": 4, "expert_share": 0.8}, "snapshot", 0.05 * 0.4),
        # all of what the hosts keep
        ({"system": "partial-experts", "experts": 4, "snapshot_experts": 4}, "snapshot", 0.05),
        # a base and four differences of a quarter: 2 / 5 of it
        (
            {
                "system": "tiered",
                "interval": None,
                "remote": BACKGROUND | {"differential": 0.25, "base_every": 5},
            },
            "remote.snapshot",
            0.05 * 0.4,
        ),
        # 192 kB/s, with optimizer state 3 times that, on 8 servers of 2 GB/s
        ({"system": "replication", "copies": 3}, "slowdown", 2 * 3 * 192e3 / 8 / 2e9),
        ({"system": "replication", "aggregation": 4}, "slowdown", 3 * 192e3 / 4 / 8 / 2e9),
        ({"system": "ecrm"}, "coding", 3 * 192e3 / 8 / 2e9),
        ({"system": "ecrm"}, "commit", 3 * 192e3 / 8 / 2e9),
        # 3,000 rows/s of 163 us / 53,248 and of 695 us / 53,248, on 8 servers
        ({"system": "cpr-mfu"}, "slowdown", 3000 * 163e-6 / 53_248 / 8),
        ({"system": "cpr-ssu"}, "slowdown", 3000 * 695e-6 / 53_248 / 8),
        ({"system": "check-n-run"}, "tracking", 3000 * 163e-6 / 53_248 / 8),
        # the whole checkpoint each step; hot-swap: what it is told to copy
        ({"system": "peer-memory", "iteration": "1 s"}, "stall", 0.05),
        (
            {"system": "hot-swap", "iteration": "1 s", "snapshot": "160 MB"},
            "stall",
            160e6 / 8 / 2e9,
        ),
        # 96 MB of rows to 7 others at 1 GB/s each
        ({"system": "elastic", "bound": 0.5}, "reshard", 96e6 / 7 / 1e9),
        # 2 (2 - 1) / 2 of twice 96 MB
        ({"system": "twin-groups", "every": "10 s"}, "sync", 2 * 96e6 / 1e9),
    ],
)
def test_each_follows_from_bytes_as_by_hand(policy: dict[str, Any], key: str, value: float) -> None:
    kept = {name: each for name, each in policy.items() if each is not None}
    if "interval" in policy:
        job = Scenario(**TABLES, policies={"p": kept})
        found = {cost.key: cost for cost in job.plan("p").own_costs}
    else:
        found = planned(kept)
    assert found[key].value == pytest.approx(value, rel=1e-12)
    rests = "assumed" if key in {"commit", "tracking"} or "cpr" in policy["system"] else "derived"
    assert found[key].basis == rests


@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        ({"system": "async", "snapshot": "0 s"}, "snapshot", 0.0),
        ({"system": "accepted-loss", "snapshot": "7 s"}, "snapshot", 7.0),
        ({"system": "check-n-run", "tracking": 0}, "tracking", 0.0),
        ({"system": "replication", "slowdown": 0}, "slowdown", 0.0),
        ({"system": "replication", "takeover": "0 s"}, "takeover", 0.0),
        ({"system": "ecrm", "coding": 0.044}, "coding", 0.044),
        ({"system": "ecrm", "commit": 0}, "commit", 0.0),
        ({"system": "ecrm", "replication": 0.13}, "replication", 0.13),
        ({"system": "ecrm", "degraded": 0.2}, "degraded", 0.2),
        ({"system": "cpr-scar", "slowdown": 0}, "slowdown", 0.0),
        ({"system": "peer-memory", "iteration": "1 s", "stall": "0 s"}, "stall", 0.0),
        ({"system": "elastic", "bound": 0.5, "reshard": "0 s"}, "reshard", 0.0),
        ({"system": "twin-groups", "every": "10 s", "sync": "0 s"}, "sync", 0.0),
    ],
)
def test_what_is_typed_wins_also_where_it_is_nothing(
    policy: dict[str, Any], key: str, value: float
) -> None:
    cost = planned(policy)[key]
    assert (cost.value, cost.basis) == (value, "given")


def test_what_is_charged_is_what_is_told() -> None:
    ecrm = Scenario(**TABLES, policies={"p": {"system": "ecrm"}}).plan("p")
    told = {cost.key: cost.value for cost in ecrm.own_costs}
    assert ecrm.slowdown == pytest.approx(told["coding"] + told["commit"] + told["replication"])
    saved = Scenario(**TABLES, policies={"p": {"system": "async", "interval": "1 min"}}).plan("p")
    assert saved.tier("remote").snapshot_s == saved.own_costs[0].value == 0.05
    assert saved.costs_document() == {
        "snapshot": {
            "value": 0.05,
            "unit": "s",
            "basis": "derived",
            "follows": "100 MB a server, memory 2 GB/s",
        }
    }


def test_without_a_memory_bandwidth_15_gb_a_second_are_assumed() -> None:
    cluster = {"trainers": 4, "parameter_servers": 8, "nic": "1 GB/s"}
    cost = planned({"system": "async"}, cluster=cluster)["snapshot"]
    assert cost == OwnCost(
        "snapshot", 100e6 / 15e9, "s", "assumed", "100 MB a server, memory 15 GB/s (assumed)"
    )


def test_where_nothing_tells_it_is_nothing_and_unknown() -> None:
    measured = {"save": "5 s", "load": "5 s", "reschedule": "10 s"}
    bare = {"model": None, "storage": None, "costs": measured}
    for policy, key in (
        ({"system": "async"}, "snapshot"),
        ({"system": "peer-memory", "iteration": "1 s"}, "stall"),
        ({"system": "elastic", "bound": 0.5}, "reshard"),
        ({"system": "ecrm"}, "replication"),
        ({"system": "check-n-run", "modified": 0.1}, "tracking"),
    ):
        cost = planned(policy, **bare)[key]
        assert (cost.value, cost.basis) == (0.0, "unknown")
        assert cost.follows


def test_updates_of_unknown_size_cost_as_much_in_copies_as_in_parities() -> None:
    sizes = {"model": {"embedding": "1 GB"}, "job": {"useful_time": "1000 s"}}
    coded = planned({"system": "ecrm"}, **sizes)["coding"]
    copied = planned({"system": "replication"}, **sizes)["slowdown"]
    assert (coded.value, coded.basis) == (copied.value, copied.basis) == (0.026, "assumed")
    assert planned({"system": "replication", "copies": 3}, **sizes)["slowdown"].value == 0.052


def ecrecs_job(**model: Any) -> Scenario:
    """8,900 distinct rows of 512 B in each of 221 batches a second, momentum, 5 servers."""
    return Scenario(
        job={"useful_time": "1 h", "samples": (452_000 * 3600), "network": "1006 MB/s"},
        model={"tables": [{"rows": 197_767_405, "dim": 128, "optimizer_slots": 1}], **model},
        cluster={"parameter_servers": 5, "trainers": 15, "nic": "25 Gbit/s"},
        costs={"save": "1 min", "load": "1 min"},
        failures={"exactly": 0},
        policies={"p": {"system": "ecrm"}},
    )


def test_what_ecrec_measured_follows_from_its_bytes_within_30_percent() -> None:
    costs = ecrecs_job(dense="8.5 MB", batch=2048).cost_model
    assert applied_again(costs, None, 1.0, "coding").value == pytest.approx(0.026, rel=0.3)
    assert dense_copied(costs, None).value == pytest.approx(0.13, rel=0.3)


def test_a_network_that_is_given_wins_over_samples() -> None:
    costs = ecrecs_job().cost_model
    updated = 2 * 1006e6 / 5 / ASSUMED_MEMORY
    assert math.isclose(applied_again(costs, None, 1.0, "coding").value, updated, rel_tol=1e-12)
