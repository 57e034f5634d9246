"""The mean PLS of a whole job, and the interval that keeps to a target."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cprsim.formulas.pls import least_pls, mean_age_s, mean_pls, mean_pls_interval_s, pls_interval_s

JOBS = {
    "save_s": st.floats(0.0, 500.0),
    "mtbf_s": st.floats(100.0, 1e5),
    "servers": st.integers(1, 64),
    "useful_time_s": st.one_of(st.just(math.inf), st.floats(1e4, 1e6)),
}


def age_second_by_second_s(interval_s: int, save_s: int, useful_time_s: int) -> float:
    """The age in the middle of each second of wall clock, added up by walking through the job."""
    total = trained = since = 0.0
    while trained < useful_time_s:
        total += since + 0.5
        trained, since = trained + 1, since + 1
        if since == interval_s and trained < useful_time_s:
            total += save_s * since
            since = 0.0
    return total / useful_time_s


@pytest.mark.parametrize("interval_s", [1, 7, 30, 49, 50, 51, 99, 100, 101])
def test_the_mean_age_is_that_of_a_walk_through_the_job(interval_s: int) -> None:
    walked_s = age_second_by_second_s(interval_s, 5, 100)
    assert mean_age_s(interval_s, 5, 100) == pytest.approx(walked_s, rel=1e-12)


@given(target=st.floats(1e-4, 1.0), **JOBS)
def test_at_the_interval_the_mean_is_the_target(
    target: float, save_s: float, mtbf_s: float, servers: int, useful_time_s: float
) -> None:
    job = save_s, mtbf_s, servers
    interval_s = mean_pls_interval_s(target, *job, 1.0, useful_time_s)

    if interval_s == 0:
        assert least_pls(*job) >= target
        return
    found = mean_pls(interval_s, *job, 1.0, useful_time_s)
    if interval_s >= useful_time_s:
        assert found <= target * (1 + 1e-12)
        return
    # An interval that divides the job leaves out the save at its end, so on one side it jumps.
    assume(abs(useful_time_s / interval_s % 1 - 0.5) < 0.5 - 1e-6 or math.isinf(useful_time_s))
    assert found == pytest.approx(target, rel=1e-6)
    for longer in np.geomspace(1.001, 50, 30):
        assert mean_pls(interval_s * longer, *job, 1.0, useful_time_s) > target * (1 - 1e-9)


@given(target=st.floats(1e-4, 0.5), mtbf_s=st.floats(1.0, 1e7), hit=st.integers(0, 18))
def test_where_saves_are_free_and_jobs_long_it_is_e6(
    target: float, mtbf_s: float, hit: int
) -> None:
    found_s = mean_pls_interval_s(target, 0.0, mtbf_s, 18, hit)
    assert found_s == pytest.approx(pls_interval_s(target, mtbf_s, 18, hit))


def test_where_no_interval_keeps_to_it() -> None:
    # A failure every 100 s, each in a save of 5 s or after it: 5 / 100 / 8 at least.
    assert least_pls(5.0, 100.0, 8) == pytest.approx(0.00625)
    assert mean_pls_interval_s(0.00625, 5.0, 100.0, 8) == 0.0
    assert mean_pls_interval_s(0.0063, 5.0, 100.0, 8) == pytest.approx(0.08)


def test_where_no_save_is_needed() -> None:
    # At half of a job of 100 s a failure loses 50 s; twice that are allowed.
    assert mean_pls_interval_s(0.5, 5.0, 100.0, 1, 1.0, 100.0) == 100.0
    assert mean_pls_interval_s(1.0, 5.0, 100.0, 1, 1.0, 100.0) == 200.0
    assert mean_pls_interval_s(0.1, 5.0, math.inf, 8) == math.inf
    assert mean_pls_interval_s(0.1, 5.0, 100.0, 8, 0.0) == math.inf
