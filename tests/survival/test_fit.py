import math
import subprocess
import sys

import numpy as np
import pytest

from cprsim.distributions import Distribution
from cprsim.errors import LogError, UsageError
from cprsim.survival.fit import best, fit, fit_all, law_of
from cprsim.survival.sample import Sample
from tests.survival.cases import BEARINGS, CONTROLS, MIXED

LAWS = ("exponential", "gamma", "weibull", "lognormal")

# (mean, its error, shape or cv, its error, log-likelihood, AIC)
LIFELINES = {
    ("bearings", "weibull"): (
        *(72.51862036104988, 7.593581634665638, 2.1020584213548266, 0.3286869674832219),
        *(-113.69129093232868, 231.38258186465737),
    ),
    ("bearings", "lognormal"): (
        *(72.71251443431309, 8.429937373069297, 0.559233343151441, 0.09418130398881455),
        *(-113.128566737177, 230.257133474354),
    ),
    ("bearings", "gamma"): (
        *(72.22434780701711, 7.506100949391467, 4.025414619712144, 1.1412553808731105),
        *(-113.029281372169, 230.058562744338),
    ),
    ("controls", "exponential"): (
        *(304.66210967966344, 50.086133672004465, None, None),
        *(-248.61052941308805, 499.2210588261761),
    ),
    ("controls", "weibull"): (
        *(162.5033336149894, 14.397016043685998, 2.3312534684439092, 0.3609527606619102),
        *(-237.382513436205, 478.76502687241),
    ),
    ("controls", "lognormal"): (
        *(213.9592619737673, 32.62846924357868, 0.8030999138250987, 0.13467620415367068),
        *(-237.09354534071224, 478.1870906814245),
    ),
    ("controls", "gamma"): (
        *(177.89747375777193, 17.6126302203681, 3.2834501989456997, 0.731129896548729),
        *(-237.10430041965355, 478.2086008393071),
    ),
    ("mixed", "exponential"): (
        *(16.336842105179993, 3.7479286206020985, None, None),
        *(-72.07503337370984, 146.1500667474197),
    ),
    ("mixed", "weibull"): (
        *(26.803252824594484, 13.817170398898568, 0.5776008595666238, 0.11218554202932988),
        *(-66.96198702015784, 137.92397404031567),
    ),
    ("mixed", "lognormal"): (
        *(138.1863508760919, 168.12821617163902, 18.072635012961822, 17.91975825269828),
        *(-67.02958484462498, 138.05916968924996),
    ),
    ("mixed", "gamma"): (
        *(21.67243054308891, 8.24381220931443, 0.4931649246634472, 0.12045976153213737),
        *(-66.98818881766108, 137.97637763532217),
    ),
}
SAMPLES = {"bearings": BEARINGS, "controls": CONTROLS, "mixed": MIXED}


def spread_of(law: Distribution) -> float | None:
    return law.shape if law.cv is None else law.cv


@pytest.mark.parametrize(("name", "law"), LIFELINES)
def test_parameters_and_errors_are_those_of_lifelines(name, law):
    """Made once with lifelines 0.30.3, durations T and failures E as lists::

    options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000}
    f = ExponentialFitter().fit(T, E, fit_options=options)
    f = WeibullFitter().fit(T, E, fit_options=options)
    f = LogNormalFitter().fit(T, E, fit_options=options)

    class GammaFitter(ParametricUnivariateFitter):
        _fitted_parameter_names = ["shape_", "scale_"]
        def _cumulative_hazard(self, params, times):
            return -autograd_gamma.gammainccln(params[0], times / params[1])
    f = GammaFitter().fit(T, E, initial_point=np.array([1.0, sum(T) / sum(E)]), fit_options=options)

    then f.log_likelihood_, f.AIC_, and the mean and cv from the parameters, their errors from
    f.variance_matrix_ by the delta method. Its optimiser stops 1e-6 or so away from the maximum.
    """
    mean, mean_se, spread, spread_se, log_likelihood, aic = LIFELINES[name, law]
    found = fit(SAMPLES[name], law)

    assert found.law.mean_s == pytest.approx(mean, rel=5e-6)
    assert found.mean_se_s == pytest.approx(mean_se, rel=2e-5)
    assert spread_of(found.law) == (None if spread is None else pytest.approx(spread, rel=5e-6))
    assert found.shape_se == (None if spread is None else pytest.approx(spread_se, rel=2e-5))
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-8)
    assert found.aic == pytest.approx(aic, abs=2e-8)


def test_published_fits():
    """Lawless, "Statistical Models and Methods for Lifetime Data": of the ball bearings Weibull
    2.10, 81.9 and lognormal 4.15, 0.522; of the locomotive controls lognormal 5.117, 0.705."""
    weibull = fit(BEARINGS, "weibull").law
    assert weibull.shape == pytest.approx(2.10, abs=0.005)
    assert weibull.mean_s / math.gamma(1 + 1 / weibull.shape) == pytest.approx(81.9, abs=0.05)
    for sample, mu, sigma in ((BEARINGS, 4.15, 0.522), (CONTROLS, 5.117, 0.705)):
        law = fit(sample, "lognormal").law
        variance = math.log1p(law.cv**2)
        assert math.sqrt(variance) == pytest.approx(sigma, abs=0.0006)
        assert math.log(law.mean_s) - variance / 2 == pytest.approx(mu, abs=0.0006)


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

    assert sorted(found.law.distribution for found in fits) == sorted(LAWS)
    assert [found.aic for found in fits] == sorted(found.aic for found in fits)
    assert best(fits) == best(fits[::-1]) == fits[0] == fit(CONTROLS, "lognormal")


@pytest.mark.parametrize(
    ("failures", "text"),
    [
        (0, "0 failures are too few to fit a law; 10 are needed"),
        (1, "1 failure is too few to fit a law; 10 are needed"),
        (7, "7 failures are too few to fit a law; 10 are needed"),
        (9, "9 failures are too few to fit a law; 10 are needed"),
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


def test_unknown_law():
    with pytest.raises(UsageError) as caught:
        fit(BEARINGS, "pareto")

    assert str(caught.value) == (
        "no fit of 'pareto'; laws that can be fitted: exponential, gamma, weibull, lognormal"
    )
    with pytest.raises(UsageError, match=r"^there is no fit to choose from$"):
        best([])


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


def test_nothing_imports_scipy_before_it_fits():
    modules = "bootstrap distance fit gamma hazard judge kaplan_meier likelihood newton sample"
    code = "; ".join(f"import cprsim.survival.{name}" for name in modules.split())

    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print('scipy' in sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )

    assert loaded.stdout.strip() == "False"
