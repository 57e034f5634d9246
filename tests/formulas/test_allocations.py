"""Jobs in several allocations, beside cases that are known otherwise."""

import math

import pytest

from cprsim.formulas.makespan import blocking_segment_s, growth
from tests.formulas.forms import allocated_goodput, allocated_makespan_s


def test_one_long_allocation_is_a_job_as_any():
    parts = {"load_s": 9.0, "schedule_s": 100.0, "cold_s": 50.0, "warm_s": 9.0, "shutdown_s": 7.0}
    assert allocated_makespan_s(1000.0, 100.0, 1e6, 2.0, **parts) == 157 + 1000 + 9 * 2


def test_an_allocation_each_interval_by_hand():
    """Each holds its nodes for 100 s, of which 60 s are trained."""
    parts = {"load_s": 10.0, "schedule_s": 5.0, "cold_s": 20.0, "warm_s": 20.0, "shutdown_s": 3.0}
    found_s = allocated_makespan_s(180.0, 1000.0, 100.0, 7.0, **parts)
    assert found_s == (105) + (105) + (5 + 30 + 50 + 3)


def test_what_leaves_no_time_to_train_is_refused():
    with pytest.raises(ValueError, match=r"allocation_s = 30\.0 leaves no time to train"):
        allocated_makespan_s(100.0, 10.0, 30.0, 10.0, cold_s=20.0)


def test_without_failures_the_goodput_is_that_of_the_makespan():
    common = {"schedule_s": 50.0, "shutdown_s": 5.0}
    more_s = {"load_s": 20.0, "cold_s": 30.0, "warm_s": 30.0}
    one, other = (
        allocated_makespan_s(useful_s, 100.0, 1000.0, 8.0, **more_s, **common)
        for useful_s in (1e5, 3e5)
    )
    found = allocated_goodput(100.0, 1000.0, 8.0, 1e12, 0.0, 50.0, **common)
    assert found == pytest.approx(2e5 / (other - one), rel=2e-3)  # of up to one allocation in 230


def test_what_survives_where_saves_and_recoveries_take_no_time():
    """The training since the last failure, of an allocation that has no other save."""
    found = allocated_goodput(1e4, 900.0, 0.0, 500.0, 0.0, 0.0, 0.0, 100.0)
    assert found == pytest.approx(500 * (1 - math.exp(-900 / 500)) / 1000, rel=1e-4)


@pytest.mark.slow
def test_a_very_long_allocation_is_a_job_without():
    found = allocated_goodput(100.0, 1e4, 10.0, 1000.0, 50.0, 0.0, 0.0, 0.0)
    segment_s = blocking_segment_s(100.0, 10.0, 1000.0, 0.0, 50.0)
    assert segment_s == pytest.approx(1050 * growth(110 / 1000))
    assert found == pytest.approx(100.0 / segment_s, rel=5e-3)  # of an interval in the last of 70
