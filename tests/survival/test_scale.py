import numpy as np
import pytest

from cprsim.survival.fitted_laws import fit_all
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample
from tests.survival.cases import BEARINGS, CONTROLS, MIXED

HOUR, YEAR = 3600.0, 8766 * 3600.0


@pytest.mark.parametrize("factor", [1 / HOUR, 1 / YEAR, HOUR, YEAR, 1e-12, 1e12, 1e-250, 1e250])
@pytest.mark.parametrize("sample", [BEARINGS, CONTROLS, MIXED])
def test_units_change_no_fit(sample, factor):
    """Durations in seconds, taken as hours, as years and further: the same law in that unit."""
    scaled = Sample(sample.durations_s * factor, sample.observed)

    for law, ours in zip(fit_all(sample), fit_all(scaled), strict=True):
        assert ours.law.distribution == law.law.distribution
        assert ours.law.shape == (law.law.shape and pytest.approx(law.law.shape, rel=1e-8))
        assert ours.law.cv == (law.law.cv and pytest.approx(law.law.cv, rel=1e-8))
        assert ours.law.mean_s == pytest.approx(law.law.mean_s * factor, rel=1e-8)
        assert ours.mean_se_s == pytest.approx(law.mean_se_s * factor, rel=1e-6)
        assert ours.shape_se == (law.shape_se and pytest.approx(law.shape_se, rel=1e-6))
        # A density is per unit of time.
        shift = sample.failures * np.log(factor)
        assert ours.log_likelihood == pytest.approx(law.log_likelihood - shift, abs=1e-6)
        assert ours.ks == pytest.approx(law.ks, abs=1e-8)
        assert ours.rmse == pytest.approx(law.rmse, abs=1e-3)  # rounding moves the grid over steps


def test_kaplan_meier_scales_with_its_unit():
    curve = KaplanMeier.from_sample(MIXED)
    scaled = KaplanMeier.from_sample(Sample(MIXED.durations_s * 1024, MIXED.observed))

    assert scaled.survival.tolist() == curve.survival.tolist()
    assert scaled.restricted_mean_s == pytest.approx(curve.restricted_mean_s * 1024, rel=1e-12)
