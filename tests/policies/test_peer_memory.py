"""Peer memory: its plan, its placement, and whole runs worked by hand."""

import itertools
import math
from pathlib import Path
from typing import Any, ClassVar

import pytest

import cprsim
from cprsim.contract import Groups, Loss, Mirror, Recover
from cprsim.contract.answers import is_gone
from cprsim.contract.expected import expected
from cprsim.policies.peer_memory import MEMORY, memory_answers
from cprsim.sim.engine import play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import IN_MEMORY, Run, assert_entries, job_of, log_of, played
from tools.validation.formulas.shares import group_survival


class TestPeerMemory(PolicyConformance):
    policy: ClassVar = {"system": "peer-memory", "iteration": "10 min"}


def scenario(policy: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """Steps of 10 s, unless the policy says otherwise."""
    return job_of({"system": "peer-memory", "iteration": "10 s"} | policy, **IN_MEMORY | tables)


# Pairs (0, 1) to (6, 7), steps of 10 s, one step behind; no remote save unless `interval`.
# After the last server come the trainers.
EVERY_60 = {"interval": "60 s"}
RUNS: dict[str, Run] = {
    # 10 full steps at 105 s; the copy of the tenth is under way: back to 90.
    "all return to the step before the last full one": (
        "105,0",
        {},
        {"lost": 15, "reschedule": 50, "load": 20, "wall": 1085, "updates_lost": 0, "pls": 0},
    ),
    "with nothing behind the last full step is kept": ("105,0", {"behind": 0}, {"lost": 5}),
    "a step that ends as a failure strikes is full": ("100,0", {"behind": 0}, {"lost": 0}),
    "a measured retrieval takes its time": ("105,0", {"retrieval": "3 s"}, {"lost": 15, "load": 3}),
    "a lost trainer has nothing to load": ("105,8", {}, {"lost": 15, "reschedule": 50, "load": 0}),
    "what is in memory survives the processes of a whole group": (
        "105,0,process 105,1,process",
        {},
        {"lost": 15, "reschedule": 50, "load": 0},
    ),
    # Saved at 60 s, stored at 61 s.
    "a failure of the cluster goes back to the remote store": (
        "105,0,cluster",
        EVERY_60,
        {"lost": 45, "load": 20},
    ),
    "a whole group at once goes back to the remote store": ("105,0 105,1", EVERY_60, {"lost": 45}),
    "a whole group at once goes back to the start without one": ("105,0 105,1", {}, {"lost": 105}),
    "neighbours of two groups keep a copy each": ("105,1 105,2", {}, {"lost": 15}),
    # Server 0 loads from 155 s to 175 s. At 160 s its peer takes the other copy with it: from step
    # 9 back to the save at 60 s. Both are there at 210 s, and everything is loaded by 230 s.
    "the peer fails during the recovery": (
        "105,0 160,1",
        EVERY_60,
        {"lost": 15 + 30, "reschedule": 50 + 50, "load": 5 + 20, "wall": 230 + 940},
    ),
    "a server of another group fails during the recovery": (
        "105,0 160,2",
        EVERY_60,
        {"lost": 15, "load": 5 + 20},
    ),
    "a failure in the downtime is absorbed": (
        "105,0 130,1",
        {},
        {"lost": 15, "absorbed": 1, "failures": 1},
    ),
    # Saved from 100 s to 101 s. Both of a group: to the start.
    "a failure of a group during a remote save voids it": (
        "100.5,0 100.5,1",
        {"interval": "100 s"},
        {"lost": 100.5},
    ),
    # To step 9, and the next save is due 100 s after that: 190, 290, ... 990.
    "a failure during a remote save voids it": (
        "100.5,0",
        {"interval": "100 s"},
        {"lost": 10.5, "saves": 9},
    ),
    # It goes on at 175 s from 90 s. The replacement, or its peer, fails 25 s later, after two full
    # steps: to the end of the first, 100 s. 5 s later: no step is full, to 90 s again.
    "steps count from where the job returned to": ("105,0 200,0", {}, {"lost": 15 + 15}),
    "steps of the peer do too": ("105,0 200,1", {}, {"lost": 15 + 15}),
    "no step is full after a return": ("105,0 180,0", {}, {"lost": 15 + 5}),
    # Saved at 98 s. Back to 90 s at 105 s; on from 175 s. At 176 s the whole group goes: 1 s.
    "a remote save is no newer than what the job returned to": (
        "105,0 176,0 176,1",
        {"interval": "98 s"},
        {"lost": 15 + 1},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_copies_in_memory_by_hand(name: str, tmp_path: Path) -> None:
    strikes, keys, entries = RUNS[name]
    policy = {"system": "peer-memory", "iteration": "10 s", "interval": "2000 s"} | keys

    assert_entries(played(tmp_path, strikes, policy, **IN_MEMORY), entries)


# --- The plan ------------------------------------------------------------------------------------

_LINKS = {
    "job": {"useful_time": "1000 s"},
    "model": {"embedding": "80 GB"},
    "cluster": {"parameter_servers": 8, "nic": "8 Gbit/s"},
    "storage": {"write": "4 GB/s", "read": "4 GB/s"},
    "costs": {},
}


def test_numbers_of_a_plan():
    policy = {"copies": 3, "iteration": "10 s", "stall": "2 s", "retrieval": "5 s"}
    plan = scenario(policy, **_LINKS).plan("p")
    assert plan.mirror == Mirror("memory", 10.0, 1)
    assert plan.peer_bytes_per_s == 2 * 80e9 / 10
    assert plan.slowdown == 0.2
    assert plan.memory_overhead == 6.0  # three copies, two buffers each
    assert plan.interval_s == 3 * 3600.0
    assert [(tier.name, tier.medium, tier.load_s) for tier in plan.tiers] == [
        ("memory", "peers", 5.0),
        ("remote", "store", None),
    ]


def test_copies_that_fill_the_cards_slow_training():
    # 10 GB of each server in 5 s through 1 GB/s; in 20 s there is room for 0.5 GB/s of training.
    full = scenario({"iteration": "5 s", "stall": "0 s"}, **_LINKS)
    assert play(full, "p", 0, 0).slowdown == pytest.approx(1000.0, rel=1e-12)
    links = _LINKS | {"job": {"useful_time": "1000 s", "network": "4 GB/s"}}
    links["cluster"] = {"parameter_servers": 8, "trainers": 8, "nic": "8 Gbit/s"}
    idle = scenario({"iteration": "20 s", "stall": "0 s"}, **links)
    assert play(idle, "p", 0, 0).slowdown == 0.0


def test_a_lost_shard_crosses_the_cards_only_where_peers_send_it(tmp_path):
    # 10 GB at 1 GB/s from a peer, all 80 GB at 4 GB/s from the store; nothing within the host.
    for strikes, load_s in (
        ("105,0,node", 10.0),
        ("105,0,node 105,1,node", 20.0),
        ("105,0,process", 0.0),
    ):
        failures = log_of(tmp_path, strikes)
        run = play(scenario({"iteration": "100 s"}, failures=failures, **_LINKS), "p", 0, 0)
        assert run.load == pytest.approx(load_s, rel=1e-12)


def test_expected_cost_by_hand():
    # Each failure takes back half a step and the one behind, and loads for 20 s.
    failures = {"distribution": "exponential", "mean": "500 s"}
    job = scenario({"stall": "1 s"}, failures=failures)
    cost = expected(job.plan("p"), job.context)
    assert cost.lost == pytest.approx(15 / 500)
    assert cost.load == pytest.approx(20 / 500)
    assert cost.slowdown == pytest.approx(0.1)


# --- Placement -----------------------------------------------------------------------------------


def test_holders_by_hand():
    pairs = Groups(7, 2)
    assert [pairs.sets(shard) for shard in range(7)] == [
        *[((0, 1),), ((1, 0),), ((2, 3),), ((3, 2),)],
        *[((4, 5),), ((5, 6),), ((6, 4),)],  # the last three are a ring
    ]
    assert Groups(3, 3).sets(1) == ((1, 2, 0),)
    assert Groups(5, 1).sets(4) == ((4,),)


@pytest.mark.parametrize(("servers", "copies"), [(6, 2), (6, 3), (8, 2), (4, 4), (5, 1)])
def test_every_set_of_failures_against_the_closed_form(servers, copies):
    groups = Groups(servers, copies)
    for failed in range(servers + 1):
        sets = [frozenset(down) for down in itertools.combinations(range(servers), failed)]
        survived = sum(not is_gone(groups, down) for down in sets) / len(sets)
        assert survived == pytest.approx(group_survival(servers, copies, failed), abs=1e-12)


@pytest.mark.parametrize("servers", range(2, 11))
def test_what_is_left_over_costs_no_more_than_gemini_says(servers):
    # Of sets of m failed servers at least ceil(N / m) lose a shard, however copies are placed; the
    # mixed placement is at most 2m - 3 sets off (Gemini, SOSP'23).
    for copies in range(2, servers + 1):
        groups, sets = Groups(servers, copies), itertools.combinations(range(servers), copies)
        lost = sum(is_gone(groups, frozenset(down)) for down in sets)
        assert 0 <= lost - math.ceil(servers / copies) <= 2 * copies - 3


def test_answers():
    answer = memory_answers(Groups(8, 2))
    nobody: frozenset[int] = frozenset()
    assert answer(Loss(frozenset({0, 2}), nobody)) == Recover("all", source=MEMORY)
    assert answer(Loss(frozenset({0, 1}), nobody)) == Recover("all")
    in_place = Recover("all", source=MEMORY, reads=0.0)
    assert answer(Loss(frozenset({0, 1}), nobody, "process")) == in_place
    assert answer(Loss(nobody, frozenset({0}))) == in_place
    assert answer(Loss(frozenset({0}), nobody, "cluster")) == Recover("all")


# --- Switched off --------------------------------------------------------------------------------


@pytest.mark.parametrize("conditions", ["exponential", "slow recovery", "shared links"])
def test_one_copy_is_async_with_the_same_remote_interval(conditions):
    tables = PolicyConformance.conditions[conditions]
    steps = {"iteration": "9 s", "stall": "0 s", "interval": "50 min"}
    policies = {
        "async": {"system": "async", "snapshot": "0 s", "interval": "50 min"},
        "one": {"system": "peer-memory", "copies": 1} | steps,
        "two": {"system": "peer-memory", "copies": 2} | steps,
    }
    job = cprsim.Scenario(**tables | {"policies": policies})
    runs = simulate(job, list(policies), range(10), 5)
    assert runs[:, 0].tobytes() == runs[:, 1].tobytes()
    assert runs[:, 1].tobytes() != runs[:, 2].tobytes()
