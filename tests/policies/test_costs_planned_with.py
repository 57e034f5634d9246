"""Costs that a policy asks for count when it chooses its interval."""

from typing import Any

import pytest

from cprsim import Scenario, decide


def job(policy: dict[str, Any], torn: float = 0.0, fails: float = 0.0, **costs: str) -> Scenario:
    return Scenario(
        storage={"torn": torn, "save_fails": fails},
        job={"useful_time": "4 d"},
        cluster={"parameter_servers": 8, "trainers": 4},
        costs={"save": "5 min", "load": "3 min", "reschedule": "20 min", **costs},
        failures={"distribution": "exponential", "mean": "10 h"},
        policies={"it": policy},
    )


def intervals_s(policy: dict[str, Any], **job_: Any) -> list[float]:
    scenario = job(policy, **job_)
    plan = scenario.policies["it"].planned(scenario.context)
    return [each.interval_s for each in plan.schedules]


@pytest.mark.parametrize(
    "policy",
    [
        {"system": "full"},
        {"system": "full", "verify_every": 2},
        {"system": "partial"},
        {"system": "cpr-vanilla", "target_pls": 0.05},
        {"system": "cpr-vanilla", "interval": "exact"},
        {"system": "async", "snapshot": "0 s"},
        {"system": "async", "snapshot": "20 s", "iteration": "5 s", "interval": "checkfreq"},
        {"system": "autopilot", "prior": "20 h"},
        {"system": "elastic", "bound": 0.6, "reshard": "30 s"},
        {"system": "ecrm", "interval": "optimal", "coding": 0.0, "commit": 0.0, "parity": 0},
        {"system": "replication", "interval": "optimal", "slowdown": 0.0},
        {"system": "twin-groups", "every": "10 min", "sync": "3 s", "interval": "optimal"},
        {
            "system": "check-n-run",
            "interval": "optimal",
            "snapshot": "1 ms",
            "bits": 32,
            "modified": 0.1,
        },
        {"system": "tiered", "remote": {"blocking": True}},
    ],
    ids=lambda policy: " ".join(map(str, policy.values())),
)
def test_a_check_is_a_longer_save(policy: dict[str, Any]) -> None:
    checked = intervals_s(policy | {"checksum": True}, checksum="2 min")

    assert checked == pytest.approx(intervals_s(policy, save="7 min"))
    assert checked != pytest.approx(intervals_s(policy), rel=1e-3)
    assert intervals_s(policy, checksum="2 min") == intervals_s(policy)  # it is not asked for


def test_cpr_waits_for_the_group_that_forms_again() -> None:
    """Without spares a longer wait for machines and one for the group are the same."""
    policy = {"system": "cpr-vanilla", "target_pls": 0.05}
    forming = intervals_s(policy, regroup="40 min")

    assert forming == pytest.approx(intervals_s(policy, reschedule="60 min"))
    assert forming != pytest.approx(intervals_s(policy), rel=1e-3)


def test_for_cpr_a_torn_save_that_is_checked_is_a_failed_one() -> None:
    policy = {"system": "cpr-vanilla", "target_pls": 0.05}
    checked = policy | {"checksum": True}

    assert intervals_s(checked, torn=0.2) == pytest.approx(intervals_s(policy, fails=0.2))
    assert intervals_s(policy, torn=0.2) == intervals_s(policy)  # nobody knows of it


def test_decide_counts_checks_as_the_policy_does() -> None:
    policy = {"system": "cpr-vanilla", "target_pls": 0.05, "checksum": True}
    checked = decide(job(policy, checksum="2 min"))
    longer = decide(job(policy | {"checksum": False}, save="7 min"))

    assert checked.partial.interval_s == intervals_s(policy, checksum="2 min")[0]
    assert checked.full.interval_s == longer.full.interval_s
    assert checked.benefit == pytest.approx(longer.benefit)
