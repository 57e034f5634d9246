import math

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.survival.fitted_laws import fit, fit_all, law_of
from cprsim.survival.sample import Sample
from tests.survival.cases import BEARINGS, CONTROLS, MIXED, spread_of


def test_exponential_is_the_time_watched_for_each_failure():
    found = fit(MIXED, "exponential")

    assert found.law.mean_s == pytest.approx(310.4 / 19, rel=1e-14)
    assert found.mean_se_s == pytest.approx(310.4 / 19 / math.sqrt(19), rel=1e-14)
    assert found.shape_se is None
    assert found.log_likelihood == pytest.approx(-19 * (math.log(310.4 / 19) + 1), rel=1e-14)


def test_complete_lognormal_in_closed_form():
    logs = np.log(BEARINGS.durations_s)
    mu, variance = logs.mean(), logs.var()
    found = fit(BEARINGS, "lognormal")

    assert found.law.mean_s == pytest.approx(math.exp(mu + variance / 2), rel=1e-12)
    assert found.law.cv == pytest.approx(math.sqrt(math.expm1(variance)), rel=1e-12)
    # var(mu) = v / n, var(v) = 2 v^2 / n, independent.
    error = math.sqrt((variance + variance**2 / 2) / 23)
    assert found.mean_se_s == pytest.approx(found.law.mean_s * error, rel=1e-12)


def test_complete_gamma_in_closed_form():
    from scipy.special import digamma, polygamma

    x, found = BEARINGS.durations_s, fit(BEARINGS, "gamma")
    k = found.law.shape

    assert found.law.mean_s == pytest.approx(x.mean(), rel=1e-13)
    assert math.log(k) - digamma(k) == pytest.approx(
        math.log(x.mean()) - np.log(x).mean(), rel=1e-12
    )
    assert found.mean_se_s == pytest.approx(x.mean() / math.sqrt(23 * k), rel=1e-10)
    assert found.shape_se == pytest.approx((23 * (polygamma(1, k) - 1 / k)) ** -0.5, rel=1e-10)


def with_shape_1(name: str) -> Sample:
    """Durations, one stretched until the likelihood equation of the shape holds at 1."""
    from scipy.optimize import brentq

    base = np.random.default_rng(8).exponential(1.0, 60)
    observed = np.arange(60) % 3 > 0

    def excess(last: float) -> float:
        x = np.append(base, last)
        if name == "weibull":
            logs = np.log(x)
            return (x @ logs) / x.sum() - 1 - logs[np.append(observed, True)].mean()
        return math.log(x.mean()) - np.log(x).mean() - np.euler_gamma

    if name == "gamma":
        observed[:] = True
    durations = np.append(base, brentq(excess, 3.0, 1e3, xtol=1e-14))
    return Sample(durations, np.append(observed, True))


@pytest.mark.parametrize("name", ["weibull", "gamma"])
def test_shape_1_is_the_exponential(name):
    sample = with_shape_1(name)
    found, exponential = fit(sample, name), fit(sample, "exponential")

    assert found.law.shape == pytest.approx(1, abs=1e-10)
    assert found.law.mean_s == pytest.approx(exponential.law.mean_s, rel=1e-10)
    assert found.log_likelihood == pytest.approx(exponential.log_likelihood, abs=1e-9)
    assert found.aic == pytest.approx(exponential.aic + 2, abs=1e-9)
    assert found.ks == pytest.approx(exponential.ks, abs=1e-10)
    assert found.rmse == pytest.approx(exponential.rmse, abs=1e-10)


@pytest.mark.parametrize("watched", [None, 3.0, 0.5], ids=["complete", "some cut", "most cut"])
@pytest.mark.parametrize(
    ("name", "spread"),
    [
        ("exponential", None),
        ("gamma", 0.6),
        ("gamma", 4.0),
        ("weibull", 0.7),
        ("weibull", 2.5),
        ("lognormal", 1.2),
    ],
)
def test_parameters_of_simulated_data_come_back(name, spread, watched):
    n = 4000
    rng = np.random.default_rng(20)
    lasted = law_of(name, 50.0, spread).sample(rng, n)
    until = np.full(n, math.inf) if watched is None else rng.uniform(0, 2 * watched * 50.0, n)
    sample = Sample(np.minimum(lasted, until), lasted <= until)
    law = fit(sample, name).law
    close = 5 / math.sqrt(sample.failures)

    assert law.mean_s == pytest.approx(50.0, rel=close)
    assert spread_of(law) == (None if spread is None else pytest.approx(spread, rel=close))


def test_fits_are_in_the_order_of_their_aic():
    fits = fit_all(CONTROLS)

    assert sorted(found.law.distribution for found in fits) == [
        "exponential",
        "gamma",
        "lognormal",
        "weibull",
    ]
    assert [found.aic for found in fits] == sorted(found.aic for found in fits)
    assert fits[0] == fit(CONTROLS, "lognormal")


def test_unknown_law():
    with pytest.raises(UsageError) as caught:
        fit(BEARINGS, "pareto")

    assert str(caught.value) == (
        "no fit of 'pareto'; laws that can be fitted: exponential, gamma, weibull, lognormal"
    )


def test_ks_counts_both_sides_of_each_step():
    """Ten durations of 1 and one of 1e3: the exponential of mean 91.8 drops by 1% where the
    curve drops by 10 / 11."""
    sample = Sample.complete([*np.full(10, 1.0), 1e3])
    found = fit(sample, "exponential")

    assert found.ks == pytest.approx(math.exp(-1 / found.law.mean_s) - 1 / 11, rel=1e-12)


def test_rmse_by_hand():
    """The 99th percentile of durations 1 to 100 is 99."""
    sample = Sample.complete(np.arange(1.0, 101))
    found = fit(sample, "exponential")
    grid = np.linspace(0, 99, 500)
    off = 1 - np.floor(grid + 1e-9) / 100 - np.exp(-grid / 50.5)

    assert found.rmse == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-6)
