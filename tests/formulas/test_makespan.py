"""Exact wall times against the tables of `systems.md`, sections 1 and 3.2-3.3.

Those tables were derived by hand and agree with a Monte-Carlo of single events, written apart from
this code; its mean and standard error stand beside each figure.
"""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.formulas.makespan import blocking_makespan_s, blocking_segment_s, segment_count
from cprsim.formulas.pls import expected_pls, mean_pls
from tools.validation.formulas import async_cycle_s, async_makespan_s, partial_makespan_s

# T, tau, save, M, R, D, failures in recovery?, exact, Monte-Carlo mean, its standard error
BLOCKING = [
    (1000, 50, 5, 100, 10, 0, True, 1620.7398, 1620.66, 0.60),
    (1000, 50, 5, 100, 10, 3, True, 1669.3620, 1669.31, 0.65),
    (1000, 50, 5, 100, 10, 3, False, 1657.1518, 1656.5, 0.64),
    (1000, 20, 1, 500, 7, 2, True, 1091.8305, 1091.822, 0.068),
    (30000, 117, 5, 1440, 10, 0, True, 32874.7, 32861.2, 8.5),
    (30000, 9.1, 5, 15, 10, 0, True, 150253, 150331, 378),
]


@pytest.mark.parametrize("row", BLOCKING)
def test_blocking_table(row):
    *arguments, during, exact, mean, error = row
    found = blocking_makespan_s(*arguments, during_recovery=during, final_save=True)
    assert found == pytest.approx(exact, rel=2e-6)
    assert abs(found - mean) < 3 * error


@pytest.mark.parametrize(
    ("work", "tau", "save", "mtbf", "recovery"), [(1000, 50, 5, 100, 10), (30000, 120, 5, 1440, 10)]
)
def test_daly_printed_makespan(work, tau, save, mtbf, recovery):
    # M exp(R/M) (exp((tau + save)/M) - 1) T/tau: Daly 2006, no downtime, T/tau whole
    printed = mtbf * math.exp(recovery / mtbf) * (math.exp((tau + save) / mtbf) - 1) * work / tau
    found = blocking_makespan_s(work, tau, save, mtbf, recovery, 0.0, final_save=True)
    assert found == pytest.approx(printed)


@pytest.mark.parametrize("mtbf", [0.01, 1e-4])
def test_hopeless_segments_are_infinite_and_no_error(mtbf):
    assert blocking_segment_s(50, 5, mtbf, 10) == math.inf
    assert blocking_segment_s(50, 5, mtbf, 10, during_recovery=False) == math.inf
    assert async_cycle_s(50, 1, 5, mtbf, 10) == math.inf


def test_an_empty_segment_takes_no_time():
    assert blocking_segment_s(0.0, 0.0, 1e-4, 10.0) == 0.0


@pytest.mark.parametrize(
    ("work", "tau", "segments"),
    [
        (100, 50, 2),
        (101, 50, 3),
        (99, 50, 2),
        (10, 50, 1),
        (100, math.inf, 1),
        (2.1, 0.7, 3),  # the quotient is 3.0000000000000004
        (0.3, 0.1, 3),  # and here 2.9999999999999996
        (1e-12, 1.0, 1),
    ],
)
def test_segment_count(work, tau, segments):
    assert segment_count(work, tau) == segments


@pytest.mark.parametrize(
    ("work", "final_save", "saves"),
    [(100, False, 1), (100, True, 2), (110, False, 2), (110, True, 3), (40, False, 0)],
)
def test_number_of_blocking_saves(work, final_save, saves):
    found = blocking_makespan_s(work, 50, 5, math.inf, 10, 3, final_save=final_save)
    assert found == work + 5 * saves


def test_a_last_segment_may_be_shorter():
    expected = 2 * blocking_segment_s(50, 5, 100, 10, 3) + blocking_segment_s(20, 0, 100, 10, 3)
    assert blocking_makespan_s(120, 50, 5, 100, 10, 3) == pytest.approx(expected)


def test_never_saving_is_one_segment():
    expected = blocking_segment_s(300, 0, 100, 10, 3)
    assert blocking_makespan_s(300, math.inf, 5, 100, 10, 3) == expected
    with_save = blocking_makespan_s(300, math.inf, 5, 100, 10, 3, final_save=True)
    assert with_save == blocking_segment_s(300, 5, 100, 10, 3)


@given(recovery=st.floats(0.0, 100.0), down=st.floats(0.0, 100.0), mtbf=st.floats(10.0, 1e5))
def test_failures_in_recovery_only_cost_more(recovery, down, mtbf):
    both = [
        blocking_segment_s(50, 5, mtbf, recovery, down, during_recovery=during)
        for during in (False, True)
    ]
    assert both[0] <= both[1] * (1 + 1e-12)
    # A recovery whose failures restart it is one of (M + D)(exp(R/M) - 1) + D that can't fail.
    mean_s = (mtbf + down) * math.expm1(recovery / mtbf) + down
    assert both[1] == pytest.approx(
        blocking_segment_s(50, 5, mtbf, mean_s, during_recovery=False), rel=1e-9
    )


@pytest.mark.parametrize("mtbf", [1e9, 1e12, 1e15])
def test_rare_failures_keep_the_digits_of_the_overhead(mtbf):
    # To first order in 1/M: L + L (L/2 + R + D)/M.
    extra = blocking_segment_s(50, 5, mtbf, 10, 3) - 55
    assert extra == pytest.approx(55 * (55 / 2 + 13) / mtbf, rel=1e-3, abs=2e-14)


# T, tau, save, M, R, N, makespan, PLS (Monte-Carlo of the second: 1217.867 and 0.026782)
@pytest.mark.parametrize(
    "row",
    [(1000, 50, 5, 100, 13, 18, 1243.0, 0.0166667), (1000, 10, 1, 28, 3, 8, 1217.857, 0.0267857)],
)
def test_partial_table(row):
    work, tau, save, mtbf, recovery, servers, makespan, pls = row
    assert partial_makespan_s(work, tau, save, mtbf, recovery) == pytest.approx(makespan, rel=1e-6)
    assert mean_pls(tau, save, mtbf, servers) == pytest.approx(pls, rel=3e-6)


def test_partial_pls_is_a_fifth_over_cprs_form_for_saves_of_a_tenth():
    ratio = mean_pls(50, 5, 100, 18) / expected_pls(50, 100, 18)
    assert ratio == pytest.approx(1.2)


@given(tau=st.floats(1.0, 1e5), mtbf=st.floats(1.0, 1e7), servers_hit=st.integers(0, 18))
def test_partial_pls_is_cprs_form_for_free_saves(tau, mtbf, servers_hit):
    exact = mean_pls(tau, 0.0, mtbf, 18, servers_hit)
    assert exact == pytest.approx(expected_pls(tau, mtbf, 18, servers_hit))


def test_partial_forms_in_the_limits():
    assert partial_makespan_s(1000, 50, 5, math.inf, 13) == pytest.approx(1100)
    assert partial_makespan_s(1000, math.inf, 5, 100, 13) == pytest.approx(1130)
    assert partial_makespan_s(1000, math.inf, 5, math.inf, 13) == 1000
    assert mean_pls(50, 5, math.inf, 18) == 0.0
    assert mean_pls(math.inf, 5, math.inf, 18) == 0.0
    assert mean_pls(math.inf, 5, 100, 18) == math.inf


# tau, stall, persist, M, R + D, exact, Monte-Carlo (the last has three saves under way)
@pytest.mark.parametrize(
    ("arguments", "exact", "mean"),
    [
        ((60, 1, 40, 300, 12), 80.3841, 80.386),
        ((60, 0, 0, 300, 12), 69.0777, None),
        ((30, 2, 90, 300, 12), 47.4067, 47.414),
    ],
)
def test_async_table(arguments, exact, mean):
    found = async_cycle_s(*arguments)
    assert found == pytest.approx(exact, abs=5e-5)
    if mean is not None:
        assert found == pytest.approx(mean, abs=0.01)


@given(tau=st.floats(1.0, 500.0), save=st.floats(0.0, 50.0), mtbf=st.floats(50.0, 1e6))
def test_async_without_persist_is_blocking(tau, save, mtbf):
    blocking = blocking_segment_s(tau, save, mtbf, 12, during_recovery=False)
    assert async_cycle_s(tau, save, 0.0, mtbf, 12) == pytest.approx(blocking)


def play_async(rng, segments, spacing, persist):
    """One run by its failures: what a stretch of `age` seconds without one has committed."""
    mtbf, recovery = 150.0, 12.0
    clock, committed = 0.0, 0
    while True:
        age = rng.expovariate(1 / mtbf)
        done = (segments - committed) * spacing + persist
        if age >= done:
            return clock + done
        committed += max(0, math.floor((age - persist) / spacing))
        clock += age + recovery


@pytest.mark.parametrize("tau_persist", [(60, 40), (30, 90)])
def test_async_makespan_against_played_runs(tau_persist):
    tau, persist = tau_persist
    rng, runs = random.Random(20260), 40_000
    times = [play_async(rng, 5, tau + 2, persist) for _ in range(runs)]
    mean = sum(times) / runs
    deviation = math.sqrt(sum((time - mean) ** 2 for time in times) / runs)
    expected = async_makespan_s(5 * tau, tau, 2, persist, 150.0, 12.0)
    assert abs(mean - expected) < 3.5 * deviation / math.sqrt(runs)


def test_async_makespan_in_the_limits():
    assert async_makespan_s(300, 60, 2, 40, math.inf, 12) == 5 * 62 + 40
    # A run of one segment has to live through its work, its stall and its persist at once.
    one = blocking_segment_s(60, 42, 150, 12, during_recovery=False)
    assert async_makespan_s(60, 60, 2, 40, 150, 12) == pytest.approx(one)
    many = async_makespan_s(60e6, 60, 2, 40, 150, 12) / 1e6
    assert many == pytest.approx(async_cycle_s(60, 2, 40, 150, 12), rel=1e-5)


def test_async_without_persist_is_the_blocking_makespan():
    blocking = blocking_makespan_s(300, 60, 2, 150, 12, 0, during_recovery=False, final_save=True)
    assert async_makespan_s(300, 60, 2, 0, 150, 12) == pytest.approx(blocking)
