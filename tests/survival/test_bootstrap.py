import math

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.survival.bootstrap import Simulated, bootstrap
from cprsim.survival.fit import fit
from cprsim.survival.sample import Sample
from tests.survival.cases import BEARINGS, CONTROLS, MIXED


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", ["exponential", "gamma", "weibull", "lognormal"])
@pytest.mark.parametrize("sample", [BEARINGS, CONTROLS], ids=["complete", "censored"])
def test_errors_agree_with_those_from_the_information(name, sample):
    found = fit(sample, name)
    again = bootstrap(sample, found, rng(), 100)

    # Known to 1 / sqrt(2 x 100), and of 23 failures the information is but the leading term.
    assert again.mean_se_s == pytest.approx(found.mean_se_s, rel=0.35)
    if name == "exponential":
        assert again.shape_se is again.shape_interval() is None
    else:
        assert again.shape_se == pytest.approx(found.shape_se, rel=0.5)
        low, high = again.shape_interval()
        assert low < (found.law.shape or found.law.cv) < high
    low, high = again.mean_interval_s()
    assert low < found.law.mean_s < high
    inner = again.mean_interval_s(0.5)
    assert low < inner[0] < inner[1] < high


def test_the_same_seed_gives_the_same_bootstrap():
    found = fit(MIXED, "weibull")
    once, twice = (bootstrap(MIXED, found, rng(), 5) for _ in range(2))

    assert once.means_s.tolist() == twice.means_s.tolist()
    assert once.shapes.tolist() == twice.shapes.tolist()


def test_simulated_samples_are_censored_as_the_sample_is():
    """All controls were watched for 135, so what fails is what is drawn below 135."""
    found = fit(CONTROLS, "weibull")
    draws, random = Simulated(CONTROLS, found.law), rng()
    samples = [draws.sample(random) for _ in range(200)]

    for like in samples:
        assert like.n == 96
        assert (like.durations_s[~like.observed] == 135).all()
    share = np.mean([like.failures / 96 for like in samples])
    expected = 1 - float(found.law.survival(np.array([135.0]))[0])
    assert share == pytest.approx(expected, abs=3 * math.sqrt(0.25 / 96 / 200))


def test_whoever_was_censored_is_watched_as_long_again():
    found = fit(MIXED, "exponential")
    like = Simulated(MIXED, found.law).sample(rng())

    assert (like.durations_s <= np.where(MIXED.observed, np.inf, MIXED.durations_s)).all()


def test_samples_that_cannot_be_fitted_are_counted():
    """Twelve failures expected: some samples have under ten."""
    sample = Sample(np.full(24, 5.0) + np.arange(24) / 100, np.arange(24) < 12)
    again = bootstrap(sample, fit(sample, "exponential"), rng(), 50)

    assert again.failed > 0
    assert again.failed + len(again.means_s) == 50


def test_faults():
    found = fit(BEARINGS, "gamma")

    with pytest.raises(UsageError, match=r"^replications is 1; a spread needs 2 or more$"):
        bootstrap(BEARINGS, found, rng(), 1)
    with pytest.raises(UsageError, match=r"^level is 1; it is a share between 0 and 1, e.g. 0.95$"):
        bootstrap(BEARINGS, found, rng(), 2).mean_interval_s(1.0)
