"""ETTR against Kokolis et al. (HPCA'25) and the table of `systems.md`, section 3.6."""

import pytest

from cprsim.formulas.intervals import young_interval_s
from tests.formulas.forms import exact_ettr, mttf_s

MINUTE = 60.0
HOUR = 3600.0
RSC_1 = 6.50e-3  # failures per node-day
RSC_2 = 2.34e-3
GPUS_PER_NODE = 8


@pytest.mark.parametrize(
    ("gpus", "mttf_h", "exact"),
    [
        (2048, 14.42, 0.8911),
        (4096, 7.21, 0.8456),
        (8192, 3.61, 0.7816),
        (16384, 1.80, 0.6928),  # the paper prints 1.8 h
    ],
)
def test_rsc_1_table(gpus, mttf_h, exact):
    nodes = gpus // GPUS_PER_NODE
    found_s = mttf_s(nodes, RSC_1)
    assert found_s / HOUR == pytest.approx(mttf_h, abs=0.005)
    interval_s = young_interval_s(5 * MINUTE, found_s)
    arguments = (interval_s, 5 * MINUTE, RSC_1, nodes, 5 * MINUTE)
    assert exact_ettr(*arguments) == pytest.approx(exact, abs=5e-5)


def test_mttf_of_1024_gpus():
    # The paper measured 7.9 h: small jobs have other failures than their nodes'.
    assert mttf_s(128, RSC_1) / HOUR == pytest.approx(28.85, abs=0.005)
    assert mttf_s(128, RSC_2) / HOUR == pytest.approx(80.13, abs=0.005)
