import numpy as np
import pytest

from cprsim.survival.kaplan_meier import hazard
from cprsim.survival.sample import Sample
from tests.survival.cases import CONTROLS, MIXED


def test_one_bin_is_failures_over_time_watched_with_garwoods_band():
    """Garwood's 95 % limits of a count of 19: 11.44 and 29.67 (Pearson and Hartley, table 40)."""
    found = hazard(MIXED, bins=1)

    assert found.edges_s.tolist() == [0, 53.3]
    assert found.failures.tolist() == [19]
    assert found.exposure_s[0] == pytest.approx(310.4, rel=1e-12)
    assert found.rate[0] == pytest.approx(1 / MIXED.mtbf_s, rel=1e-12)
    assert found.lower[0] * 310.4 == pytest.approx(11.44, abs=0.005)
    assert found.upper[0] * 310.4 == pytest.approx(29.67, abs=0.005)


def test_a_bin_without_failures_has_a_band_from_0():
    """Nothing fails from 3 to 100; the upper limit of a count of 0 is -log 0.025."""
    sample = Sample(np.array([1.0, 2.0, 3.0, 100.0]), np.array([True, True, True, False]))
    found = hazard(sample, bins=3)

    assert found.edges_s.tolist() == [0, 1, 2, 100]
    assert found.failures.tolist() == [1, 1, 1]
    assert found.exposure_s.tolist() == [4, 3, 99]


def test_failures_at_an_edge_belong_to_the_bin_that_ends_there():
    sample = Sample.complete([1.0, 1.0, 1.0, 2.0, 5.0, 5.0])
    found = hazard(sample, bins=2)

    assert found.edges_s.tolist() == [0, 1, 5]
    assert found.failures.tolist() == [3, 3]
    assert found.exposure_s.tolist() == [6, 1 + 4 + 4]


@pytest.mark.parametrize("sample", [MIXED, CONTROLS])
@pytest.mark.parametrize("bins", [1, 4, 11, None])
def test_bins_hold_every_failure_and_every_hour(sample, bins):
    found = hazard(sample, bins)

    assert found.failures.sum() == sample.failures
    assert found.exposure_s.sum() == pytest.approx(sample.durations_s.sum(), rel=1e-12)
    assert (found.lower < found.rate).all()
    assert (found.rate < found.upper).all()
    assert len(found.edges_s) == len(found.rate) + 1


def test_the_band_holds_the_rate_of_a_weibull_law():
    n, shape = 20_000, 0.6
    rng = np.random.default_rng(4)
    lasted, watched = rng.weibull(shape, n), rng.uniform(0, 4, n)
    sample = Sample(np.minimum(lasted, watched), lasted <= watched)
    found = hazard(sample)
    # Mean rate in a bin, up to how those at risk thin out within it.
    true = np.diff(found.edges_s**shape) / np.diff(found.edges_s)

    assert len(found.rate) == 20
    inner = slice(1, 19)  # at the ends a bin is too wide for that
    held = (found.lower < true) & (true < found.upper)
    assert held[inner].sum() >= 16
