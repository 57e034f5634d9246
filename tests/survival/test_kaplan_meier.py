import math
import warnings

import numpy as np
import pytest

from cprsim.errors import LogError
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample
from tests.survival.cases import BEARINGS, CONTROLS, MIXED, REMISSIONS


def test_remissions_as_lifelines_has_them():
    """Made once with lifelines 0.30.3, durations T and failures E as lists::

    km = KaplanMeierFitter().fit(T, E)
    km.event_table
    km.median_survival_time_
    restricted_mean_survival_time(km, t=35)
    """
    curve = KaplanMeier.from_sample(REMISSIONS)

    assert curve.times_s.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.at_risk.tolist() == [21, 17, 15, 12, 11, 7, 6]
    assert curve.failures.tolist() == [3, 1, 1, 1, 1, 1, 1]
    assert curve.quantile(0.5) == 23
    assert curve.restricted_mean_s == pytest.approx(23.287394957983185, rel=1e-12)


def random_sample() -> Sample:
    rng = np.random.default_rng(11)
    lasted, watched = rng.integers(1, 40, 300), rng.integers(1, 60, 300)
    return Sample(np.minimum(lasted, watched), lasted <= watched)


@pytest.mark.parametrize("sample", [BEARINGS, CONTROLS, MIXED, REMISSIONS, random_sample()])
def test_curve_and_band_are_those_of_scipy(sample):
    from scipy.stats import CensoredData, ecdf

    oracle = ecdf(CensoredData.right_censored(sample.durations_s, ~sample.observed)).sf
    with warnings.catch_warnings(action="ignore"):  # it warns where the curve is 0 or 1
        band = oracle.confidence_interval(0.95, method="log-log")
    curve = KaplanMeier.from_sample(sample)
    lower, upper = curve.band()

    t = oracle.quantiles
    assert curve.at(t) == pytest.approx(oracle.probabilities, abs=1e-12)
    steps = np.isin(t, curve.times_s)
    inside = curve.survival > 0  # where the curve is 0 SciPy gives nan or 0, by release
    assert lower[inside] == pytest.approx(band.low.probabilities[steps][inside], abs=1e-9)
    assert upper[inside] == pytest.approx(band.high.probabilities[steps][inside], abs=1e-9)
    assert np.isnan(lower[~inside]).all()
    assert np.isnan(upper[~inside]).all()


def test_quantiles_are_the_first_times_by_which_that_many_failed():
    curve = KaplanMeier.from_sample(Sample.complete([4.0, 1.0, 3.0, 2.0]))

    assert curve.quantile([0, 0.25, 0.2500001, 0.5, 0.75, 1]).tolist() == [0, 1, 2, 2, 3, 4]
    assert np.isnan(KaplanMeier.from_sample(REMISSIONS).quantile(0.6))


def test_nothing_failed_is_a_flat_curve():
    curve = KaplanMeier.from_sample(Sample(np.array([2.0, 5.0]), np.array([False, False])))

    assert curve.at([0, 2, 9]).tolist() == [1, 1, 1]
    assert np.isnan(curve.quantile(0.01))
    assert curve.restricted_mean_s == 5
    with pytest.raises(LogError, match=r"^nothing failed: there is no duration to draw$"):
        curve.durations(np.random.default_rng(0).random(3))


@pytest.mark.parametrize("sample", [BEARINGS, CONTROLS, MIXED, REMISSIONS])
def test_draws_follow_the_curve_and_then_its_exponential_tail(sample):
    n = 100_000
    curve = KaplanMeier.from_sample(sample)
    drawn = curve.durations(np.random.default_rng(2).random(n))
    left = float(curve.at(curve.last_s))

    for t in (*curve.times_s, curve.last_s):
        assert np.mean(drawn > t) == pytest.approx(float(curve.at(t)), abs=2.5 / math.sqrt(n))
    if left:
        for factor in (1.5, 2.0, 3.0):
            assert np.mean(drawn > factor * curve.last_s) == pytest.approx(
                left**factor, abs=2.5 / math.sqrt(n)
            )
    if sample is BEARINGS:  # all of them failed
        assert {*drawn.tolist()} == {*BEARINGS.durations_s.tolist()}
        assert curve.restricted_mean_s == pytest.approx(BEARINGS.mtbf_s, rel=1e-12)
    assert drawn.mean() == pytest.approx(
        mean_of(curve), rel=5 * drawn.std() / drawn.mean() / n**0.5
    )


def mean_of(curve: KaplanMeier) -> float:
    """Mean of what it draws: the area under the curve and under its tail."""
    left = float(curve.at(curve.last_s))
    tail_s = curve.last_s * left / -math.log(left) if 0 < left < 1 else 0.0
    return curve.restricted_mean_s + tail_s
