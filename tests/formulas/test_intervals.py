"""Intervals against printed figures, and against the costs they claim to minimise."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cprsim.formulas.intervals import (
    checkfreq_settled,
    checkfreq_steps,
    exact_interval_s,
    young_interval_s,
)
from cprsim.formulas.makespan import blocking_segment_s
from cprsim.formulas.pls import pls_interval_s
from tests.formulas.forms import daly_higher_order_interval_s

MINUTE = 60.0
HOUR = 3600.0

OPTIMA = [young_interval_s, daly_higher_order_interval_s, exact_interval_s]


def cost(interval_s, save_s, mtbf_s):
    """Expected wall time per unit of work; the recovery is a factor that no optimum sees."""
    return blocking_segment_s(interval_s, save_s, mtbf_s, recovery_s=0.0) / interval_s


# Daly, FGCS 22 (2006), captions of figures 3 to 5: save 5 min, recovery 10 min, work 500 h.
@pytest.mark.parametrize(
    ("mtbf_s", "printed_min", "exact_min", "higher_order_min"),
    [
        (24 * HOUR, "117", 116.69, 116.69),
        (6 * HOUR, "57", 56.71, 56.71),
        (15 * MINUTE, "9.1", 9.17, 9.14),
    ],
)
def test_daly_printed_cases(mtbf_s, printed_min, exact_min, higher_order_min):
    higher_order = daly_higher_order_interval_s(5 * MINUTE, mtbf_s) / MINUTE
    assert higher_order == pytest.approx(higher_order_min, abs=0.005)
    assert exact_interval_s(5 * MINUTE, mtbf_s) / MINUTE == pytest.approx(exact_min, abs=0.005)
    decimals = len(printed_min.partition(".")[2])
    assert round(higher_order, decimals) == float(printed_min)


# sqrt(2 * 5.62 min * 28 h): the calibrated CPR sets of the project's notes, section 1.9.
@pytest.mark.parametrize(("save_min", "hours"), [(5.62, 2.29), (4.99, 2.16)])
def test_young_gives_cpr_full_recovery_interval(save_min, hours):
    assert young_interval_s(save_min * MINUTE, 28 * HOUR) / HOUR == pytest.approx(hours, abs=0.005)


# Kokolis et al. (HPCA'25), RSC-1: 6.50 failures per 1000 node-days, 8 GPUs a node, save 5 min.
@pytest.mark.parametrize(
    ("gpus", "minutes"), [(2048, 93.0), (4096, 65.8), (8192, 46.5), (16384, 32.9)]
)
def test_young_gives_meta_interval(gpus, minutes):
    mtbf_s = 86_400 / (gpus / 8 * 6.50e-3)
    assert young_interval_s(5 * MINUTE, mtbf_s) / MINUTE == pytest.approx(minutes, abs=0.05)


@given(st.floats(1e-6, 1.999))
def test_daly_higher_order_costs_2_permille_at_most(ratio):
    best = cost(exact_interval_s(ratio, 1.0), ratio, 1.0)
    assert cost(daly_higher_order_interval_s(ratio, 1.0), ratio, 1.0) <= 1.002 * best


@given(
    save_s=st.floats(1e-3, 1e5),
    mtbf_s=st.floats(1.0, 1e8),
    factor=st.floats(0.05, 20.0),
    recovery_s=st.floats(0.0, 1e3),
    during_recovery=st.booleans(),
)
def test_exact_interval_minimises_time_per_work(
    save_s, mtbf_s, factor, recovery_s, during_recovery
):
    best_s = exact_interval_s(save_s, mtbf_s)

    def time_per_work(interval_s):
        return (
            blocking_segment_s(
                interval_s, save_s, mtbf_s, recovery_s, during_recovery=during_recovery
            )
            / interval_s
        )

    assert time_per_work(best_s) <= time_per_work(best_s * factor) * (1 + 1e-12)


@given(st.floats(1e-12, 50.0))
@example(9.99e-7)  # last ratio of the series
@example(1.01e-6)  # first of Lambert's W
def test_exact_interval_solves_the_optimality_condition(ratio):
    # d/dtau of (exp((tau + save)/M) - 1)/tau is zero where log(1 - y) + y + save/M = 0, y = tau/M.
    y = exact_interval_s(ratio, 1.0)
    assert 0 < y <= 1
    if y < 0.999:  # nearer to 1 the logarithm amplifies the last digit
        rounding = 1e-15 * y / ratio  # of log1p(-y) + y, two numbers of size y
        assert math.log1p(-y) + y == pytest.approx(-ratio, rel=1e-7 + rounding)


@pytest.mark.parametrize("ratio", [1e-15, 1e-12, 1e-10])
def test_exact_interval_keeps_its_digits_for_tiny_saves(ratio):
    # Daly's series is exact up to ratio**1.5, here below the last digit.
    expected = daly_higher_order_interval_s(ratio, 1.0)
    assert exact_interval_s(ratio, 1.0) == pytest.approx(expected, rel=1e-13)


def test_exact_interval_tends_to_the_mtbf_for_dear_saves():
    assert exact_interval_s(1e6, 100.0) == pytest.approx(100.0)


def test_the_exact_optimum_tends_to_young_for_cheap_saves():
    assert exact_interval_s(1e-6, 1e6) == pytest.approx(young_interval_s(1e-6, 1e6), rel=1e-5)


@pytest.mark.parametrize("interval", OPTIMA)
def test_no_failures_no_saves(interval):
    assert interval(10.0, math.inf) == math.inf
    assert interval(0.0, math.inf) == math.inf


@pytest.mark.parametrize("interval", OPTIMA)
def test_free_saves_are_taken_all_the_time(interval):
    assert interval(0.0, 100.0) == 0.0


# Notes on CPR, section 1.9: T_fail 28 h, 8 servers, PLS 0.1; with 4 of the 8 down at once, 11.2 h.
@pytest.mark.parametrize(("servers_hit", "hours"), [((), 44.8), ((1,), 44.8), ((4,), 11.2)])
def test_pls_interval_of_the_calibrated_set(servers_hit, hours):
    assert pls_interval_s(0.1, 28 * HOUR, 8, *servers_hit) / HOUR == pytest.approx(hours)


def test_pls_interval_is_infinite_where_nothing_can_be_lost():
    assert pls_interval_s(0.1, math.inf, 8) == math.inf
    assert pls_interval_s(0.1, 28 * HOUR, 8, servers_hit=0) == math.inf


def test_checkfreq_by_hand():
    # (10 - 2) / 0.3 = 26.7; with the GPU snapshot (10 - 0.5) / 0.3 = 31.7
    assert checkfreq_steps(10.0, 0.3, 2.0) == 27
    assert checkfreq_steps(10.0, 0.3, 2.0, 0.5) == 32
    assert checkfreq_steps(10.0, 0.3, 2.0, 3.0) == 27
    assert checkfreq_steps(10.0, 2.0, 2.0) == 4
    assert checkfreq_steps(1.0, 5.0, 1.0) == 1
    assert checkfreq_steps(1.0, 5.0, 20.0) == 1


@pytest.mark.parametrize("step_s", [0.07, 0.9, 4.0])
def test_checkfreq_is_the_shortest_interval_that_persists_in_time(step_s):
    steps = checkfreq_steps(7.3, step_s, 0.4)
    assert steps * step_s >= 7.3 - 0.4
    assert steps == 1 or (steps - 1) * step_s < 7.3 - 0.4


def test_settled_steps_by_hand():
    # 2 s are 5 % of 40 steps of 1 s, whatever it starts from below them.
    assert checkfreq_settled(10, 1.0, 2.0) == 40
    assert checkfreq_settled(11, 1.0, 2.0) == 41
    assert checkfreq_settled(50, 1.0, 2.0) == 50
    assert checkfreq_settled(1, 0.1, 0.7, max_overhead=0.1, more=3) == 70
    assert checkfreq_settled(3, 2.0, 0.0) == 3


@pytest.mark.parametrize("stall_s", [0.03, 0.7, 2.0, 11.0])
@pytest.mark.parametrize("first", [1, 8, 9])
def test_settled_steps_are_where_adding_two_at_a_time_stops(first, stall_s):
    steps = first
    while stall_s / (steps * 0.3) > 0.035:
        steps += 2
    assert checkfreq_settled(first, 0.3, stall_s, 0.035) == steps
