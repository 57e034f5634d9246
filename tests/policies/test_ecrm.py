"""Erasure coding: its plan and whole runs worked by hand."""

import math
from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np
import pytest

from cprsim import Scenario
from cprsim.contract import Answers, Loss, Recover, Redundancy
from cprsim.contract.expected import expected
from cprsim.policies.ecrm import every_group_decodes
from cprsim.sim.engine import COLUMNS, play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import job_of

NOBODY: frozenset[int] = frozenset()


class TestEcrm(PolicyConformance):
    policy: ClassVar = {"system": "ecrm"}


# --- Who can be decoded --------------------------------------------------------------------------


def rule(servers: int, parity: int) -> Answers:
    return every_group_decodes(servers, parity, degraded=0.25, resume_s=30.0)


def subsets(servers: int) -> Iterator[frozenset[int]]:
    every = (combinations(range(servers), size) for size in range(servers + 1))
    return map(frozenset, chain.from_iterable(every))


@pytest.mark.parametrize("servers", range(2, 9))
def test_two_losses_in_one_group_are_too_many(servers: int) -> None:
    for parity in range(1, servers):
        groups = [{(start + i) % servers for i in range(parity + 1)} for start in range(servers)]
        for down in subsets(servers):
            decodes = all(len(group & down) < 2 for group in groups)
            answer = rule(servers, parity)(Loss(down, NOBODY))
            assert answer.rollback == ("none" if decodes else "all"), (parity, down)


def test_the_rest_trains_on_unless_a_trainer_is_lost() -> None:
    assert rule(8, 2)(Loss(frozenset({0, 3}), NOBODY)) == Recover(
        "none", keep_training=True, source="parities", reads=2.0, degraded=0.25, pause_s=30.0
    )
    assert not rule(8, 2)(Loss(frozenset({0}), frozenset({1}))).keep_training
    assert rule(8, 2)(Loss(frozenset({0, 7}), NOBODY)) == Recover("all")


# --- The plan ------------------------------------------------------------------------------------

GB = 1e9


def planned(policy: dict[str, Any], model: dict[str, Any] | None = None, **tables: Any) -> Scenario:
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1 h"},
        "cluster": {"parameter_servers": 5, "trainers": 15},
        "costs": {"save": "1 s", "load": "20 s"},
        "failures": {"exactly": 0},
        "policies": {"p": {"system": "ecrm"} | policy},
    }
    return Scenario(**(mapping | tables | ({} if model is None else {"model": model})))


def test_shares_that_were_measured_win() -> None:
    measured = {"coding": 0.01, "commit": 0.02, "replication": 0.04}
    assert planned(measured).plan("p").slowdown == 0.07
    assert planned(measured | {"commit": 0.0}).plan("p").slowdown == 0.05
    off = {"two_phase_commit": False, "nn_replication": False}
    assert planned(off | {"coding": 0.01}).plan("p").slowdown == 0.01
    assert planned(off).plan("p").slowdown == pytest.approx(0.026)


def test_a_share_of_what_is_off_is_not_paid() -> None:
    measured = {"coding": 0.01, "commit": 0.02, "replication": 0.04}
    for off, left in (
        ({"parity": 0}, 0.04),
        ({"two_phase_commit": False}, 0.05),
        ({"nn_replication": False}, 0.03),
    ):
        assert planned(measured | off).plan("p").slowdown == pytest.approx(left)


def test_what_it_takes_besides() -> None:
    job = {"useful_time": "1 h", "network": "3 GB/s"}
    plan = planned({"parity": 4}, job=job).plan("p")
    assert plan.peer_bytes_per_s == 6 * GB
    assert plan.memory_overhead == 0.25
    assert plan.redundancy == Redundancy("parities", data=4, parity=1)
    assert plan.interval_s == math.inf


def test_a_card_that_is_full_slows_training_more_than_measured() -> None:
    # Pulled and sent on: (5 + 10) GB/s over 5 servers of 2 GB/s each.
    tables: dict[str, Any] = {
        "job": {"useful_time": "1 h", "network": "5 GB/s"},
        "cluster": {"parameter_servers": 5, "trainers": 15, "nic": "2 GB/s"},
    }
    assert play(planned({}, **tables), "p", 0, 0).slowdown == pytest.approx(3600 * 0.5)


@pytest.mark.parametrize(
    ("nic", "degraded"),
    [
        # Its own 1 GB/s and half as many again (a read of each of 2 others, of 4 in turn), and 2
        # sent on, in time beside the 20 % that it is slowed by anyway.
        ("2 GB/s", 3.5 / 2 / 1.2 - 1),
        ("100 GB/s", 1 / 0.9 - 1),
    ],
)
def test_decoding_takes_of_the_cards_or_what_was_measured(nic: str, degraded: float) -> None:
    tables: dict[str, Any] = {
        "job": {"useful_time": "1 h", "network": "5 GB/s"},
        "cluster": {"parameter_servers": 5, "trainers": 15, "nic": nic},
    }
    shares = {"coding": 0.1, "commit": 0.1, "nn_replication": False}
    answer = planned(shares, **tables).plan("p").recover(Loss(frozenset({0}), frozenset()))
    assert answer.degraded == pytest.approx(degraded)


@pytest.mark.parametrize(
    ("policy", "model", "seconds"),
    [
        # 3 shards of 4 GB at 2 GB/s, one at 8 GB/s, and 10 s
        (
            {
                "parity": 3,
                "rebuild_fixed": "10 s",
                "rebuild_read": "2 GB/s",
                "rebuild_write": "8 GB/s",
            },
            {"embedding": "12 GB", "optimizer": "8 GB"},
            16.5,
        ),
        ({"parity": 4}, {"embedding": "1760 GB"}, 60 * 33.7),  # figure 12, calibrated
        ({"parity": 3}, None, 60.0),  # measured partial loads, one after the other
    ],
)
def test_a_rebuild_takes_so_long(
    policy: dict[str, Any], model: dict[str, Any] | None, seconds: float
) -> None:
    scenario = planned(policy, model)
    costs, plan = scenario.cost_model, scenario.plan("p")
    answer = plan.recover(Loss(frozenset({0}), NOBODY))
    load = costs.load(plan.tier(answer.source), answer.rollback, 1, answer.reads)
    assert costs.seconds(load) == pytest.approx(seconds)


def test_a_rebuild_of_nothing_takes_no_time() -> None:
    scenario = planned({}, {"embedding": "0 B"})
    load = scenario.cost_model.load(scenario.plan("p").tier("parities"), "none", 1, 2.0)
    assert scenario.cost_model.seconds(load) == 0


# --- Switched off, it is a simpler policy --------------------------------------------------------

BARE = {"system": "ecrm", "two_phase_commit": False, "nn_replication": False}
FREE_COPIES = {"system": "replication", "slowdown": 0.0, "takeover": "0 s"}
MIRRORED = BARE | {"parity": 1, "coding": 0.0, "resume": "0 s", "degraded": 0.0}


@pytest.mark.parametrize(
    ("coded", "simpler"),
    [
        (BARE | {"parity": 0, "interval": "2 h"}, {"system": "full", "interval": "2 h"}),
        (BARE | {"parity": 0, "interval": "optimal"}, {"system": "full"}),
        (MIRRORED, FREE_COPIES),
        (MIRRORED | {"interval": "2 h"}, FREE_COPIES | {"interval": "2 h"}),
    ],
)
@pytest.mark.parametrize("failures", [{"mean": "5 h"}, {"mean": "60 h", "per": "node"}])
def test_off_to_the_last_digit(
    coded: dict[str, Any], simpler: dict[str, Any], failures: dict[str, Any]
) -> None:
    scenario = Scenario(
        job={"useful_time": "20 h"},
        cluster={"parameter_servers": 8, "trainers": 4, "spares": 1},
        costs={"save": "5 min", "load": "40 min", "reschedule": "20 min", "detect": "7 s"},
        failures={"distribution": "exponential"} | failures,
        policies={"coded": coded, "simpler": simpler},
    )
    found = simulate(scenario, ["coded", "simpler"], range(80), 5)
    assert (found[:, 0] == found[:, 1]).all()
    assert found[:, 1, COLUMNS.index("lost")].any()  # some had to roll back


def test_without_parities_and_interval_it_never_saves() -> None:
    scenario = planned(BARE | {"parity": 0}, failures={"exactly": 1}, job={"useful_time": "1 h"})
    run = play(scenario, "p", 0, 0)
    assert (run.saves, run.slowdown) == (0, 0.0)
    assert run.wall == 3600 + run.lost + run.load


# --- Failures worked by hand ---------------------------------------------------------------------
# 1,000 s on 8 servers and a trainer, node 8; reschedule 50 s, load 20 s, so that a rebuild takes
# 50 + 2 * 20 s. Each loss stops training for 30 s, and then it goes at half its pace.

CODED = BARE | {"parity": 2, "coding": 0.0, "degraded": 0.5}
COSTS = {"save": "1 s", "load": "20 s", "reschedule": "50 s"}


def test_expected_cost_of_one_failure() -> None:
    # As of a lost server above, the failure anywhere in the job: 30 s of 1,000, and half of 60 s.
    planned = job_of(CODED, costs=COSTS, failures={"exactly": 1})
    found = expected(planned.plan("p"), planned.context)
    assert found.reschedule == pytest.approx(0.03)
    assert found.slowdown == pytest.approx(0.03)
    assert found.overhead == pytest.approx(0.06)


# --- Double faults at random ---------------------------------------------------------------------


@pytest.mark.parametrize(("parity", "neighbours"), [(1, 2), (2, 4), (4, 7)])
def test_how_often_a_second_loss_is_one_too_many(parity: int, neighbours: int) -> None:
    # Two failures at uniform instants of 1,000 s, of a random server of 8 each. The job rolls back
    # if they are less than a rebuild apart and the second is one of the first's neighbours.
    count = 1000
    scenario = Scenario(
        job={"useful_time": "1000 s"},
        cluster={"parameter_servers": 8},
        costs={"save": "1 s", "load": "20 s", "reschedule": "50 s"},
        failures={"exactly": 2},
        policies={"p": CODED | {"parity": parity, "resume": "0 s", "degraded": 0.0}},
    )
    lost = simulate(scenario, ["p"], range(count), 11)[:, 0, COLUMNS.index("lost")]

    rebuild_s = 50 + parity * 20
    exact = (1 - (1 - rebuild_s / 1000) ** 2) * neighbours / 8
    assert np.mean(lost > 0) == pytest.approx(exact, abs=3 * math.sqrt(exact * (1 - exact) / count))
