"""The simulator against exact forms; cases.py says where each expected value comes from."""

import math

import numpy as np
import pytest

from cprsim.closed_form.makespan import async_makespan_s
from cprsim.distributions import Distribution
from tests.validation.cases import (
    CASES,
    PREDICTED,
    SHIPPED,
    SWEEP,
    shipped,
    uniform_of,
)
from tests.validation.exact import even_points, fresh_makespan_s, renewal_count


@pytest.mark.slow
def test_simulated_mean_is_within_three_standard_errors(measured):
    case, found = measured
    assert abs(found.z) <= 3, f"{case.name}: {found}"


@pytest.mark.parametrize("case", [case for case in CASES if case.printed], ids=lambda c: c.name)
def test_exact_value_is_the_one_that_the_reference_prints(case):
    decimals = len(case.printed.partition(".")[2])
    assert f"{case.exact:.{decimals}f}" == case.printed


def test_names_tell_cases_apart():
    assert len({(case.group, case.name) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("each", PREDICTED, ids=lambda each: f"{each.name}, {each.policy}")
def test_closed_form_of_a_shipped_scenario(each):
    assert each.computed == pytest.approx(each.published, abs=each.tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    "measured",
    [case for case in SHIPPED if case.name.endswith("overhead")],
    indirect=True,
    ids=lambda case: case.name,
)
def test_simulated_overhead_is_the_first_order_one_but_for_discretisation(measured):
    case, found = measured
    # What discretisation does: whole saves, a short last segment, failures that strike a save.
    uniform = uniform_of(case.scenario, case.policy)
    counted, _ = uniform.counted(on_wall_clock=True)
    save = uniform.save_s / uniform.interval_s
    mtbf_s = uniform.useful_time_s / uniform.failures
    lost_s = uniform.interval_s / 2 if uniform.full else 0.0
    first_order = 100 * (save + (uniform.load_s + uniform.downtime_s + lost_s) / mtbf_s)
    assert abs(found.mean - first_order) <= 0.15 + abs(counted - first_order)


@pytest.mark.slow
def test_simulated_wall_times_over_the_interval_are_the_exact_ones(measured_sweep):
    for interval_s, found in zip(SWEEP.intervals_s, measured_sweep, strict=True):
        assert abs(found.z) <= 3, f"every {interval_s} s: {found}"


@pytest.mark.slow
def test_best_simulated_interval_costs_at_most_one_percent_more_than_the_exact_one(measured_sweep):
    best = min(range(len(measured_sweep)), key=lambda i: measured_sweep[i].mean)
    least_s = SWEEP.makespan_s(SWEEP.optimum_s)
    assert SWEEP.makespan_s(SWEEP.intervals_s[best]) <= 1.01 * least_s
    # The overhead alone, too: the wall time is mostly useful time, which no interval changes.
    useful_s = SWEEP.parameters[0]
    assert SWEEP.makespan_s(SWEEP.intervals_s[best]) - useful_s <= 1.01 * (least_s - useful_s)


# --- The exact values of exact.py ------------------------


def law(name, mean_s, **shape):
    return Distribution(distribution=name, mean=f"{mean_s!r} s", **shape)


@pytest.mark.parametrize("same", [("exponential", {}), ("weibull", {"shape": 1.0})])
def test_fresh_makespan_of_exponential_failures(same):
    name, shape = same
    found = fresh_makespan_s(20, 60, 2, 30, 15, law(name, 600.0, **shape))
    assert found == pytest.approx(async_makespan_s(1200, 60, 2, 30, 600, 15), rel=1e-12)


def test_fresh_makespan_of_deterministic_failures():
    # 9 saves commit in 600 s (the 9th at 9 * 62 + 30 = 588 s), so 20 take two failures and 2 more.
    found = fresh_makespan_s(20, 60, 2, 30, 15, law("deterministic", 600.0))
    assert found == pytest.approx(2 * 615 + 2 * 62 + 30)


def test_renewal_count_of_laws_with_a_closed_form():
    # Exponential: t/M. Erlang-2 with stages of rate r = 2/M: r t/2 - 1/4 + exp(-2 r t)/4.
    assert renewal_count(law("exponential", 1.0), 2.0) == pytest.approx(2.0, rel=1e-6)
    erlang = 2.0 - 0.25 + math.exp(-8.0) / 4
    assert renewal_count(law("gamma", 1.0, shape=2.0), 2.0) == pytest.approx(erlang, rel=1e-6)


def test_ages_drawn_anew_would_be_seen():
    # All ten lives drawn anew at each failure: the job renews with the shortest, a Weibull life of
    # the same shape whose mean is 10**(-1/3) as long.
    kept = 10 * renewal_count(law("weibull", 1.0, shape=3.0), 3.0)
    redrawn = renewal_count(law("weibull", 10 ** (-1 / 3), shape=3.0), 3.0)
    assert kept == pytest.approx(25.665, abs=1e-3)
    assert redrawn == pytest.approx(6.029, abs=1e-3)


@pytest.mark.parametrize("policy", ["full", "partial"])
def test_arithmetic_of_uniform_failures_without_any(policy):
    uniform = uniform_of(shipped("criteo-kaggle", "failures={exactly = 0}"), policy)
    saves = math.ceil(uniform.useful_time_s / uniform.interval_s) - 1 if uniform.full else 0
    expected = 100 * saves * uniform.save_s / uniform.useful_time_s
    overhead, pls = uniform.played(points=16)
    assert (overhead, pls) == (pytest.approx(expected, abs=1e-9), 0.0)


def test_even_points_are_even():
    points = even_points(4096, 3)
    assert points.min() >= 0
    assert points.max() < 1
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=1e-3)
    # The mean of a product of coordinates is that of independent ones.
    np.testing.assert_allclose((points[:, 0] * points[:, 1]).mean(), 0.25, atol=1e-3)
