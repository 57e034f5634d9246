import math

import numpy as np
import pytest

from cprsim.errors import LogError
from cprsim.survival.fitted_laws import fit, fit_all
from cprsim.survival.sample import Sample

LAWS = ("exponential", "gamma", "weibull", "lognormal")


@pytest.mark.parametrize(
    ("failures", "text"),
    [
        (0, "0 durations that end in a failure are too few to fit a law; 10 are needed"),
        (1, "1 duration that ends in a failure is too few to fit a law; 10 are needed"),
        (7, "7 durations that end in a failure are too few to fit a law; 10 are needed"),
        (9, "9 durations that end in a failure are too few to fit a law; 10 are needed"),
    ],
)
def test_under_10_failures_nothing_is_fitted(failures, text):
    sample = Sample(np.arange(1.0, 101), np.arange(100) < failures)

    for attempt in (lambda: fit_all(sample), *(lambda law=law: fit(sample, law) for law in LAWS)):
        with pytest.raises(LogError) as caught:
            attempt()
        assert str(caught.value) == text


def test_10_failures_are_enough():
    assert len(fit_all(Sample(np.arange(1.0, 2001), np.arange(2000) < 10))) == 4


def test_durations_all_alike_have_no_spread():
    text = (
        "all 12 failures came after 3600 s, to 0.01 %: "
        "there is no spread to fit a law to; use distribution = 'deterministic'"
    )
    shorter = np.concatenate((np.full(12, 3600.0), np.full(5, 900.0)))
    for sample in (Sample.complete(np.full(12, 3600.0)), Sample(shorter, np.arange(17) < 12)):
        for attempt in (lambda s=sample: fit_all(s), lambda s=sample: fit(s, "gamma")):
            with pytest.raises(LogError) as caught:
                attempt()
            assert str(caught.value) == text
    assert fit(Sample.complete(np.full(12, 3600.0)), "exponential").law.mean_s == 3600


def test_failures_all_alike_but_outlived_by_others_can_be_fitted():
    durations = np.concatenate((np.full(12, 1.0), np.full(5, 4.0)))
    fits = fit_all(Sample(durations, np.arange(17) < 12))

    assert len(fits) == 4
    assert all(0 < found.law.mean_s < 10 for found in fits)


def test_nearly_alike_durations_give_a_steep_law():
    x = 100 + np.random.default_rng(0).normal(0, 0.1, 500)
    laws = {found.law.distribution: found.law for found in fit_all(Sample.complete(x))}
    cv = x.std() / x.mean()

    assert laws["gamma"].shape == pytest.approx(cv**-2, rel=1e-3)
    assert laws["lognormal"].cv == pytest.approx(cv, rel=1e-3)
    assert laws["weibull"].mean_s == pytest.approx(100, rel=1e-3)


def test_one_that_outlives_the_rest_a_million_times():
    durations = np.append(np.random.default_rng(0).exponential(1.0, 2000), 1e6)
    for observed in (np.arange(2001) < 2000, np.ones(2001, dtype=bool)):
        fits = fit_all(Sample(durations, observed))
        assert len(fits) == 4
        assert all(math.isfinite(found.mean_se_s) for found in fits)


def test_a_law_without_a_finite_mean_is_left_out():
    durations = np.exp(np.linspace(-700, 700, 40))  # seconds, over 600 orders of magnitude
    sample = Sample.complete(durations)

    assert "lognormal" not in {found.law.distribution for found in fit_all(sample)}
    with pytest.raises(LogError, match=r"^the lognormal law fits only with an infinite mean$"):
        fit(sample, "lognormal")
