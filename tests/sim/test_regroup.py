"""Processes that form their group again after a partial recovery: docs/semantics.md, rule 42."""

from typing import Any

import numpy as np
import pytest

import cprsim
from cprsim.advice.warning import warnings
from cprsim.basics.streams import Cause
from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.failures.shared import CohortStreams
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS

LAW = {"distribution": "lognormal", "mean": "3 min", "cv": 0.5}


def job(policy: str, regroup: Any = None, trainers: int = 2) -> cprsim.Scenario:
    costs = {} if regroup is None else {"regroup": regroup}
    keys = {} if policy in {"replication", "accepted-loss"} else {"interval": "2 h"}
    return cprsim.Scenario(
        job={"useful_time": "10 h"},
        cluster={"parameter_servers": 4, "trainers": trainers},
        costs={"save": "6 min", "load": "3 min", "reschedule": "20 min", "detect": "30 s", **costs},
        failures={"exactly": 1},
        policies={policy: {"system": policy, **keys}},
    )


def waited_s(scenario: cprsim.Scenario, name: str) -> np.ndarray:
    """What is charged as `reschedule` in each replication, the same in both engines."""
    (own,) = scenario.select([name])
    runs = batch.simulate(scenario, [own], range(16), 0)[:, 0]
    assert np.array_equal(runs[:4], sim.simulate(scenario, [own], range(4), 0)[:, 0])
    return runs[:, COLUMNS.index("reschedule")]


@pytest.mark.parametrize(
    ("policy", "charged_s"),
    [
        ("partial", 180.0),  # shards return alone, and wait for the group
        ("full", 0.0),  # all start again
        ("accepted-loss", 0.0),  # the others train on
    ],
)
def test_it_is_charged_where_healthy_processes_wait(policy: str, charged_s: float) -> None:
    without, with_it = (waited_s(job(policy, regroup), policy) for regroup in (None, "3 min"))

    assert with_it - without == pytest.approx(charged_s)
    if policy == "partial":
        assert with_it == pytest.approx(20 * 60 + 180)  # one failure, by hand


def test_a_law_is_drawn_for_each_failure() -> None:
    waits_s = waited_s(job("partial", LAW), "partial") - 20 * 60

    assert len({*waits_s.tolist()}) == len(waits_s)
    assert (waits_s > 0).all()
    assert waits_s.mean() == pytest.approx(180, rel=0.4)


def test_each_failure_has_its_own_number() -> None:
    scenario = job("partial", LAW)
    law_s: Any = CohortStreams(0, 0, None).durations(scenario.costs.regroup, Cause.REGROUP)
    first_s = law_s.of(np.array([0]), 1)[0, 0]

    assert sim.play(scenario, "partial", 0, 0).reschedule == pytest.approx(20 * 60 + first_s)


def test_the_formula_has_it() -> None:
    found = []
    for regroup in (None, "3 min", LAW):
        scenario = job("partial", regroup)
        found.append(expected(scenario.plan("partial"), scenario.context).reschedule)
    per_failure = 1 / scenario.context.mtbf_s
    assert found[1] - found[0] == pytest.approx(180 * per_failure)
    assert found[2] == pytest.approx(found[1])


@pytest.mark.parametrize(
    ("trainers", "regroup", "told"), [(0, None, True), (0, "0 s", False), (8, None, False)]
)
def test_advise_says_that_it_is_assumed(trainers: int, regroup: Any, told: bool) -> None:
    """Where the nodes that hold tables train as well, and nothing says what it takes."""
    scenario = job("partial", regroup, trainers)
    advice = cprsim.advise(scenario, systems=["partial"], seed=0)
    said = [each for each in warnings(advice) if "costs.regroup" in each]
    assert bool(said) == told
