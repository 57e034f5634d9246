"""Stalls against ByteRobust's table 8 and the other figures of `systems.md`, sections 2.6-2.12."""

import math

import pytest

from cprsim.batch.engine import simulate
from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS
from tests.formulas.forms import relative_throughput, wasted_per_failure_s, wasted_share
from tools.validation.formulas import step_from_throughput_s

MINUTE = 60.0

# ByteRobust (arXiv 2509.16293), table 8, a save at every step: time that it blocks in s, and
# relative MFU in %. By job: 70B on 128 x 16 and 256 x 16 GPUs, 256B on 512 x 16 and 1024 x 16.
MEGATRON = [(6.77, 39.84), (7.14, 39.11), (13.02, 43.07), (12.98, 42.80)]
MEMORY = [(1.84, 70.05), (1.69, 72.36), (0.22, 95.90), (0.18, 96.92)]
BYTE_ROBUST = [(0.04, 99.23), (0.03, 99.12), (0.01, 99.71), (0.02, 99.11)]


@pytest.mark.parametrize(
    ("job", "step_s", "memory"),
    [(0, 4.48, 70.9), (1, 4.59, 73.1), (2, 9.85, 97.8), (3, 9.71, 98.2)],
)
def test_byterobust_table_8(job, step_s, memory):
    # The step follows from the row of Megatron alone, and then tells the other rows.
    block_s, percent = MEGATRON[job]
    found_s = step_from_throughput_s(block_s, percent / 100)
    assert found_s == pytest.approx(step_s, abs=0.01)
    assert relative_throughput(found_s, block_s) == pytest.approx(percent / 100)
    for block_s, percent in (MEMORY[job], BYTE_ROBUST[job]):
        assert 100 * relative_throughput(found_s, block_s) == pytest.approx(percent, abs=2.0)
    assert 100 * relative_throughput(found_s, MEMORY[job][0]) == pytest.approx(memory, abs=0.051)


def test_throughput_at_its_ends():
    assert relative_throughput(3.0, 0.0) == 1.0
    assert relative_throughput(3.0, 9.0) == 0.25
    assert step_from_throughput_s(9.0, 0.25) == 3.0


def test_gemini_on_a_remote_store():
    # MT-NLG: 530e9 parameters of 12 B through 20 Gbit/s, saved as often as it goes. The paper
    # rounds one save to 42 min before it takes 2.5 of them: 105, where 2.5 x 42.4 is 106.
    save_s = 530e9 * 12 * 8 / 20e9
    assert save_s / MINUTE == pytest.approx(42.4)
    assert wasted_per_failure_s(save_s, save_s, save_s) / MINUTE == pytest.approx(106.0)
    whole_s = 42 * MINUTE
    assert wasted_per_failure_s(whole_s, whole_s, whole_s) / MINUTE == pytest.approx(105.0)


def test_waste_is_the_mean_over_the_instants_of_a_failure():
    # Saves start every 10 s and take 3 s: at 0 to 3 s into the cycle the last usable one is 10 to
    # 13 s old, at 3 to 10 s it is 3 to 10 s; (3 x 11.5 + 7 x 6.5) / 10 = 8, and 4 s to load.
    ages = [t + 10 if t < 3 else t for t in ((n + 0.5) / 100 for n in range(1000))]
    assert wasted_per_failure_s(3.0, 10.0, 4.0) == pytest.approx(sum(ages) / len(ages) + 4)
    assert wasted_per_failure_s(3.0, 10.0, 4.0) == pytest.approx(12.0)


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
