import dataclasses

import numpy as np
import pytest

from cprsim.survival.fitted_laws import fit, fit_all, judge, law_of
from cprsim.survival.sample import Sample
from tests.survival.cases import (
    lanl_gaps,
    needs_lanl,
    needs_titan,
    titan_lives,
)


def test_a_law_near_the_data_is_adequate_however_significant_the_rest():
    """20,000 gaps show the mixture for what it is: at a distance of 0.017, chance explains 0.007.
    No plan would notice."""
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(20_000) < 0.9, rng.gamma(0.7, 30, 20_000), rng.gamma(3, 10, 20_000))
    sample = Sample.complete(gaps)
    found = fit_all(sample)[0]
    verdict = judge(sample, found)

    assert found.ks > 1.36 / np.sqrt(20_000)
    assert verdict.adequate
    assert verdict.reason == (
        "gamma is off the survival by 1.7 % at most, 0.65 % in root mean square"
    )


def bursty() -> Sample:
    """Most gaps are a minute or so, some a week."""
    rng = np.random.default_rng(1)
    gaps = np.where(rng.random(2000) < 0.9, rng.exponential(60, 2000), rng.exponential(6e5, 2000))
    return Sample.complete(gaps)


def test_bursts_are_inadequate_though_their_rmse_is_small():
    """A grid of times has few points for the short gaps."""
    sample = bursty()
    found = fit(sample, "gamma")
    verdict = judge(sample, found)

    assert found.rmse < 0.05
    assert found.ks > 0.1
    assert found.law.expected_s == pytest.approx(sample.mtbf_s)
    assert not verdict.adequate
    assert verdict.reason == (
        f"gamma is off the survival by {100 * found.ks:.0f} % at most, "
        f"{100 * found.rmse:.2g} % in root mean square: more than 10 % or 5 %, "
        "and more than by chance"
    )


def test_a_law_that_loses_the_mean_is_inadequate():
    """Overhead goes with the number of failures, so with the mean: the lognormal's is far off."""
    sample = bursty()
    found = fit_all(sample)[0]
    off = 1 - found.law.expected_s / sample.mtbf_s
    verdict = judge(sample, found)

    assert found.law.distribution == "lognormal"
    assert off > 0.1
    assert not verdict.adequate
    assert verdict.reason == f"lognormal has a mean {100 * off:.0f} % below that of the durations"


def test_a_mean_within_a_tenth_is_no_reason_and_a_little_more_is():
    sample = Sample.complete(np.random.default_rng(0).exponential(1.0, 1000))
    near, far = (
        dataclasses.replace(fit(sample, "exponential"), law=law_of("exponential", mean_s, None))
        for mean_s in (1.09 * sample.mtbf_s, 1.11 * sample.mtbf_s)
    )

    assert judge(sample, near).adequate
    assert judge(sample, far).reason == ("exponential has a mean 11 % above that of the durations")


@pytest.mark.slow
def test_a_dozen_failures_of_the_law_itself_are_adequate():
    """At 5 % chance rejects two of forty, or so."""
    samples = [Sample.complete(np.random.default_rng(seed).gamma(0.6, 1, 12)) for seed in range(40)]
    fits = [fit(sample, "gamma") for sample in samples]
    verdicts = [judge(*pair) for pair in zip(samples, fits, strict=True)]

    assert sum(found.ks > 0.1 for found in fits) > 30
    assert sum(not verdict.adequate for verdict in verdicts) <= 5
    by_chance = (
        "% in root mean square: more than 10 % or 5 %, but no more than chance would have it with "
        "12 failures"
    )
    for found, verdict in zip(fits, verdicts, strict=True):
        if found.ks > 0.1 and verdict.adequate:
            assert verdict.reason.endswith(by_chance)


def test_censored_samples_are_judged_by_the_failures_they_show():
    """One in eleven failed while watched: 0.04 off is a lot, then. Nothing is known of the mean."""
    lasted = law_of("weibull", 1.0, 4.0).sample(np.random.default_rng(3), 20_000)
    sample = Sample(np.minimum(lasted, 0.6), lasted <= 0.6)
    wrong, right = fit(sample, "exponential"), fit(sample, "weibull")
    verdict = judge(sample, wrong)

    assert wrong.rmse < 0.05
    assert not verdict.adequate
    assert "of the 8.8 % that fail while watched: more than 10 % or 5 %" in verdict.reason
    assert abs(right.law.expected_s / sample.mtbf_s - 1) > 0.5
    assert judge(sample, right).adequate


@needs_lanl
@pytest.mark.parametrize("system", [3, 4, 5, 6, 8, 18, 20])
def test_lanl_systems_have_an_adequate_law(system):
    sample = lanl_gaps(system)

    assert judge(sample, fit_all(sample)[0]).adequate


@needs_lanl
def test_lanl_20_is_not_exponential():
    sample = lanl_gaps(20, 0.5, 1.0)

    assert not judge(sample, fit(sample, "exponential")).adequate


@needs_titan
def test_titan_gpus():
    old = titan_lives("old")
    assert judge(old, fit_all(old)[0]).adequate
    # Four of the 62 failures of the new batch come in its last weeks, with 450 GPUs left of 11,370.
    new = titan_lives("new")
    assert not judge(new, fit(new, "exponential")).adequate
