"""Announced failures: beside Young's form, and the exact renewal form beside the first order."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s
from tests.formulas.forms import announced_goodput, predicted_interval_s, predicted_waste


def test_the_interval_of_aupy_robert_and_vivien():
    assert predicted_interval_s(10.0, 1e4, 0.0) == young_interval_s(10.0, 1e4)
    assert predicted_interval_s(10.0, 1e4, 0.75) == pytest.approx(2 * young_interval_s(10.0, 1e4))
    assert predicted_interval_s(10.0, 1e4, 1.0) == math.inf


@given(st.floats(0.0, 0.95), st.floats(0.0, 1e-3), st.floats(0.3, 3.0))
def test_it_wastes_least(recall, alarms, factor):
    best_s = predicted_interval_s(10.0, 1e5, recall)
    least = predicted_waste(best_s, 10.0, 1e5, 50.0, recall, alarms)
    assert predicted_waste(best_s * factor, 10.0, 1e5, 50.0, recall, alarms) >= least * (1 - 1e-12)


@given(st.floats(1.0, 1e3), st.floats(0.1, 50.0), st.floats(50.0, 1e5), st.floats(0.0, 500.0))
def test_without_notices_it_is_full_recovery(interval_s, save_s, mtbf_s, recovery_s):
    segment_s = blocking_segment_s(interval_s, save_s, mtbf_s, 0.0, recovery_s)
    found = announced_goodput(interval_s, save_s, mtbf_s, recovery_s, 0.0)
    assert found == pytest.approx(interval_s / segment_s, rel=1e-9)


@given(st.floats(0.0, 1.0), st.floats(0.0, 2.0))
def test_what_is_rare_goes_as_the_first_order_says(recall, alarms_per_failure):
    """A save that a notice asked for begins the interval anew, so half a one less follows it."""
    save_s, mtbf_s, recovery_s = 1.0, 1e7, 30.0
    alarms = alarms_per_failure / mtbf_s
    interval_s = 1000.0
    exact = announced_goodput(interval_s, save_s, mtbf_s, recovery_s, recall, alarms)
    waste = predicted_waste(interval_s, save_s, mtbf_s, recovery_s, recall, alarms)
    assert 1 / exact - 1 == pytest.approx(waste, rel=1e-3)
