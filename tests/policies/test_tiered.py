"""Tiers: which one a failure returns to, and what that takes; worked by hand."""

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import cprsim
from cprsim.contract import Loss, Recover
from cprsim.contract.ledger import Ledger
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


# --- Whole runs ----------------------------------------------------------------------------------

# Without failures: local saves at 100, 300, 500, 700 and 900 s of training, to peers at 200 and
# 600, to the store at 400 and 800: 5 x 2 + 2 x 5 + 2 x 10 = 40 s. The save at 200 ends at 207 s of
# wall clock, that at 300 at 309, that at 400 at 419.
ALONE = 1040.0
RESTART = 5 + 50


def run(folder: Path, strikes: str, policy: dict[str, Any] = TIERS, **tables: Any) -> Ledger:
    """`strikes`: lines of a log; a failure that comes too late keeps it from being empty."""
    log = folder / "log.csv"
    log.write_text("time_s,node,severity\n" + strikes + "9999,0,process\n")
    return play(scenario(policy, **{"failures": {"trace": str(log)}} | tables), "p", 0, 0)


def test_a_save_to_a_tier_serves_the_nearer_ones(tmp_path: Path) -> None:
    quiet = run(tmp_path, "")
    assert (quiet.wall, quiet.save, quiet.saves) == (ALONE, 40.0, 9)

    # At 250 s the job is at 243; the save to the peers at 200 is in the local tier, too.
    process = run(tmp_path, "250,0,process\n")
    assert (process.lost, process.load) == (43.0, 3.0)
    assert process.wall == ALONE + 43 + RESTART + 3


def test_a_lost_node_returns_to_the_peers(tmp_path: Path) -> None:
    # At 350 s the job is at 341 and returns to 200. The local save at 300 comes again.
    ledger = run(tmp_path, "350,0,node\n")

    assert (ledger.lost, ledger.load, ledger.save) == (141.0, 8.0, 42.0)
    assert ledger.wall == 350 + RESTART + 8 + (ALONE - 207)


def test_a_lost_pair_returns_to_the_store(tmp_path: Path) -> None:
    # Nothing is stored at 350 s: back to the start. At 450 s, 431 of training, there is 400.
    ledger = run(tmp_path, "350,0,node\n350,1,node\n")
    assert (ledger.lost, ledger.load) == (341.0, 20.0)
    assert ledger.wall == 350 + RESTART + 20 + ALONE

    ledger = run(tmp_path, "450,0,node\n450,1,node\n")
    assert (ledger.lost, ledger.load) == (31.0, 20.0)


def test_a_failure_of_the_cluster_returns_to_the_store(tmp_path: Path) -> None:
    # 500 at 519, saved at 521; 600 at 621, at 626; 700 at 726, at 728; so 772 at 800.
    ledger = run(tmp_path, "800,0,cluster\n")

    assert (ledger.lost, ledger.load) == (372.0, 20.0)
    assert ledger.wall == 800 + RESTART + 20 + (ALONE - 419)


def test_without_a_remote_tier_the_job_starts_over(tmp_path: Path) -> None:
    near = {key: value for key, value in TIERS.items() if key != "remote"}
    ledger = run(tmp_path, "450,0,cluster\n", near)

    # Local at 100, 300, ... and peers at 200, 400, ...: saves of 2 + 5 + 2 + 5 s until 414.
    assert (ledger.lost, ledger.load) == (436.0, 20.0)
    assert ledger.wall == 450 + RESTART + 20 + 1000 + 5 * 2 + 4 * 5


# --- Double faults -------------------------------------------------------------------------------


def test_a_worse_failure_while_loading_from_a_near_tier(tmp_path: Path) -> None:
    # At 350 s back from 341 to 300, which is loaded from 405 on; at 406 the node is lost, too: back
    # to 200.
    ledger = run(tmp_path, "350,0,process\n406,0,node\n")

    assert (ledger.lost, ledger.load) == (41.0 + 100.0, 1.0 + 8.0)
    assert ledger.wall == 406 + RESTART + 8 + (ALONE - 207)


def test_a_lesser_failure_while_loading_from_a_far_tier(tmp_path: Path) -> None:
    # The node that is being replaced has still to be filled from the peers.
    ledger = run(tmp_path, "350,0,node\n406,5,process\n")

    assert (ledger.lost, ledger.load) == (141.0, 1.0 + 8.0)


def test_the_partner_fails_while_a_node_is_filled(tmp_path: Path) -> None:
    # At 450 s, 431 of training, back to 400, which the peers hold since it was stored; at 506 the
    # partner is lost: the same checkpoint, from the store.
    ledger = run(tmp_path, "450,0,node\n506,1,node\n")

    assert (ledger.lost, ledger.load) == (31.0, 1.0 + 20.0)
    assert run(tmp_path, "450,0,node\n506,2,node\n").load == 1.0 + 8.0


def test_a_failure_during_a_save_to_a_far_tier_returns_to_the_older_near_copy(
    tmp_path: Path,
) -> None:
    # The save at 400 lasts from 409 to 419. The local tier holds 300, the peers 200.
    ledger = run(tmp_path, "415,0,process\n")
    assert (ledger.lost, ledger.save) == (100.0, 40.0 + 6.0)
    assert ledger.wall == 415 + RESTART + 3 + (ALONE - 309)

    assert run(tmp_path, "415,0,node\n").lost == 200.0
    assert run(tmp_path, "415,0,cluster\n").lost == 400.0


BACKGROUND = TIERS | {"remote": {"interval": "400 s", "blocking": False, "snapshot": "1 s"}}


def test_a_failure_while_the_remote_save_is_in_the_background(tmp_path: Path) -> None:
    # Snapshot from 409 to 410, stored at 420; meanwhile the peers are saved to, until 415.
    assert run(tmp_path, "421,0,cluster\n", BACKGROUND).lost == 6.0
    assert run(tmp_path, "417,0,cluster\n", BACKGROUND).lost == 402.0

    # The failure of a node voids it and returns to 400. It is due again at once: a stall of 1 s
    # when training goes on at 480, stored at 491. Two more stalls: that at 800, and the void one.
    node = run(tmp_path, "417,0,node\n", BACKGROUND)
    assert (node.lost, node.load, node.stall) == (2.0, 8.0, 3.0)
    again = run(tmp_path, "417,0,node\n500,0,cluster\n", BACKGROUND)
    assert again.lost == 2.0 + (500 - 481)


# --- Differences ---------------------------------------------------------------------------------

CHAIN = {"interval": "100 s", "save": "2 s", "load": "4 s", "differential": 0.5, "base_every": 3}


def test_differences_write_less_and_a_restore_reads_the_chain(tmp_path: Path) -> None:
    policy = {"system": "tiered", "local": CHAIN}
    # Bases of 2 s at 100, 400 and 700, differences of 1 s after them.
    assert run(tmp_path, "", policy).save == 3 * 2 + 6 * 1

    # Saved by 102, 203 and 304: a base and two differences are read.
    ledger = run(tmp_path, "350,0,process\n", policy)
    assert (ledger.lost, ledger.load, ledger.save) == (46.0, 8.0, 12.0)
    assert run(tmp_path, "250,0,process\n", policy).load == 6.0
    assert run(tmp_path, "150,0,process\n", policy).load == 4.0


def test_a_base_of_a_further_tier_starts_the_nearer_chain(tmp_path: Path) -> None:
    policy = {"system": "tiered", "local": CHAIN, "remote": {"interval": "200 s"}}
    # At 100 a base, at 300, 500, ... the first differences to the whole saves at 200, 400, ...
    assert run(tmp_path, "", policy).save == 2 + 4 * 1 + 4 * 10
    # At 350: 102, 212, 313; the base and one difference.
    assert run(tmp_path, "350,0,process\n", policy).load == 6.0


def test_a_tier_that_was_filled_anew_goes_on_with_a_difference(tmp_path: Path) -> None:
    policy = {"system": "tiered", "local": CHAIN, "remote": {"interval": "200 s"}}
    # A failure at 260 returns to 200 and fills the local tier: that at 300 stays a difference.
    assert run(tmp_path, "260,0,cluster\n", policy).save == 2 + 4 * 1 + 4 * 10
    # At 150 it returns to the start: a base at 100 again.
    assert run(tmp_path, "150,0,cluster\n", policy).save == 2 + (2 + 4 * 1 + 4 * 10)


def test_a_tier_that_was_filled_anew_holds_no_chain(tmp_path: Path) -> None:
    remote = {"interval": "200 s", "differential": 0.5, "base_every": 3}
    policy = {"system": "tiered", "local": CHAIN | {"base_every": 1}, "remote": remote}
    # A base from 202 to 212, a difference from 414 to 419. At 450 both are read, until 535; five
    # seconds later what they came to is in the local tier.
    ledger = run(tmp_path, "450,0,cluster\n540,0,process\n", policy)

    assert (ledger.lost, ledger.load) == (31.0 + 5.0, 30.0 + 4.0)


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
