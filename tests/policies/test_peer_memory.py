"""Peer memory: its plan, its placement, and whole runs worked by hand."""

import itertools
import math
from typing import Any, ClassVar

import pytest

import cprsim
from cprsim.contract import Groups, Loss, Mirror, Recover
from cprsim.contract.answers import is_gone
from cprsim.contract.expected import expected
from cprsim.policies.peer_memory import MEMORY, memory_answers
from cprsim.sim.engine import play
from cprsim.testing import PolicyConformance
from tests.formulas.forms import group_survival
from tests.policies.by_hand import IN_MEMORY, job_of


class TestPeerMemory(PolicyConformance):
    policy: ClassVar = {"system": "peer-memory", "iteration": "10 min"}


def scenario(policy: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """Steps of 10 s, unless the policy says otherwise."""
    return job_of({"system": "peer-memory", "iteration": "10 s"} | policy, **IN_MEMORY | tables)


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
