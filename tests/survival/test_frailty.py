"""A frailty fitted to what was seen of nodes."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

from cprsim.basics.distributions import Distribution
from cprsim.survival.fitted_laws import law_of
from cprsim.survival.frailty import Histories, _log_likelihood, fit_frailty


def watched(law: Distribution, variance: float, nodes: int, span_s: float, seed: int) -> Histories:
    """Nodes of any age at the start, one after the other, as a log would have them."""
    rng = np.random.default_rng(seed)
    first, failed, lasted, observed, owner = [], [], [], [], []
    for node in range(nodes):
        pace = rng.gamma(1 / variance, variance) if variance else 1.0
        at_s = float(law.sample_left(rng, 1)[0]) / pace
        first.append(min(at_s, span_s))
        failed.append(at_s < span_s)
        while at_s < span_s:
            life_s = float(law.sample(rng, 1)[0]) / pace
            owner.append(node)
            lasted.append(min(life_s, span_s - at_s))
            observed.append(at_s + life_s < span_s)
            at_s += life_s
    arrays = np.array(first), np.array(failed), np.array(lasted), np.array(observed)
    return Histories(*arrays, np.array(owner, np.int64))


def exponential_likelihood(data: Histories, mean_s: float, variance: float) -> float:
    """Of exponential lives in closed form: counts are negative binomial (Greenwood, Yule 1920)."""
    k = 1 / variance
    time = data.first_s + np.bincount(data.node, data.lasted_s, data.nodes)
    failures = data.failed + np.bincount(data.node[data.observed], minlength=data.nodes)
    each = gammaln(k + failures) - gammaln(k) + k * math.log(k) - failures * math.log(mean_s)
    return float((each - (k + failures) * np.log(k + time / mean_s)).sum())


@pytest.mark.parametrize("variance", [0.0011, 0.05, 0.8, 5.0])
@pytest.mark.parametrize("mean_s", [3.0, 7.0])
def test_the_likelihood_of_exponential_lives_is_the_closed_form(mean_s: float, variance: float):
    data = watched(law_of("exponential", 5.0, None), 0.8, 60, 10.0, seed=1)

    found = _log_likelihood(data, 1.0, math.log(mean_s), 0.0, math.log(variance))

    assert found == pytest.approx(exponential_likelihood(data, mean_s, variance), abs=1e-4)


def test_the_likelihood_of_one_node_is_the_integral():
    """By adaptive quadrature over the factor: a first life, two lives and a cut one."""
    from scipy.integrate import quad

    shape, mean, variance = 0.6, 4.0, 0.9
    scale, k = mean / math.gamma(1 + 1 / shape), 1 / variance
    data = Histories(
        np.array([2.0]),
        np.array([True]),
        np.array([1.0, 3.0, 0.5]),
        np.array([True, True, False]),
        np.zeros(3, np.int64),
    )

    def integrand(z: float) -> float:
        def left(t: float) -> float:
            return math.exp(-((z * t / scale) ** shape))

        def density(t: float) -> float:
            return shape / t * (z * t / scale) ** shape * left(t)

        prior = math.exp(k * math.log(k) - math.lgamma(k) + (k - 1) * math.log(z) - k * z)
        return prior * z / mean * left(2.0) * density(1.0) * density(3.0) * left(0.5)

    exact = math.log(quad(integrand, 0, 40, epsabs=1e-14, limit=500)[0])
    found = _log_likelihood(data, 1.0, math.log(mean), math.log(shape), math.log(variance))

    assert found == pytest.approx(exact, abs=1e-6)


def test_nodes_that_never_fail_are_of_any_age():
    """What is left of a life lasts longer than t: 1 less the share `within` has of a mean."""
    law, t = law_of("weibull", 4.0, 0.6), 3.0
    nobody = np.empty(0)
    data = Histories(
        np.array([t]), np.array([False]), nobody, nobody.astype(bool), nobody.astype(np.int64)
    )

    found = _log_likelihood(data, 1.0, math.log(4.0), math.log(0.6))

    assert found == pytest.approx(math.log(1 - law.within(t)[1] / 4.0), rel=1e-4)


@pytest.mark.parametrize(("shape", "variance"), [(1.0, 0.8), (0.6, 1.5), (1.8, 0.4)])
def test_what_was_simulated_is_found(shape: float, variance: float):
    """Within 5 / sqrt(nodes), of 400 nodes that fail some four times each."""
    nodes = 400
    data = watched(law_of("weibull", 5.0, shape), variance, nodes, 20.0, seed=2)

    found = fit_frailty(data)

    near = 5 / math.sqrt(nodes)
    assert found.is_sure
    assert found.law.mean_s == pytest.approx(5.0, rel=near)
    assert found.law.shape == pytest.approx(shape, rel=near)
    assert found.variance == pytest.approx(variance, rel=near)
    assert found.interval[0] < variance < found.interval[1]


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    """95 of 100 logs do, give or take 3 standard errors of 2.2."""
    law, variance, logs = law_of("weibull", 5.0, 0.7), 0.8, 40
    held = 0
    for seed in range(logs):
        low, high = fit_frailty(watched(law, variance, 80, 20.0, seed)).interval
        held += low < variance < high

    assert held >= logs * 0.95 - 3 * math.sqrt(logs * 0.95 * 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_nodes_that_are_alike_have_none(shape: float):
    """By chance one log in 741 has."""
    sure = 0
    for seed in range(10):
        sure += fit_frailty(watched(law_of("weibull", 5.0, shape), 0.0, 60, 20.0, seed)).is_sure

    assert sure == 0


def test_a_gain_is_measured_against_the_best_law_without():
    data = watched(law_of("weibull", 5.0, 0.7), 1.0, 100, 20.0, seed=4)

    found = fit_frailty(data)

    at = math.log(found.law.mean_s), math.log(found.law.shape), math.log(found.variance)
    alike = math.log(found.alike.mean_s), math.log(found.alike.shape)
    gain = 2 * (_log_likelihood(data, 1.0, *at) - _log_likelihood(data, 1.0, *alike))
    assert found.gain == pytest.approx(gain, rel=1e-3)
    assert found.alike.shape < found.law.shape  # who differ look like early failures


def test_the_unit_of_time_changes_nothing():
    data = watched(law_of("weibull", 5.0, 0.7), 1.0, 50, 20.0, seed=5)
    year = Histories(data.first_s * 3e7, data.failed, data.lasted_s * 3e7, data.observed, data.node)

    one, other = fit_frailty(data), fit_frailty(year)

    assert other.law.mean_s == pytest.approx(one.law.mean_s * 3e7, rel=1e-6)
    assert other.variance == pytest.approx(one.variance, rel=1e-4)
