"""Erasure coding: rebuilds, and double faults."""

import math
from typing import Any

import numpy as np
import pytest

from cprsim import Scenario
from cprsim.contract import Loss
from cprsim.sim.engine import COLUMNS, play, simulate

# --- The plan ------------------------------------------------------------------------------------


def planned(policy: dict[str, Any], model: dict[str, Any] | None = None, **tables: Any) -> Scenario:
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1 h"},
        "cluster": {"parameter_servers": 5, "trainers": 15},
        "costs": {"save": "1 s", "load": "20 s"},
        "failures": {"exactly": 0},
        "policies": {"p": {"system": "ecrm"} | policy},
    }
    return Scenario(**(mapping | tables | ({} if model is None else {"model": model})))


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
    answer = plan.recover(Loss(frozenset({0}), frozenset()))
    load = costs.load(plan.tier(answer.source), answer.rollback, 1, answer.reads)
    assert costs.seconds(load) == pytest.approx(seconds)


def test_a_rebuild_of_nothing_takes_no_time() -> None:
    scenario = planned({}, {"embedding": "0 B"})
    load = scenario.cost_model.load(scenario.plan("p").tier("parities"), "none", 1, 2.0)
    assert scenario.cost_model.seconds(load) == 0


# --- Switched off, it is a simpler policy --------------------------------------------------------

BARE = {"system": "ecrm", "two_phase_commit": False, "nn_replication": False}


def test_without_parities_and_interval_it_never_saves() -> None:
    scenario = planned(BARE | {"parity": 0}, failures={"exactly": 1}, job={"useful_time": "1 h"})
    run = play(scenario, "p", 0, 0)
    assert (run.saves, run.slowdown) == (0, 0.0)
    assert run.wall == 3600 + run.lost + run.load


CODED = BARE | {"parity": 2, "coding": 0.0, "degraded": 0.5}


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
