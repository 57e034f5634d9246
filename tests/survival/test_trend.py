"""Trends of failure times: published cases, and what chance makes of none."""

import math

import numpy as np
import pytest

from cprsim.failures.logs.traces import read_lanl
from cprsim.survival.order import trend
from tests.survival.cases import LANL, needs_lanl


def test_by_hand():
    """Times 1 to 40 of 80: all in the first half."""
    times = np.arange(1.0, 41.0) + np.tile([0.0, 0.25], 20)
    found = trend(times, 80.0)
    assert found is not None
    gaps = np.diff(times)
    laplace = (times.mean() / 80 - 0.5) * math.sqrt(12 * 40)
    assert found.z == pytest.approx(laplace * gaps.mean() / gaps.std(ddof=1))
    assert found.shape == pytest.approx(40 / np.log(80 / times).sum())
    # 2 n shape / estimate is chi-square with 2 n degrees of freedom: of 80, 57.15 and 106.63.
    low, high = found.shape_interval
    assert low / found.shape == pytest.approx(57.153 / 80, rel=1e-4)
    assert high / found.shape == pytest.approx(106.629 / 80, rel=1e-4)
    assert found.is_sure
    # A failure at either end of the watch tells nothing: logs start and end with one.
    assert trend(np.concatenate([[0.0], times, [80.0]]), 80.0) == found


def test_few_or_equal_gaps_tell_nothing():
    assert trend(np.arange(1.0, 21.0), 30.0) is None
    assert trend(np.arange(1.0, 41.0), 50.0) is None


@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
def test_a_renewal_process_has_no_trend_whatever_its_law(shape: float):
    """Of 400 the statistic has deviation 1, within 5 / sqrt(2 n), and passes 3 in 0.27 %."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(400):
        gaps = rng.gamma(shape, 1 / shape, 800)
        times = np.cumsum(gaps) - gaps[0] * rng.random()
        within = trend(times[times < 500.0], 500.0)
        assert within is not None
        found.append(within.z)
    assert abs(np.mean(found)) < 5 / math.sqrt(400)
    assert np.std(found) == pytest.approx(1.0, abs=5 / math.sqrt(800))
    assert sum(abs(z) > 3 for z in found) <= 6  # more with a chance below 0.2 %


def test_a_power_law_is_found_again():
    """Failures of rate proportional to t to 0.5 - 1: shape 0.5 within 5 / sqrt(n)."""
    rng = np.random.default_rng(5)
    times = np.sort(1000 * rng.random(2000) ** (1 / 0.5))
    found = trend(times, 1000.0)
    assert found is not None
    assert abs(found.shape / 0.5 - 1) < 5 / math.sqrt(2000)
    assert found.shape_interval[0] < 0.5 < found.shape_interval[1]
    assert found.z < -10


@needs_lanl
def test_lanl_20_fails_less_often_as_it_ages():
    log = read_lanl(LANL, 20)
    found = trend(log.times_s - log.start_s, log.span_s)
    assert found is not None
    assert found.is_sure
    assert found.shape < 0.9
    later = log.part((0.5, 1.0))
    of_later = trend(later.times_s - later.start_s, later.span_s)
    assert of_later is not None
    assert abs(of_later.z) < abs(found.z)
