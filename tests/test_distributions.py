"""Oracles: scipy.stats, textbook moments, and the samples themselves."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from cprsim.basics.distributions import Distribution

MEAN_S = 100_800.0  # 28 h
SAMPLES = 40_000


def law(distribution: str, **keys) -> Distribution:
    if distribution != "empirical":
        keys = {"mean": "28 h"} | keys
    return Distribution.model_validate({"distribution": distribution, **keys})


def weibull(shape: float):
    return stats.weibull_min(shape, scale=MEAN_S / math.gamma(1 + 1 / shape))


def lognormal(cv: float):
    return stats.lognorm(math.sqrt(math.log(1 + cv**2)), scale=MEAN_S / math.sqrt(1 + cv**2))


CONTINUOUS = [
    pytest.param(law("exponential"), stats.expon(scale=MEAN_S), id="exponential"),
    pytest.param(law("gamma", shape=0.675), stats.gamma(0.675, scale=MEAN_S / 0.675), id="gamma"),
    pytest.param(law("gamma", shape=3), stats.gamma(3, scale=MEAN_S / 3), id="gamma-3"),
    pytest.param(law("weibull", shape=0.7), weibull(0.7), id="weibull"),
    pytest.param(law("weibull", shape=2.5), weibull(2.5), id="weibull-2.5"),
    pytest.param(law("lognormal", cv=0.5), lognormal(0.5), id="lognormal"),
    pytest.param(law("lognormal", cv=1.5), lognormal(1.5), id="lognormal-1.5"),
    pytest.param(law("uniform"), stats.uniform(0, 2 * MEAN_S), id="uniform"),
]
FIXED = law("deterministic")
FOUND = law("empirical", durations=["3 h", "17 h", "17 h", "40 h"])
ALL = [param.values[0] for param in CONTINUOUS] + [FIXED, FOUND]
each_law = pytest.mark.parametrize("each", ALL, ids=lambda each: each.distribution)


def samples(each: Distribution, size: int = SAMPLES) -> np.ndarray:
    return each.sample(np.random.default_rng(20210405), size)


# Samples against theory


@pytest.mark.parametrize(("each", "theory"), CONTINUOUS)
def test_samples_have_the_mean_and_the_spread_of_theory(each, theory):
    drawn = samples(each)
    mean, variance, skewness, excess = (float(m) for m in theory.stats(moments="mvsk"))
    cv = math.sqrt(variance) / mean

    assert each.expected_s == pytest.approx(mean, rel=1e-12) == MEAN_S
    # Three standard errors; that of s/m by the delta method (e.g. Cramer 1946, 27.7).
    assert drawn.mean() == pytest.approx(mean, rel=3 * cv / math.sqrt(SAMPLES))
    relative_variance = (excess + 2) / 4 - skewness * cv + cv**2
    tolerance = 3 * math.sqrt(relative_variance / SAMPLES)
    assert drawn.std(ddof=1) / drawn.mean() == pytest.approx(cv, rel=tolerance)


def test_the_fixed_law_draws_its_mean_every_time():
    assert (samples(FIXED, 9) == MEAN_S).all()


def test_the_empirical_law_draws_its_durations_with_equal_chance():
    drawn = samples(FOUND)
    values, counts = np.unique(drawn, return_counts=True)

    assert FOUND.expected_s == (3 + 17 + 17 + 40) / 4 * 3600
    assert values.tolist() == [3 * 3600.0, 17 * 3600.0, 40 * 3600.0]
    for count, chance in zip(counts, [0.25, 0.5, 0.25], strict=True):
        standard_error = math.sqrt(chance * (1 - chance) / SAMPLES)
        assert count / SAMPLES == pytest.approx(chance, abs=3 * standard_error)


@each_law
def test_no_duration_is_negative_or_infinite(each):
    drawn = samples(each)

    assert drawn.dtype == np.float64
    assert (drawn >= 0).all()
    assert np.isfinite(drawn).all()


@each_law
def test_draws_do_not_depend_on_the_blocks_they_come_in(each):
    whole = samples(each, 100)
    rng = np.random.default_rng(20210405)

    assert np.concatenate([each.sample(rng, n) for n in (1, 7, 0, 60, 32)]).tolist() == (
        whole.tolist()
    )


# Survival


@pytest.mark.parametrize(("each", "theory"), CONTINUOUS)
def test_survival_is_that_of_scipy(each, theory):
    t = np.concatenate([[0.0], np.geomspace(1e-6, 20.0, 200) * MEAN_S])

    assert each.survival(t) == pytest.approx(theory.sf(t), rel=1e-10, abs=1e-300)
    assert each.survival(t)[0] == 1.0


@pytest.mark.parametrize(("each", "theory"), CONTINUOUS)
def test_samples_survive_as_survival_says(each, theory):
    found = stats.kstest(samples(each), lambda t: 1 - each.survival(t)).statistic

    # Kolmogorov: one sample in a thousand lies beyond 1.95 / sqrt(n). (One in a hundred would
    # fail one of eight laws now and then.)
    assert found < 1.95 / math.sqrt(SAMPLES)


def test_steps_of_survival_belong_to_what_lies_beyond_them():
    # P(X > t): a duration of t itself has not survived t.
    t = np.array([0.0, 3 * 3600 - 1, 3 * 3600, 17 * 3600, 40 * 3600, 41 * 3600])

    assert FOUND.survival(t).tolist() == [1.0, 1.0, 0.75, 0.25, 0.0, 0.0]
    assert FIXED.survival(np.array([0.0, MEAN_S - 1, MEAN_S, MEAN_S + 1])).tolist() == [1, 1, 0, 0]


# Quantiles and failure rates

EXTREME = [
    *((law("gamma", shape=k), stats.gamma(k, scale=MEAN_S / k)) for k in (0.1, 20.0)),
    *((law("weibull", shape=k), weibull(k)) for k in (0.1, 20.0)),
    *((law("lognormal", cv=cv), lognormal(cv)) for cv in (0.05, 100.0)),
]


@pytest.mark.parametrize(("each", "theory"), [*CONTINUOUS[:-1], *EXTREME])
def test_quantiles_and_rates_are_those_of_scipy(each, theory):
    left = np.array([1 - 1e-9, 0.999, 0.7, 0.5, 0.1, 1e-6])
    ages = theory.isf(left)

    assert each.quantile(left) == pytest.approx(ages, rel=1e-6)
    rates = np.exp(theory.logpdf(ages[1:]) - theory.logsf(ages[1:]))
    assert each.hazard(ages[1:]) == pytest.approx(rates, rel=1e-8)


def test_a_rate_that_no_float_holds_and_one_of_no_density():
    assert np.isnan(law("weibull", shape=20.0).hazard(np.array([1e105]))).all()
    with pytest.raises(TypeError, match="the uniform law has no density"):
        law("uniform").hazard(np.array([1.0]))


def test_far_in_its_tail_a_gamma_law_fails_at_nearly_the_rate_of_its_scale():
    """NIST Digital Library of Mathematical Functions 8.11.2, where no float holds the survival."""
    k, age_s = 0.6, 20_000 * MEAN_S
    each, x = law("gamma", shape=k), k * 20_000
    series = 1 + (k - 1) / x * (1 + (k - 2) / x)

    assert each.survival(np.array([age_s])) == 0
    assert each.hazard(np.array([age_s])) == pytest.approx(k / MEAN_S / series, rel=1e-11)


# Keys


@pytest.mark.parametrize("keys", [("weibull", "shape", 0.001), ("lognormal", "cv", 1e300)])
def test_a_spread_that_floats_can_not_hold_is_an_error(keys):
    distribution, key, value = keys
    with pytest.raises(ValidationError):
        law(distribution, **{key: value})


@each_law
def test_a_law_as_a_table_of_a_scenario_file_is_the_same_law(each):
    assert Distribution.model_validate(each.mapping()) == each
