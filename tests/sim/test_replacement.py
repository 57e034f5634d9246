"""Failures at the instant of a replacement, and failures of either kind of node."""

from itertools import count
from typing import Any

import numpy as np
import pytest

import cprsim
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.batch.engine import simulate as compiled
from cprsim.sim.engine import COLUMNS, play, simulate

EACH_NODE = {
    "distribution": "exponential",
    "mean": "100 s",
    "per": "node",
    "during_recovery": False,
}


def test_a_node_that_ends_as_training_goes_on_is_not_masked() -> None:
    def job(wait_s: float, useful_s: float) -> cprsim.Scenario:
        return cprsim.Scenario(
            job={"useful_time": f"{useful_s!r} s"},
            cluster={"parameter_servers": 2},
            costs={"save": "0 s", "load": "0 s", "reschedule": f"{wait_s!r} s"},
            failures=EACH_NODE,
            policies={"p": {"system": "partial", "interval": "2000 s"}},
        )

    for seed in count():
        lives: Any = job(0.0, 1.0).failure_model.process.cohort(seed, 0)
        first_s, second_s = sorted(lives.generation(0)[0])
        wait_s = second_s - first_s
        if first_s + wait_s == second_s and min(lives.generation(1)[0]) > 3 * wait_s:
            break
    # The other node ends just as the first one is replaced, and nothing was trained since.
    run = play(job(float(wait_s), float(first_s)), "p", seed, 0)
    assert (run.failures, run.absorbed, run.wall) == (0, 0, first_s)
    run = play(job(float(wait_s), float(first_s) + 0.1 * float(wait_s)), "p", seed, 0)
    assert (run.failures, run.absorbed) == (2, 0)


def test_failures_hit_servers_or_trainers_as_drawn() -> None:
    scenario = cprsim.Scenario(
        job={"useful_time": "1000 s"},
        cluster={"parameter_servers": 2, "trainers": 2},
        costs={"save": "0 s", "load": "0 s", "reschedule": "0 s"},
        failures={"exactly": 1, "hits": {"weights": {"parameter_servers": 1, "trainers": 1}}},
        policies={"p": {"system": "partial", "interval": "2000 s"}},
    )
    drawn: Any = scenario.failure_model.process.cohort(0, 0)
    of_servers = drawn.victims.upto(1).of_servers[:8, 0].tolist()

    assert [play(scenario, "p", 0, each).pls > 0 for each in range(8)] == of_servers
    assert 0 < sum(of_servers) < 8


@pytest.mark.parametrize("played", [simulate, compiled])
def test_each_failure_has_its_own_delay_in_the_order_drawn(played: Any) -> None:
    scenario = cprsim.Scenario(
        job={"useful_time": "10 h"},
        cluster={"parameter_servers": 4},
        costs={
            "save": "0 s",
            "load": "0 s",
            "reschedule": {"distribution": "exponential", "mean": "1 min"},
        },
        failures={"exactly": 3, "during_recovery": False},
        policies={"p": {"system": "full", "interval": "10 min"}},
    )
    found = played(scenario, ["p"], range(50), 7)[:, 0]
    drawn_s = stream(7, 0, Cause.RESCHEDULE).exponential(60.0, (COHORT, 8))
    for row, failures in enumerate(found[:, COLUMNS.index("failures")].astype(int)):
        waited_s = found[row, COLUMNS.index("reschedule")]
        assert waited_s == pytest.approx(drawn_s[row, :failures].sum())
    assert np.unique(found[:, COLUMNS.index("failures")]).max() == 3
