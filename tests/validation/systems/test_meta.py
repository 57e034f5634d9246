"""Meta's MTTF and ETTR by simulation."""

import pytest

from tests.formulas.forms import exact_ettr, mttf_s
from tools.validation.systems.meta import INTERVAL_S, NODES, RATE_PER_DAY, SAVE_S, ettr, mttf_h


def test_mean_time_to_failure_of_16_384_gpus():
    exact_h = mttf_s(NODES, RATE_PER_DAY) / 3600
    assert exact_h == pytest.approx(1.80, abs=5e-3)
    assert abs(mttf_h().value - exact_h) < 3 * mttf_h().error


def test_ettr_of_16_384_gpus():
    interval_min = INTERVAL_S / 60
    assert interval_min == pytest.approx(32.9, abs=0.05)
    exact = exact_ettr(INTERVAL_S, SAVE_S, RATE_PER_DAY, NODES, 300.0)
    assert exact == pytest.approx(0.6928, abs=5e-5)
    assert abs(ettr().value - exact) < 3 * ettr().error
