"""The real logs, against figures worked out before this code was written (issue 3)."""

import math

import numpy as np
import pytest

from cprsim.survival.fitted_laws import fit, fit_all
from cprsim.survival.sample import Sample
from tests.survival.cases import (
    HOUR,
    lanl_gaps,
    lanl_uptimes,
    needs_lanl,
    needs_titan,
    titan_lives,
)


@needs_lanl
@pytest.mark.parametrize(
    ("system", "window", "name", "shape", "scale_h", "within_h"),
    [
        (20, (0.5, 1.0), "gamma", 0.614, 39.5, 0.05),
        (20, (0.5, 1.0), "weibull", 0.727, 20.0, 0.05),
        (18, (), "gamma", 0.754, None, None),
        (18, (), "weibull", 0.817, 6.63, 0.005),
    ],
)
def test_lanl_systems(system, window, name, shape, scale_h, within_h):
    law = fit(lanl_gaps(system, *window), name).law
    per_scale = law.shape if name == "gamma" else math.gamma(1 + 1 / law.shape)

    assert law.shape == pytest.approx(shape, abs=0.0005)
    if scale_h is not None:
        assert law.mean_s / per_scale / HOUR == pytest.approx(scale_h, abs=within_h)


@needs_lanl
def test_uptimes_of_the_nodes_of_lanl_18():
    sample = lanl_uptimes(18)
    gamma = fit(sample, "gamma").law

    assert sample.censored / sample.n == pytest.approx(0.242, abs=0.0005)
    assert gamma.shape == pytest.approx(0.512, abs=0.0005)
    assert gamma.mean_s / HOUR == pytest.approx(7701, abs=0.5)
    for careless in careless_samples(sample):
        wrong = fit(careless, "gamma").law
        assert abs(wrong.shape / 0.512 - 1) > 0.005
        assert wrong.mean_s / HOUR < 0.8 * 7701


def careless_samples(sample: Sample) -> list[Sample]:
    """A sample without its censored durations, and with them taken for failures."""
    return [
        Sample.complete(sample.durations_s[sample.observed]),
        Sample.complete(sample.durations_s),
    ]


@needs_titan
def test_old_titan_gpus_wear_out():
    sample = titan_lives("old")
    gamma = fit(sample, "gamma").law

    assert (sample.n, sample.failures) == (18_837, 5027)
    assert sample.censored / sample.n == pytest.approx(0.733, abs=0.0005)
    assert gamma.shape == pytest.approx(4.21, abs=0.005)
    for careless in careless_samples(sample):
        wrong = fit(careless, "gamma").law
        assert abs(wrong.shape / 4.21 - 1) > 0.05
        assert wrong.mean_s < 0.7 * gamma.mean_s


@needs_titan
def test_new_titan_gpus_hardly_fail():
    sample = titan_lives("new")
    fits = fit_all(sample)

    assert (sample.n, sample.failures) == (11_370, 62)
    assert sample.censored / sample.n == pytest.approx(0.995, abs=0.0005)
    assert fits[0].law.distribution == "exponential"
    assert fits[0].law.mean_s / HOUR == pytest.approx(3.55e6, abs=5e3)
    assert all(np.isfinite([found.mean_se_s, found.aic]).all() for found in fits)
    for careless in careless_samples(sample):
        assert fit(careless, "exponential").law.mean_s / HOUR < 0.01 * 3.55e6
