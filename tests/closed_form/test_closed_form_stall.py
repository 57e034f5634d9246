"""CheckFreq's intervals by hand, and Meta's figure 7 in the simulator."""

import math
import re

import pytest

from cprsim.batch.engine import simulate
from cprsim.closed_form.intervals import young_s
from cprsim.closed_form.makespan import blocking_segment_s
from cprsim.closed_form.stall import checkfreq_settled, checkfreq_steps
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS


def test_checkfreq_by_hand():
    # (10 - 2) / 0.3 = 26.7; with the GPU snapshot (10 - 0.5) / 0.3 = 31.7
    assert checkfreq_steps(10.0, 0.3, 2.0) == 27
    assert checkfreq_steps(10.0, 0.3, 2.0, 0.5) == 32
    assert checkfreq_steps(10.0, 0.3, 2.0, 3.0) == 27
    assert checkfreq_steps(10.0, 2.0, 2.0) == 4
    assert checkfreq_steps(1.0, 5.0, 1.0) == 1
    assert checkfreq_steps(1.0, 5.0, 20.0) == 1


@pytest.mark.parametrize("step_s", [0.07, 0.9, 4.0])
def test_checkfreq_is_the_shortest_interval_that_persists_in_time(step_s):
    steps = checkfreq_steps(7.3, step_s, 0.4)
    assert steps * step_s >= 7.3 - 0.4
    assert steps == 1 or (steps - 1) * step_s < 7.3 - 0.4


def test_settled_steps_by_hand():
    # 2 s are 5 % of 40 steps of 1 s, whatever it starts from below them.
    assert checkfreq_settled(10, 1.0, 2.0) == 40
    assert checkfreq_settled(11, 1.0, 2.0) == 41
    assert checkfreq_settled(50, 1.0, 2.0) == 50
    assert checkfreq_settled(1, 0.1, 0.7, max_overhead=0.1, more=3) == 70
    assert checkfreq_settled(3, 2.0, 0.0) == 3


@pytest.mark.parametrize("stall_s", [0.03, 0.7, 2.0, 11.0])
@pytest.mark.parametrize("first", [1, 8, 9])
def test_settled_steps_are_where_adding_two_at_a_time_stops(first, stall_s):
    steps = first
    while stall_s / (steps * 0.3) > 0.035:
        steps += 2
    assert checkfreq_settled(first, 0.3, stall_s, 0.035) == steps


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checkfreq_steps(-1.0, 1.0, 1.0), "save_s must be >= 0, got -1.0"),
        (lambda: checkfreq_steps(1.0, 0.0, 1.0), "step_s must be > 0, got 0.0"),
        (lambda: checkfreq_settled(0, 1.0, 1.0), "first must be > 0, got 0"),
        (lambda: checkfreq_settled(1, 0.0, 1.0), "step_s must be > 0, got 0.0"),
        (lambda: checkfreq_settled(1, 1.0, -1.0), "stall_s must be >= 0, got -1.0"),
        (lambda: checkfreq_settled(1, 1.0, 1.0, 0.0), "max_overhead must be > 0, got 0.0"),
        (lambda: checkfreq_steps(1.0, 1.0, math.inf), "cpu_snapshot_s must be finite, got inf"),
        (lambda: checkfreq_steps(1.0, 1.0, 1.0, math.nan), "gpu_snapshot_s must be >= 0, got nan"),
    ],
)
def test_refuses_what_makes_no_sense(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_meta_figure_7_in_the_simulator():
    """Five years of 3 failures a day; more of them tell the second order that it leaves out."""
    interval_s = young_s(15.0, 86400 / 3)
    # "Optimizing effective training time", PyTorch blog (2026): failures x interval / 2 are unsaved
    # and training time / interval x stall blocks, to first order.
    printed = 15.0 / interval_s + interval_s / (2 * 86400 / 3)
    assert round(100 * printed, 2) == 3.23
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
    assert abs(wasted[:5].mean() - printed) < 3 * error
    exact = 1 - interval_s / blocking_segment_s(interval_s, 15.0, 86400 / 3, 0.0, 0.0)
    assert abs(wasted.mean() - exact) < 3 * wasted.std(ddof=1) / math.sqrt(100)
    assert round(100 * exact, 2) == 3.19
