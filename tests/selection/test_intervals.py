"""Intervals of means beside SciPy's, Hall's transformation, and Garwood's for rare failures."""

import math

import numpy as np
import pytest
from scipy import stats

from cprsim.runs.selection.intervals import LEAST_MET, intervals


def of(values, failed=None, miss=0.05, **more):
    values = np.atleast_2d(np.asarray(values, float))
    met = np.ones(values.shape, bool) if failed is None else np.atleast_2d(failed)
    found = intervals(values, met, miss, 1e-9, **more)
    return [float(each[0]) for each in found]


def test_symmetric_values_have_students_interval():
    half = np.random.default_rng(1).normal(0, 1, 20)
    values = np.concatenate([3 + half, 3 - half])  # no skewness at all
    mean, low, high, met = of(values)

    expected = stats.ttest_1samp(values, 0).confidence_interval()
    assert (low, high) == pytest.approx(tuple(expected))
    assert (mean, met) == (pytest.approx(3), 40)


def test_ends_undo_halls_transformation():
    values = np.random.default_rng(2).gamma(4.0, 1.0, 400)
    mean, low, high, _ = of(values)

    # Hall 1992: T + g T² / 3 + g² T³ / 27 + g / 6, g the skewness of the mean.
    g = stats.skew(values) / 20
    error = values.std() / math.sqrt(399)
    t = stats.t.ppf(0.975, 399)
    at_high = (mean - high) / error
    assert at_high + g * at_high**2 / 3 + g**2 * at_high**3 / 27 + g / 6 == pytest.approx(-t)
    assert low == pytest.approx(mean - t * error)  # Student's lies lower
    assert high > mean + t * error


@pytest.mark.parametrize("met", [20, 30, 60, 200])
@pytest.mark.parametrize("miss", [0.05, 0.005])
def test_rare_equal_losses_have_an_interval_no_narrower_than_garwoods(met, miss):
    n = 20_000
    values = (np.arange(n) < met).astype(float)
    _, low, high, counted = of(values, values > 0, miss)

    exact = stats.chi2.ppf([miss / 2, 1 - miss / 2], [2 * met, 2 * met + 2]) / 2
    assert counted == met
    assert n * low <= exact[0]
    assert exact[1] - 0.6 <= n * high  # half of one failure: Garwood's is itself on the safe side
    if met >= 60:  # what the safety costs
        assert n * (high - low) <= 1.6 * (exact[1] - exact[0])


def test_skewed_values_in_small_numbers_have_wider_ends():
    values = np.random.default_rng(3).lognormal(0, 1, 30)
    mean, low, _, _ = of(values)

    skewness = stats.skew(values)
    assert 25 * skewness**2 > 30
    wider = math.sqrt(25 * skewness**2 / 30)  # Cochran's n
    student = stats.t.ppf(0.975, 29) * stats.sem(values)
    assert mean - low == pytest.approx(wider * student, rel=1e-6)


@pytest.mark.parametrize("met", [0, 1, LEAST_MET - 1])
def test_too_few_failures_tell_nothing(met):
    failed = np.arange(1000) < met
    values = np.where(failed, 0.5, 0.01)

    assert of(values, failed)[1:] == [-math.inf, math.inf, met]
    enough = np.arange(1000) < LEAST_MET
    assert math.isfinite(of(np.where(enough, 0.5, 0.01), enough)[1])


def test_too_few_that_differ_tell_nothing_though_many_failed():
    for few in (1, LEAST_MET - 1):
        values = np.where(np.arange(1000) < few, 0.5, 0.01)
        assert of(values)[1:] == [-math.inf, math.inf, few]
    assert math.isfinite(of(np.where(np.arange(1000) < LEAST_MET, 0.5, 0.01))[1])


def test_equal_values_are_a_point_once_enough_failed_or_where_nothing_can():
    values = np.full(40, 0.3)

    assert of(values) == pytest.approx([0.3, 0.3, 0.3, 40])
    assert of(values, np.zeros(40, bool))[1:] == [-math.inf, math.inf, 0]
    assert of(values, np.zeros(40, bool), can_fail=False)[:3] == pytest.approx([0.3] * 3)
    assert of(values[:1], np.zeros(1, bool), can_fail=False)[:3] == pytest.approx([0.3] * 3)


def test_rounding_is_no_difference():
    values = 0.3 + 1e-11 * np.arange(40)

    mean, low, high, _ = of(values)
    assert low == mean == high
