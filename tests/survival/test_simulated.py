import math
from itertools import islice

import numpy as np
import pytest

from cprsim.survival.fitted_laws import fit, simulated
from tests.survival.cases import CONTROLS, MIXED


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_simulated_samples_are_censored_as_the_sample_is():
    """All controls were watched for 135, so what fails is what is drawn below 135."""
    found = fit(CONTROLS, "weibull")
    samples = [*islice(simulated(CONTROLS, found.law, rng()), 200)]

    for like in samples:
        assert like.n == 96
        assert (like.durations_s[~like.observed] == 135).all()
    share = np.mean([like.failures / 96 for like in samples])
    expected = 1 - float(found.law.survival(np.array([135.0]))[0])
    assert share == pytest.approx(expected, abs=3 * math.sqrt(0.25 / 96 / 200))


def test_whoever_was_censored_is_watched_as_long_again():
    found = fit(MIXED, "exponential")
    like = next(simulated(MIXED, found.law, rng()))

    assert (like.durations_s <= np.where(MIXED.observed, np.inf, MIXED.durations_s)).all()
