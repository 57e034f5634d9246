"""Exact wall times against the tables of `systems.md`, sections 1 and 3.2-3.3.

Those tables were derived by hand and agree with a Monte-Carlo of single events, written apart from
this code; its mean and standard error stand beside each figure.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.formulas.makespan import blocking_makespan_s, blocking_segment_s, segment_count
from cprsim.formulas.pls import expected_pls, mean_pls

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


# tau, save, M, N, PLS (Monte-Carlo of the second: 0.026782)
@pytest.mark.parametrize("row", [(50, 5, 100, 18, 0.0166667), (10, 1, 28, 8, 0.0267857)])
def test_partial_table(row):
    *arguments, pls = row
    assert mean_pls(*arguments) == pytest.approx(pls, rel=3e-6)


def test_partial_pls_is_a_fifth_over_cprs_form_for_saves_of_a_tenth():
    ratio = mean_pls(50, 5, 100, 18) / expected_pls(50, 100, 18)
    assert ratio == pytest.approx(1.2)


@given(tau=st.floats(1.0, 1e5), mtbf=st.floats(1.0, 1e7), servers_hit=st.integers(0, 18))
def test_partial_pls_is_cprs_form_for_free_saves(tau, mtbf, servers_hit):
    exact = mean_pls(tau, 0.0, mtbf, 18, servers_hit)
    assert exact == pytest.approx(expected_pls(tau, mtbf, 18, servers_hit))


def test_partial_pls_in_the_limits():
    assert mean_pls(50, 5, math.inf, 18) == 0.0
    assert mean_pls(math.inf, 5, math.inf, 18) == 0.0
    assert mean_pls(math.inf, 5, 100, 18) == math.inf
