"""The first-order estimate beside hand calculations."""

import math

import pytest

import cprsim
from cprsim.contract.expected import Expected, expected


def estimate(policy: dict, **tables: dict) -> Expected:
    mapping: dict = {
        "job": {"useful_time": "100 h"},
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": {"save": "6 min", "load": "3 min", "reschedule": "9 min", "detect": "1 min"},
        "failures": {"distribution": "exponential", "mean": "20 h"},
        "policies": {"p": policy},
    }
    scenario = cprsim.Scenario(**(mapping | tables))
    return expected(scenario.plan("p"), scenario.context)


def test_full_recovery_by_hand() -> None:
    found = estimate({"system": "full", "interval": "2 h"})

    assert found.save == pytest.approx(0.1 / 2)
    assert found.lost == pytest.approx(1 / 20)
    assert (found.load, found.reschedule) == pytest.approx((0.05 / 20, 0.15 / 20))
    assert found.detect == pytest.approx(1 / 60 / 20)
    assert found.overhead == pytest.approx(0.05 + 0.05 + (0.05 + 0.15 + 1 / 60) / 20)


def test_an_interval_longer_than_the_job_saves_nothing_and_risks_no_more_than_the_job() -> None:
    found = estimate({"system": "partial", "interval": "200 h"})

    assert found.save == 0.0
    assert found.pls == pytest.approx(0.5 * 100 / 20 / 8)  # (E5) with the job as the interval


def test_a_lost_trainer_loads_nothing_under_partial_recovery() -> None:
    weights = {"parameter_servers": 1, "trainers": 3}
    failures = {"distribution": "exponential", "mean": "20 h", "hits": {"weights": weights}}
    found = estimate({"system": "partial", "interval": "2 h"}, failures=failures)

    assert found.load == pytest.approx(0.05 / 20 / 4)
    assert found.pls == pytest.approx(0.5 * 2 / 20 / 8 / 4)


def test_spares_take_the_place_of_rescheduling() -> None:
    cluster = {"parameter_servers": 8, "trainers": 4, "spares": 1}

    assert estimate({"system": "full"}, cluster=cluster).reschedule == 0.0


def test_servers_that_fail_together_are_taken_to_lie_apart() -> None:
    failures = {"distribution": "exponential", "mean": "20 h", "hits": {"parameter_servers": 2}}
    found = estimate({"system": "replication", "copies": 2}, failures=failures)

    assert found.lost == 0.0


def test_background_saves_lose_what_has_not_landed() -> None:
    found = estimate({"system": "async", "interval": "2 h", "snapshot": "36 s"})

    assert found.stall == pytest.approx(0.01 / 2)
    assert found.save == 0.0
    assert found.lost == pytest.approx((1 + 0.1) / 20)


def test_no_failures_cost_only_the_saves() -> None:
    found = estimate({"system": "full", "interval": "2 h"}, failures={"exactly": 0})

    assert found.overhead == found.save == pytest.approx(0.05)


def test_cpr_keeps_an_interval_that_is_given() -> None:
    scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml", ["policies.cpr.interval=5 min"])

    assert scenario.plan("cpr").interval_s == 300.0
    assert scenario.plan("cpr").recovery == "partial"


def test_cpr_falls_back_to_full_recovery_where_that_is_cheaper() -> None:
    scenario = cprsim.load_scenario(
        "scenarios/criteo-kaggle.toml", ["policies.cpr.target_pls=0.001"]
    )

    assert scenario.plan("cpr").recovery == "full"
    assert math.isclose(scenario.plan("cpr").interval_s, scenario.plan("full").interval_s)
