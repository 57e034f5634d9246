"""Asynchronous checkpoints: the suite of all policies, CheckFreq's rule, staging, faults."""

from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.contract.expected import expected
from cprsim.sim.engine import play, simulate

# --- Worked by hand ------------------------------------------------------------------------------


def scenario(policies: dict[str, Any], failures: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """1,000 s on 8 servers; a save 10 s, a load 16 s, reschedule 50 s."""
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8},
        "costs": {"save": "10 s", "load": "16 s", "reschedule": "50 s"},
        "failures": failures,
        "policies": policies,
    }
    return cprsim.Scenario(**(mapping | tables))


def plays(policies: dict[str, Any], failures: dict[str, Any], **tables: Any) -> list[bytes]:
    """Ledgers of some replications of each policy, digit by digit."""
    found = simulate(scenario(policies, failures, **tables), list(policies), range(20), 6)
    return [found[:, i].tobytes() for i in range(len(policies))]


def trace(folder: Path, strikes: str) -> dict[str, Any]:
    log = folder / "log.csv"
    log.write_text("time_s,node\n" + strikes)
    return {"trace": str(log)}


@pytest.mark.parametrize(("in_flight", "interval_s"), [(1, 10.0), (2, 5.0), (3, 20**0.5)])
def test_an_optimal_interval_lets_saves_land(in_flight, interval_s):
    # sqrt(2 x 10 ms x 1,000 s) is 4.47 s; a save takes 10 s.
    policy = {"system": "async", "snapshot": "10 ms", "in_flight": in_flight}
    plan = scenario({"p": policy}, {"distribution": "exponential", "mean": "1000 s"}).plan("p")

    assert plan.interval_s == pytest.approx(interval_s, rel=1e-12)


# --- CheckFreq -----------------------------------------------------------------------------------

# A save of 10 s in steps of 1 s: 10 steps at first, a fifth of which a stall of 2 s is. It is 5 %
# of 40 steps, 15 times 2 more.
RULE = {"system": "async", "interval": "checkfreq", "iteration": "1 s", "snapshot": "2 s"}


def test_interval_grows_by_two_steps_until_saving_is_cheap_enough():
    long = {"useful_time": "10000 s"}
    found = play(scenario({"p": RULE}, {"exactly": 0}, job=long), "p", 0, 0)

    # The first 16 saves come 10, 12, ... 40 s apart, 400 s together; then one every 40 s.
    assert found.saves == 16 + (10_000 - 400) // 40 - 1
    assert found.wall == pytest.approx(10_000 + 2 * found.saves, rel=1e-12)


def test_plan_is_what_the_rule_settles_at():
    plan = scenario({"p": RULE}, {"exactly": 0}).plan("p")

    assert plan.interval_s == 40.0
    assert plan.sequence.first_s == 10.0
    one = scenario({"p": RULE}, {"distribution": "exponential", "mean": "1 h"})
    assert expected(one.plan("p"), one.context).stall == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("keys", "first_s", "settled_s"),
    [
        ({"iteration": "3 s"}, 12.0, 42.0),  # 4 steps, then 6, 8, ... 14: 2 s of 40 s at least
        ({"iteration": "30 s"}, 30.0, 90.0),  # 1 step, then 3
        ({"iteration": "60 s"}, 60.0, 60.0),
        ({"max_overhead": 0.2}, 10.0, 10.0),
        ({"max_overhead": 0.035}, 10.0, 58.0),  # 2 s of 57.1 s
        ({"snapshot": "0 s"}, 10.0, 10.0),
        # What is hidden of the snapshot lands with the save: 11 steps, a stall of 1 s.
        ({"staging": "pinned"}, 11.0, 21.0),
        ({"staging": "pinned", "iteration": "4 s"}, 12.0, 12.0),
    ],
)
def test_steps_of_the_rule(keys, first_s, settled_s):
    plan = scenario({"p": RULE | keys}, {"exactly": 0}).plan("p")

    assert (plan.sequence.first_s, plan.interval_s) == (first_s, settled_s)


ROUGH = {"distribution": "weibull", "shape": 0.7, "mean": "200 s"}


def test_a_rule_that_never_adapts_is_the_static_plan_to_the_last_digit():
    fixed = {"system": "async", "interval": "10 s", "snapshot": "2 s"}
    one, other = plays({"p": RULE | {"max_overhead": 0.2}, "fixed": fixed}, ROUGH)

    assert one == other


def test_time_with_a_failure_in_it_is_not_measured(tmp_path):
    # 20 % is allowed; with a failure's 66 s and more the interval would grow.
    fixed = {"system": "async", "interval": "10 s", "snapshot": "2 s"}
    policies = {"p": RULE | {"max_overhead": 0.2}, "fixed": fixed}
    strikes = trace(tmp_path, "5,0\n90,1\n300,0\n301,0\n700,3\n")

    assert len(set(plays(policies, strikes))) == 1


def test_what_was_learned_of_the_cost_outlives_a_failure(tmp_path):
    # By 500 s it has settled at 40 s; from the restored checkpoint saves stay so far apart.
    long = {"useful_time": "1200 s"}
    one = scenario({"p": RULE}, trace(tmp_path, "500,0\n"), job=long)
    quiet = scenario({"p": RULE}, {"exactly": 0}, job=long)

    assert play(one, "p", 0, 0).saves == play(quiet, "p", 0, 0).saves == 16 + 800 // 40 - 1


def test_a_slowdown_by_the_write_counts_as_overhead():
    # Copy-on-write, but save and training share the server's card: each gets half of its 1 GB/s,
    # and training could do with 0.8.
    tables = {
        "job": {"useful_time": "1000 s", "network": "800 MB/s"},
        "cluster": {"parameter_servers": 1, "nic": "1 GB/s"},
        "model": {"embedding": "40 GB"},
        "storage": {"write": "2 GB/s", "read": "2 GB/s"},
        "costs": {},
    }
    rule = RULE | {"snapshot": "0 s", "max_overhead": 0.01}
    fixed = {"system": "async", "interval": "40 s"}
    one, other = (
        play(scenario({"p": policy}, {"exactly": 0}, **tables), "p", 0, 0)
        for policy in (rule, fixed)
    )

    assert one.saves < other.saves
    assert 0 < one.slowdown < other.slowdown


# --- What it comes down to -----------------------------------------------------------------------


def test_with_nothing_to_wait_for_it_is_full_to_the_last_digit():
    free = {"costs": {"save": "0 s", "load": "16 s", "reschedule": "50 s"}}
    policies = {
        "async": {"system": "async", "interval": "30 s"},
        "full": {"system": "full", "interval": "30 s"},
    }
    one, other = plays(policies, ROUGH, **free)

    assert one == other


def test_pinned_staging_that_hides_nothing_is_pageable():
    pageable = {"system": "async", "interval": "30 s", "snapshot": "5 s"}
    pinned = {
        "system": "async",
        "interval": "30 s",
        "staging": "pinned",
        "snapshot": "6 s",
        "iteration": "1 s",
    }
    one, other = plays({"p": pageable, "pinned": pinned}, ROUGH)

    assert one == other


@pytest.mark.parametrize(
    ("keys", "stall_s", "memory"),
    [
        ({}, 6.0, 1.0),
        ({"in_flight": 3}, 6.0, 3.0),
        ({"staging": "pinned", "iteration": "4 s"}, 2.0, 2.0),
        ({"staging": "pinned", "iteration": "6 s"}, 0.0, 2.0),
        ({"staging": "pinned", "iteration": "9 s", "in_flight": 2}, 0.0, 3.0),
    ],
)
def test_stall_and_host_memory_of_staging(keys, stall_s, memory):
    policy = {"system": "async", "interval": "1 min", "snapshot": "6 s"} | keys
    plan = scenario({"p": policy}, {"exactly": 0}).plan("p")

    assert plan.tier("remote").snapshot_s == stall_s
    assert plan.memory_overhead == memory


def test_memory_that_suffices_is_not_refused():
    policy = {"system": "async", "interval": "1 min", "host_memory": "100 GB"}
    scenario({"p": policy}, {"exactly": 0}, model={"embedding": "800 GB"})
