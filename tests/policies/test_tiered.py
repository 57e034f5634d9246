"""Tiers: which one a failure returns to, and what that takes; worked by hand."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest

import cprsim
from cprsim.contract import Loss, Recover
from cprsim.sim.engine import COLUMNS, play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.mixed import MIXED

LOCAL = {"interval": "20 min", "save": "10 s", "load": "10 s"}
PEER = {"interval": "1 h", "save": "30 s", "load": "40 s"}


class TestTiered(PolicyConformance):
    policy: ClassVar = {
        "system": "tiered",
        "local": LOCAL | {"differential": 0.1, "base_every": 4},
        "peer": PEER,
        "remote": {"interval": "4 h", "blocking": False},
    }


# --- The plan ------------------------------------------------------------------------------------

TIERS = {
    "system": "tiered",
    "local": {"interval": "100 s", "save": "2 s", "load": "3 s"},
    "peer": {"interval": "200 s", "save": "5 s", "load": "8 s"},
    "remote": {"interval": "400 s"},
}


def scenario(policy: dict[str, Any] = TIERS, **tables: Any) -> cprsim.Scenario:
    """1,000 s on 8 servers; from the store, saves of 10 s; recoveries of 5 + 50 + 20 s."""
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": {"save": "10 s", "load": "20 s", "reschedule": "50 s", "detect": "5 s"},
        "failures": {"exactly": 0},
        "policies": {"p": policy},
    }
    return cprsim.Scenario(**(mapping | tables))


def source(plan: Any, severity: Any, *servers: int, trainers: int = 0) -> str:
    answer = plan.recover(Loss(frozenset(servers), frozenset(range(trainers)), severity))
    assert answer == Recover("all", source=answer.source)
    return str(answer.source)


def test_each_severity_returns_to_the_nearest_tier_that_is_left() -> None:
    plan = scenario().plan("p")

    assert source(plan, "process", 0, 1, trainers=4) == "local"
    assert source(plan, "node", trainers=1) == "local"
    assert source(plan, "node", 0) == "peer"
    assert source(plan, "node", 1, 2, 4, 7) == "peer"
    assert source(plan, "node", 2, 3) == "remote"
    assert source(plan, "cluster", *range(8), trainers=4) == "remote"


def test_what_isnt_there_is_passed_over() -> None:
    local = scenario({"system": "tiered", "local": TIERS["local"]}).plan("p")
    peer = scenario({"system": "tiered", "peer": TIERS["peer"], "remote": {}}).plan("p")

    assert [source(local, severity, 0) for severity in ("process", "node")] == ["local", "remote"]
    assert [tier.name for tier in local.tiers] == ["local", "remote"]
    assert source(peer, "process", 0, 1) == "peer"


def test_servers_that_are_left_over_join_the_last_group() -> None:
    peer = TIERS | {"peer": {"interval": "200 s", "save": "5 s", "load": "8 s", "copies": 3}}
    plan = scenario(peer).plan("p")

    assert source(plan, "node", 0, 1, 2) == "remote"
    assert source(plan, "node", 3, 4, 6) == "peer"  # a ring of five: 3 to 7
    assert source(plan, "node", 3, 4, 5) == "remote"
    assert source(plan, "node", 3, 6, 7) == "remote"


def test_optimal_intervals_are_youngs_of_the_failures_that_return_to_each_tier() -> None:
    failures = {
        "distribution": "exponential",
        "mean": "1000 s",
        "severity": {"process": 6, "node": 3, "cluster": 1},
    }
    optimal = {
        "system": "tiered",
        "local": {"save": "2 s", "load": "3 s"},
        "peer": {"save": "5 s", "load": "8 s"},
        "remote": {},
    }
    plan = scenario(optimal, failures=failures).plan("p")

    assert [each.interval_s for each in plan.schedules] == pytest.approx(
        [
            math.sqrt(2 * 2 * 1000 / 0.6),
            math.sqrt(2 * 5 * 1000 / 0.3),
            math.sqrt(2 * 10 * 1000 / 0.1),
        ]
    )
    assert plan.memory_overhead == 1 + 2  # one's own, and two copies of each shard in a pair


def test_a_tier_that_no_failure_returns_to_has_no_optimal_saves() -> None:
    failures = {"distribution": "exponential", "mean": "1000 s"}
    local = TIERS | {"local": {"save": "2 s", "load": "3 s"}}

    assert scenario(local, failures=failures).plan("p").schedules[0].interval_s == math.inf


def test_derived_copies_are_sent_one_by_one_and_measured_ones_are_not() -> None:
    tables = {"model": {"embedding": "80 GB"}, "cluster": {"parameter_servers": 8, "nic": "1 GB/s"}}
    derived = scenario(
        {"system": "tiered", "peer": {"interval": "200 s", "load": "1 s", "copies": 3}}, **tables
    )
    plan, costs = derived.plan("p"), derived.cost_model
    save = plan.schedules[0].save

    assert costs.seconds(costs.save(plan.tier("peer"), writes=save.writes)) == pytest.approx(20.0)
    measured = {"interval": "200 s", "save": "9 s", "load": "1 s", "copies": 3}
    plan = scenario({"system": "tiered", "peer": measured}, **tables).plan("p")
    assert plan.schedules[0].save.writes == 1.0


# --- Switched off --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tier", "simpler"),
    [
        ({}, {"system": "full"}),
        ({"interval": "50 min"}, {"system": "full", "interval": "50 min"}),
        ({"differential": 0.1, "base_every": 1}, {"system": "full"}),
        ({"differential": 1.0, "base_every": 1}, {"system": "full"}),
        ({"blocking": False}, {"system": "async"}),
        ({"blocking": False, "snapshot": "20 s"}, {"system": "async", "snapshot": "20 s"}),
        ({"blocking": False, "interval": "5 min"}, {"system": "async", "interval": "5 min"}),
    ],
)
def test_the_remote_tier_alone_is_the_simpler_policy(
    tier: dict[str, Any], simpler: dict[str, Any]
) -> None:
    policies = {"tiered": {"system": "tiered", "remote": tier}, "simpler": simpler}
    found = simulate(cprsim.Scenario(**MIXED, policies=policies), list(policies), range(5), 3)

    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_a_tier_that_no_failure_returns_to_costs_its_saves_alone() -> None:
    failures = MIXED["failures"] | {"severity": {"process": 0, "node": 1, "cluster": 1}}
    near = {"interval": "10 min", "save": "3 s", "load": "1 s"}
    policies = {
        "with": {"system": "tiered", "local": near, "remote": {"interval": "1 h"}},
        "without": {"system": "tiered", "remote": {"interval": "1 h"}},
    }
    tables = MIXED | {"failures": failures | {"exactly": None}}
    quiet = MIXED | {"failures": {"exactly": 0}}
    wall, lost = COLUMNS.index("wall"), COLUMNS.index("lost")

    found = simulate(cprsim.Scenario(**quiet, policies=policies), list(policies), [0], 3)[0]
    # 5 of 6 near saves an hour, but the last of them: there, the job ends.
    assert found[0, wall] - found[1, wall] == pytest.approx(3 * 5 * 100)
    free = policies | {"with": policies["with"] | {"local": near | {"save": "0 s"}}}
    found = simulate(cprsim.Scenario(**tables, policies=free), list(policies), range(5), 3)
    assert found[:, 0, lost].min() > 0
    np.testing.assert_allclose(found[:, 0, wall], found[:, 1, wall], rtol=1e-12)


# --- Intervals that only rounding keeps apart ----------------------------------------------------


@pytest.mark.parametrize("near", ["700 ms", "100 ms", "300 ms", "1100 ms"])
def test_multiples_of_an_interval_meet(near: str) -> None:
    """Ten near intervals, added up, are one far one: the far save takes the place of a near one."""
    far = f"{int(near[:-3]) * 10} ms"
    policy = {
        "system": "tiered",
        "local": {"interval": near, "save": "1 ms", "load": "1 ms"},
        "remote": {"interval": far},
    }
    job = {"useful_time": f"{int(near[:-3])} s"}
    # 1,000 near intervals, of which 99 and not the last end with a far save, and 900 with a near.
    assert play(scenario(policy, job=job), "p", 0, 0).saves == 99 + 900
