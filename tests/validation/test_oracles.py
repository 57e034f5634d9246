"""The simulator against exact forms; cases.py says where each expected value comes from."""

import math

import numpy as np
import pytest

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, CohortDraws
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from tests.drawn.numbers import Draws
from tools.validation.cases import ASYNC, BLOCKING, CASES, GOODPUT, SHIPPED, SWEEP, uniform_of
from tools.validation.exact import Uniform, even_points, fresh_makespan_s, renewal_count
from tools.validation.first_order import PREDICTED
from tools.validation.formulas import async_makespan_s


def test_simulated_mean_is_within_three_standard_errors(measured):
    case, found = measured
    assert abs(found.z) <= 3, f"{case.name}: {found}"


@pytest.mark.parametrize("case", [case for case in CASES if case.printed], ids=lambda c: c.name)
def test_exact_value_is_the_one_that_the_reference_prints(case):
    decimals = len(case.printed.partition(".")[2])
    assert f"{case.exact:.{decimals}f}" == case.printed


@pytest.mark.parametrize("each", PREDICTED, ids=lambda each: f"{each.name}, {each.policy}")
def test_closed_form_of_a_shipped_scenario(each):
    assert each.computed == pytest.approx(each.published, abs=each.tolerance)


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


def test_simulated_wall_times_over_the_interval_are_the_exact_ones(measured_sweep):
    for interval_s, found in zip(SWEEP.intervals_s, measured_sweep, strict=True):
        assert abs(found.z) <= 3, f"every {interval_s} s: {found}"


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


@pytest.mark.parametrize("full", [True, False])
def test_arithmetic_of_uniform_failures_by_hand(full):
    # 100 s of work, saves of 2 s after every 30 s: 3 of them, 6 %.
    numbers = {"load_s": 3.0, "downtime_s": 1.0, "hit_share": 0.5, "full": full}
    none = Uniform(100.0, 30.0, 2.0, failures=0, **numbers)
    assert none.played(points=16) == (pytest.approx(6.0), 0.0)
    # One failure: 4 s of recovery. Save cycles are 32 s. A rollback loses the work since the last
    # save and what a save took so far, all of the time in the cycle: (3 * 32**2 / 2 + 4**2 / 2)
    # / 100 = 15.44 s. Without one the shard, which holds half of the model, loses the work alone,
    # 30 s at most: (3 * (30**2 / 2 + 2 * 30) + 4**2 / 2) / 100 = 15.38 s.
    overhead, pls = Uniform(100.0, 30.0, 2.0, failures=1, **numbers).played()
    assert overhead == pytest.approx(10 + (15.44 if full else 0), abs=2e-3)
    assert pls == pytest.approx(0 if full else 0.5 * 0.1538, abs=1e-5)


def test_even_points_are_even():
    points = even_points(2**16, 3)
    assert points.min() >= 0
    assert points.max() < 1
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=1e-4)
    # The mean of a product is that of independent coordinates; random points would have a standard
    # error of 9e-4.
    np.testing.assert_allclose((points[:, 0] * points[:, 1]).mean(), 0.25, atol=5e-4)


# --- Run by run, where there is no chance ---------------------------------------------------------


def replay(gaps_s, commits, interval_s, stall_s, persist_s, recovery_s):
    """Wall time of one run, by arithmetic: what each stretch without a failure has committed."""
    wall_s, failures = 0.0, 0
    while True:
        gap_s = gaps_s[failures]
        needed_s = commits * (interval_s + stall_s) + persist_s
        if gap_s >= needed_s:
            return wall_s + needed_s
        commits -= max(0, math.floor((gap_s - persist_s) / (interval_s + stall_s)))
        wall_s += gap_s + recovery_s
        failures += 1


@pytest.mark.parametrize(
    ("case", "arguments"),
    [
        (BLOCKING[1], (20, 50.0, 5.0, 0.0, 13.0)),  # a save that is usable when it ends
        (ASYNC[0], (10, 60.0, 1.0, 40.0, 12.0)),
        (ASYNC[2], (10, 30.0, 2.0, 90.0, 12.0)),
        (ASYNC[4], (10, 60.0, 0.0, 0.0, 12.0)),
        (GOODPUT[1], (100, 60.0, 2.0, 30.0, 15.0)),
        (GOODPUT[4], (100, 60.0, 2.0, 30.0, 15.0)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_run_takes_what_arithmetic_says(case, arguments):
    scenario, runs = Scenario(**case.scenario), range(40)
    wall_s = simulate(scenario, [case.policy], runs, case.seed)[:, 0, COLUMNS.index("wall")]
    gaps = CohortDraws(scenario.failures.law.sample, case.seed, 0, Cause.FAILURE_TIME)
    expected_s = [replay(Draws(gaps, run), *arguments) for run in runs]
    np.testing.assert_allclose(wall_s, expected_s, rtol=1e-12)
