import math

import pytest

from cprsim.survival.fitted_laws import fit
from tests.survival.cases import BEARINGS, CONTROLS, MIXED, PARTS, spread_of

#: Mean, its error, shape or cv, its error, log-likelihood. The parts come into sight late.
LIFELINES = {
    ("bearings", "weibull"): (
        *(72.51862036104988, 7.593581634665638, 2.1020584213548266, 0.3286869674832219),
        -113.69129093232868,
    ),
    ("bearings", "lognormal"): (
        *(72.71251443431309, 8.429937373069297, 0.559233343151441, 0.09418130398881455),
        -113.128566737177,
    ),
    ("bearings", "gamma"): (
        *(72.22434780701711, 7.506100949391467, 4.025414619712144, 1.1412553808731105),
        -113.029281372169,
    ),
    ("controls", "exponential"): (
        *(304.66210967966344, 50.086133672004465, None, None, -248.61052941308805),
    ),
    ("controls", "weibull"): (
        *(162.5033336149894, 14.397016043685998, 2.3312534684439092, 0.3609527606619102),
        -237.382513436205,
    ),
    ("controls", "lognormal"): (
        *(213.9592619737673, 32.62846924357868, 0.8030999138250987, 0.13467620415367068),
        -237.09354534071224,
    ),
    ("controls", "gamma"): (
        *(177.89747375777193, 17.6126302203681, 3.2834501989456997, 0.731129896548729),
        -237.10430041965355,
    ),
    ("mixed", "exponential"): (
        *(16.336842105179993, 3.7479286206020985, None, None, -72.07503337370984),
    ),
    ("mixed", "weibull"): (
        *(26.803252824594484, 13.817170398898568, 0.5776008595666238, 0.11218554202932988),
        -66.96198702015784,
    ),
    ("mixed", "lognormal"): (
        *(138.1863508760919, 168.12821617163902, 18.072635012961822, 17.91975825269828),
        -67.02958484462498,
    ),
    ("mixed", "gamma"): (
        *(21.67243054308891, 8.24381220931443, 0.4931649246634472, 0.12045976153213737),
        -66.98818881766108,
    ),
    ("parts", "exponential"): (54.645454545, 16.4762, None, None, -55.00952640971),
    ("parts", "weibull"): (31.3633514, 4.33211, 2.48763662, 0.676976, -51.14647941209),
    ("parts", "lognormal"): (39.781052, 9.9379, 0.7501013, 0.217605, -51.6355843731),
    ("parts", "gamma"): (34.3603763, 5.80836, 3.4622083, 1.385146, -51.3990917027),
}
SAMPLES = {"bearings": BEARINGS, "controls": CONTROLS, "mixed": MIXED, "parts": PARTS}


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

    with `entry=ENTRY` where lives come into sight late, of the gamma law `np.maximum(ENTRY, 1e-9)`;
    then f.log_likelihood_, and the mean and cv from the parameters, their errors from
    f.variance_matrix_ by the delta method. Its optimiser stops 1e-6 or so away from the maximum.
    """
    mean, mean_se, spread, spread_se, log_likelihood = LIFELINES[name, law]
    found = fit(SAMPLES[name], law)

    assert found.law.mean_s == pytest.approx(mean, rel=5e-6)
    assert found.mean_se_s == pytest.approx(mean_se, rel=2e-5)
    assert spread_of(found.law) == (None if spread is None else pytest.approx(spread, rel=5e-6))
    assert found.shape_se == (None if spread is None else pytest.approx(spread_se, rel=2e-5))
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-8)
    parameters = 1 if spread is None else 2
    assert found.aic == pytest.approx(2 * parameters - 2 * found.log_likelihood, abs=1e-9)


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
