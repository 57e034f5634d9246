import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cprsim.basics.ageing import _fraction, gamma_tail
from cprsim.errors import LogError
from cprsim.survival.fitted_laws import fit_all
from cprsim.survival.sample import Sample

durations = st.lists(
    st.tuples(
        st.floats(-9, 9).map(lambda power: 10.0**power), st.sampled_from([True, True, False])
    ),
    min_size=10,
    max_size=60,
)


@given(durations)
def test_any_sample_is_fitted_or_refused(pairs):
    """Gamma and Weibull hold the exponential, so their likelihood is at least as high."""
    values, observed = map(np.array, zip(*pairs, strict=True))
    assume(np.count_nonzero(observed) >= 10)
    sample = Sample(values, observed)
    if values.max() - values[observed].min() <= 1e-4 * values.max():
        with pytest.raises(LogError, match="there is no spread"):
            fit_all(sample)
        return
    fits = {found.law.distribution: found for found in fit_all(sample)}

    assert {"exponential", "gamma", "weibull"} <= set(fits)
    for name, found in fits.items():
        assert found.mean_se_s > 0
        assert (found.shape_se is None) == (name == "exponential")
        assert 0 <= found.rmse <= 1
        assert 0 <= found.ks <= 1
        if name != "lognormal":
            least = fits["exponential"].log_likelihood
            assert found.log_likelihood >= least - 1e-9 * (1 + abs(least))


@pytest.mark.parametrize("k", [0.05, 0.6, 1.0, 1.7, 20.0, 400.0])
def test_the_tail_of_a_gamma_law_far_out_joins_that_nearer(k):
    from scipy.special import gammaincc

    z = k + np.array([8, 12, 20, 30]) * max(math.sqrt(k), 1.0)
    log_survival, hazard = gamma_tail(k, z)

    assert np.exp(log_survival) == pytest.approx(gammaincc(k, z), rel=1e-12)
    assert _fraction(k, z) * hazard == pytest.approx(np.ones(4), rel=1e-9)


def test_the_tail_goes_on_where_probabilities_no_longer_do():
    """For k = 2 the survival is (1 + z) e^-z."""
    z = np.array([500.0, 660.0, 700.0, 1e4, 1e7])
    log_survival, hazard = gamma_tail(2.0, z)

    assert log_survival == pytest.approx(np.log1p(z) - z, rel=1e-13)
    assert hazard == pytest.approx(z**2 / (1 + z), rel=1e-9)


def test_a_lognormal_fit_steep_beside_its_censored_durations():
    """They were cut so early that they tell nothing: the closed form of the failures holds."""
    rng = np.random.default_rng(0)
    failed, early = rng.lognormal(9, 0.001, 40), rng.lognormal(-3, 0.001, 30)
    fits = fit_all(Sample(np.concatenate((failed, early)), np.arange(70) < 40))
    law = next(found.law for found in fits if found.law.distribution == "lognormal")

    assert law.cv == pytest.approx(math.sqrt(math.expm1(np.log(failed).var())), rel=1e-9)


@pytest.mark.parametrize("seed", [61, 90, 223, 359])  # of which rounding stops a step near the top
def test_rounding_near_the_top_does_not_end_a_search_early(seed):
    """Of a Weibull law against the root of its profile likelihood, in extended precision."""
    lasted = np.random.default_rng(seed).weibull(0.2, 400 + seed)
    y = np.log(lasted.astype(np.longdouble))
    y -= y.max()
    found = next(f.law for f in fit_all(Sample.complete(lasted)) if f.law.distribution == "weibull")
    k = np.longdouble(found.shape)
    for _ in range(20):
        powers = np.exp(k * y)
        first, second = (powers * y).sum() / powers.sum(), (powers * y**2).sum() / powers.sum()
        k -= (first - 1 / k - y.mean()) / (second - first**2 + 1 / k**2)

    assert found.shape == pytest.approx(float(k), rel=1e-12)
