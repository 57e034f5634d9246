"""Many runs with silent faults and torn checkpoints, beside what exact forms say of their means."""

import math
from typing import Any

import numpy as np
import pytest

from cprsim.contract.expected import expected
from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s
from cprsim.scenario import Scenario
from tests.formulas.forms import verified_interval_s, verified_segment_s
from tests.sim.means import assert_mean, measured

RUNS = 1000
SAVES, INTERVAL_S, VERIFY_S, SAVE_S, LOAD_S, DOWN_S = 20, 50.0, 2.0, 5.0, 10.0, 3.0
MTBF_S, SILENT_S = 200.0, 300.0


def scenario(failures: dict[str, Any], policy: dict[str, Any], **tables: Any) -> Scenario:
    costs = {"save": SAVE_S, "load": LOAD_S, "verify": VERIFY_S, "reschedule": DOWN_S}
    return Scenario(
        job={"useful_time": f"{SAVES * INTERVAL_S} s", "final_save": True},
        cluster={"parameter_servers": 4},
        costs={key: f"{value} s" for key, value in costs.items()},
        failures=failures,
        policies={"it": {"system": "full", "interval": f"{INTERVAL_S} s"} | policy},
        **tables,
    )


@pytest.mark.parametrize(("mtbf_s", "silent_s"), [(math.inf, SILENT_S), (MTBF_S, SILENT_S)])
def test_verified_checkpoints_take_what_the_exact_form_says(mtbf_s: float, silent_s: float) -> None:
    failures: dict[str, Any] = {"exactly": 0}
    if mtbf_s < math.inf:
        failures = {"distribution": "exponential", "mean": f"{mtbf_s} s"}
    it = scenario(failures | {"silent": {"mean": f"{silent_s} s"}}, {"verify_every": 1})

    segment_s = verified_segment_s(INTERVAL_S, VERIFY_S, SAVE_S, mtbf_s, silent_s, LOAD_S, DOWN_S)
    assert_mean(measured(it, "wall", RUNS), SAVES * segment_s)
    assert not measured(it, "corrupt", RUNS).any()


def test_jobs_that_nobody_verifies_end_corrupt_as_often_as_a_fault_strikes() -> None:
    it = scenario({"exactly": 0, "silent": {"mean": "1000 s"}}, {})
    share = 1 - math.exp(-1)
    error = math.sqrt(share * (1 - share) / RUNS)
    assert abs(measured(it, "corrupt", RUNS).mean() - share) <= 3 * error


def test_torn_checkpoints_are_loaded_as_often_as_they_should() -> None:
    """One failure a job: of torn ones in a row, each costs a load."""
    chance = 0.3
    it = scenario({"exactly": 1}, {"keep": SAVES}, storage={"torn": chance})
    loads = measured(it, "load", RUNS) / LOAD_S
    # It strikes in interval k with the same chance for each of them, after k saves, and loads i
    # more times with probability `chance**i`, i <= k: the start is never torn.
    useful_s = SAVES * INTERVAL_S
    strikes_s = np.linspace(0, useful_s, 100_001)[1:]
    saves = np.minimum(strikes_s // (INTERVAL_S + SAVE_S), SAVES - 1)
    exact = 1 + (chance * (1 - chance**saves) / (1 - chance)).mean()
    assert_mean(loads, exact)


def test_without_faults_of_one_kind_the_form_is_that_of_the_other() -> None:
    both = 50.0, 2.0, 5.0
    only = verified_segment_s(*both, 200.0, math.inf, 10.0, 3.0)
    assert only == pytest.approx(blocking_segment_s(52.0, 5.0, 200.0, 10.0, 3.0), rel=1e-12)
    silent = verified_segment_s(*both, math.inf, 300.0, 10.0)
    again = math.exp(50 / 300)
    assert silent == pytest.approx(again * 52 + (again - 1) * 10 + 5, rel=1e-12)
    # Failures that are as rare as none come to the same.
    assert verified_segment_s(*both, 1e12, 300.0, 10.0) == pytest.approx(silent, rel=1e-9)


def test_the_interval_is_near_the_exact_minimum() -> None:
    first_s = verified_interval_s(2.0, 5.0, 5e4, 2e4)
    assert first_s == pytest.approx(math.sqrt(7 / (1 / 2e4 + 1 / 1e5)))

    def waste(work_s: float) -> float:
        return verified_segment_s(work_s, 2.0, 5.0, 5e4, 2e4, 10.0) / work_s

    best = min(waste(first_s * share) for share in np.linspace(0.5, 2.0, 301))
    assert waste(first_s) == pytest.approx(best, rel=1e-4)
    assert math.isinf(verified_interval_s(2.0, 5.0, math.inf, math.inf))


def test_full_recovery_that_verifies_saves_at_that_interval() -> None:
    it = scenario(
        {"distribution": "exponential", "mean": "50000 s", "silent": {"mean": "20000 s"}},
        {"verify_every": 1, "interval": "optimal"},
    )
    found_s = it.plan("it").interval_s
    assert found_s == pytest.approx(verified_interval_s(VERIFY_S, SAVE_S, 5e4, 2e4), rel=1e-12)


def test_a_job_too_short_for_a_verified_save_saves_for_failures_alone() -> None:
    failures = {"distribution": "exponential", "mean": "50000 s", "silent": {"mean": "20000 s"}}
    never = {"verify_every": 1000, "keep": 1000, "interval": "optimal"}
    found_s = scenario(failures, never).plan("it").interval_s
    assert found_s == young_interval_s(SAVE_S, 5e4)


def test_estimates_have_silent_faults_to_first_order() -> None:
    silent_s = 1e5
    failures = {"distribution": "exponential", "mean": "1e6 s"}
    it = scenario(failures | {"silent": {"mean": f"{silent_s} s"}}, {"verify_every": 1})
    found = expected(it.plan("it"), it.context)
    exact_s = verified_segment_s(INTERVAL_S, VERIFY_S, SAVE_S, 1e6, silent_s, LOAD_S, DOWN_S)
    assert found.verify == VERIFY_S / INTERVAL_S
    # What is left out is of the second order: failures in saves, and that share of the interval.
    assert found.overhead == pytest.approx(exact_s / INTERVAL_S - 1, rel=1e-3)
