"""Renewal goodput against the table of `systems.md`, section 3.4, and laws with a known sum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.validation.formulas import async_cycle_s, renewal_goodput

# tau, stall, persist, recovery and downtime, M of the whole table
TABLE = (60.0, 2.0, 30.0, 15.0, 600.0)


def weibull(shape, mean_s):
    scale_s = mean_s / math.gamma(1 + 1 / shape)
    return lambda time_s: np.exp(-((time_s / scale_s) ** shape))


def gamma_law(shape, mean_s):
    from scipy.special import gammaincc

    return lambda time_s: gammaincc(shape, np.asarray(time_s) * shape / mean_s)


@pytest.mark.parametrize(
    ("shape", "goodput"),
    [(0.5, 0.87209), (0.7, 0.85999), (1.0, 0.85249), (1.5, 0.84904), (3.0, 0.84816)],
)
def test_weibull_table(shape, goodput):
    found = renewal_goodput(*TABLE, weibull(shape, 600.0))
    assert found == pytest.approx(goodput, abs=5e-6)


@pytest.mark.parametrize(("stages", "goodput"), [(2, 0.84861), (4, 0.84816)])
def test_erlang_table(stages, goodput):
    found = renewal_goodput(*TABLE, gamma_law(stages, 600.0))
    assert found == pytest.approx(goodput, abs=5e-6)


def test_gamma_of_shape_a_half():
    # Its survival is erfc(sqrt(t/2M)), summed here term by term. The table's 0.86287 is played and
    # too low by 9e-4: short runs are biased, and 20 million failures give 0.86379 +- 0.00003.
    expected = sum(math.erfc(math.sqrt((62 * i + 30) / 1200)) for i in range(1, 2000)) * 60 / 615
    assert expected == pytest.approx(0.86378, abs=5e-6)
    assert renewal_goodput(*TABLE, gamma_law(0.5, 600.0)) == pytest.approx(expected, rel=1e-12)


def test_deterministic_table():
    # The 9th save commits at 9 * 62 + 30 = 588 s, the 10th would at 650: 9 * 60 / 615.
    found = renewal_goodput(*TABLE, lambda time_s: (time_s <= 600) * 1.0)
    assert found == pytest.approx(0.87805, abs=5e-6)
    assert found == pytest.approx(540 / 615, rel=1e-14)


@given(
    tau=st.floats(1.0, 1e3),
    stall=st.floats(0.0, 50.0),
    persist=st.floats(0.0, 500.0),
    recovery=st.floats(0.0, 500.0),
    mtbf=st.floats(10.0, 1e5),
)
def test_weibull_of_shape_one_is_the_exponential_cycle(tau, stall, persist, recovery, mtbf):
    found = renewal_goodput(tau, stall, persist, recovery, mtbf, weibull(1.0, mtbf))
    assert found == pytest.approx(
        tau / async_cycle_s(tau, stall, persist, mtbf, recovery), rel=1e-9
    )


def test_free_and_constant_saving_loses_nothing_but_recoveries():
    # tau sum S(i tau) tends to the integral of the survival, the mean
    found = renewal_goodput(0.01, 0.0, 0.0, 30.0, 600.0, weibull(0.7, 600.0))
    assert found == pytest.approx(600 / 630, rel=1e-4)


def test_a_steep_law_overflows_to_zero_in_silence():
    found = renewal_goodput(*TABLE, weibull(200.0, 600.0))
    assert found == pytest.approx(540 / 615, rel=0.01)
