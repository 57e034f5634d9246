"""CPR's portion of lost samples, to first order."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.closed_form.cpr import expected_pls
from cprsim.closed_form.intervals import pls_interval_s
from cprsim.contract import rules

HOUR = 3600.0
DAY = 86_400.0


def test_expected_pls_of_monolith():
    # arXiv 2209.07663: 0.01 % failures a day on each of 1000 servers, daily snapshots
    assert expected_pls(DAY, DAY / 0.1, 1000) == pytest.approx(5e-5)


@given(
    target=st.floats(1e-4, 1.0),
    mtbf_s=st.floats(1.0, 1e8),
    servers=st.integers(1, 1000),
    share=st.floats(0.01, 1.0),
)
def test_expected_pls_inverts_the_pls_interval(target, mtbf_s, servers, share):
    servers_hit = share * servers
    interval_s = pls_interval_s(target, mtbf_s, servers, servers_hit)
    assert expected_pls(interval_s, mtbf_s, servers, servers_hit) == pytest.approx(target)


def test_expected_pls_is_the_mean_increment_times_the_failures():
    # 2 failures in 56 h, each with a save of mean age half an interval: (E4) of one server of 8
    interval_s = 44.8 * HOUR
    summed = 2 * rules.r23_lost(interval_s / 2, 0.0) / rules.r23_all(56 * HOUR, 8)
    assert summed == pytest.approx(expected_pls(interval_s, 28 * HOUR, servers=8))
    assert summed == pytest.approx(0.1)


def test_limits():
    assert expected_pls(100.0, math.inf, 8) == 0.0
    assert expected_pls(math.inf, math.inf, 8) == 0.0
    assert expected_pls(math.inf, 1000.0, 8) == math.inf
    assert expected_pls(math.inf, 1000.0, 8, servers_hit=0) == 0.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: expected_pls(0.0, 1.0, 8), "interval_s must be > 0, got 0.0"),
        (lambda: expected_pls(1, -1.0, 8), "mtbf_s must be > 0, got -1.0"),
        (lambda: expected_pls(1, 1, 0), "servers must be >= 1, got 0"),
    ],
)
def test_refused_values(call, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        call()
