"""The share of the wall clock that saves and lost work take, beside Meta's figure 7."""

import math

import pytest

from cprsim.batch.engine import simulate
from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS
from tests.formulas.forms import wasted_share


def test_the_share_that_is_wasted_is_that_of_metas_figure_7():
    interval_s = young_interval_s(15.0, 86400 / 3)

    assert round(interval_s, 1) == 929.5
    assert round(100 * wasted_share(interval_s, 15.0, 86400 / 3), 2) == 3.23


def test_meta_figure_7_in_the_simulator():
    """Five years of 3 failures a day; more of them tell the second order that it leaves out."""
    interval_s = young_interval_s(15.0, 86400 / 3)
    it = Scenario(
        job={"useful_time": "365 d"},
        cluster={"parameter_servers": 4},
        costs={"save": "15 s", "load": "0 s"},
        failures={"distribution": "exponential", "mean": "8 h"},
        policies={"it": {"system": "full", "interval": "optimal"}},
    )
    assert round(it.plan("it").interval_s, 1) == 929.5
    years = dict(zip(COLUMNS, simulate(it, ["it"], range(100), 0)[:, 0].T, strict=True))
    wasted = (years["save"] + years["lost"]) / years["wall"]

    assert years["failures"].sum() / years["wall"].sum() * 86400 == pytest.approx(3.0, rel=0.01)
    error = wasted[:5].std(ddof=1) / math.sqrt(5)
    assert abs(wasted[:5].mean() - wasted_share(interval_s, 15.0, 86400 / 3)) < 3 * error
    exact = 1 - interval_s / blocking_segment_s(interval_s, 15.0, 86400 / 3, 0.0, 0.0)
    assert abs(wasted.mean() - exact) < 3 * wasted.std(ddof=1) / math.sqrt(100)
    assert round(100 * exact, 2) == 3.19
