"""Failures at the instant of a replacement, and failures of either kind of node."""

from itertools import count
from typing import Any

import cprsim
from cprsim.sim.engine import play

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
