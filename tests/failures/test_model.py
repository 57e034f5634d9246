"""The failures of a scenario: replay of logs, and the means that policies plan with."""

import math
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.failures.hits import Hit
from cprsim.failures.logs.traces import read_lanl
from cprsim.failures.presets import PRESETS
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.scenario.mapping import apply_override
from cprsim.sim.cursor import cursor_of
from cprsim.survival.fitted_laws import fit as fit_law
from tests.failures.played import job_of
from tests.survival.cases import HOUR, LANL, needs_lanl, needs_titan, titan_lives


def lanl(system: int = 20, servers: int = 8, trainers: int = 4, **keys: object) -> cprsim.Scenario:
    failures = {"trace": str(LANL), "reader": "lanl", "system": system, **keys}
    return job_of(failures, servers, trainers)


def csv(tmp_path: Path, text: str) -> dict:
    path = tmp_path / "failures.csv"
    path.write_text(text)
    return {"trace": str(path)}


def test_a_csv_log_is_replayed_as_it_stands(tmp_path: Path) -> None:
    log = csv(tmp_path, "time_s,node\n10,3\n20,9\n20,0\n30.5,3\n")
    model = job_of(log).failure_model
    timeline = model.timeline(seed=0, replication=5)

    assert isinstance(timeline, AbsoluteTimeline)
    assert timeline.times_s == [10.0, 20.0, 30.5]
    # Failures at the same time are one; node 9 is trainer 1, the servers being nodes 0 to 7.
    assert timeline.hits == [Hit((3,), ()), Hit((0,), (1,)), Hit((3,), ())]
    assert model.mtbf_s == 100 * 3600 / 3  # the log is watched for as long as the job lasts
    assert model.mean_hit.servers == 1.0
    assert model.mean_hit.server_share == 1.0


def test_kinds_in_a_csv_log_name_the_group(tmp_path: Path) -> None:
    log = csv(tmp_path, "time_s,node,kind\n10,3,trainer\n20,3,parameter_server\n")
    model = job_of(log).failure_model

    assert model.timeline(0, 0).hits == [Hit((), (3,)), Hit((3,), ())]
    assert model.mean_hit.servers == 0.5


def test_exactly_n_failures_are_uniform_over_the_useful_time() -> None:
    model = job_of({"exactly": 5}).failure_model
    times = np.concatenate([model.process.cohort(0, i).times_s for i in range(2)])[:400]
    useful_s = 100 * 3600.0

    assert times.shape == (400, 5)
    assert (np.diff(times) >= 0).all()
    # Kolmogorov-Smirnov, 2,000 values: 1.95 / sqrt(2000) is the 0.1 % critical value.
    ordered = np.sort(times.ravel()) / useful_s
    grid = (np.arange(ordered.size) + 0.5) / ordered.size
    assert np.abs(ordered - grid).max() < 1.95 / math.sqrt(ordered.size)
    assert model.mtbf_s == useful_s / 5


def test_no_failures_have_an_infinite_mtbf() -> None:
    model = job_of({"exactly": 0}).failure_model

    assert model.mtbf_s == math.inf
    assert cursor_of(model.timeline(0, 0)).next_s == math.inf


def test_mtbf_of_a_job_is_that_of_its_nodes_over_their_number() -> None:
    model = job_of({"distribution": "exponential", "mean": "1200 h", "per": "node"}).failure_model

    assert model.mtbf_s == 1200 * 3600 / 12
    assert model.mean_hit.servers == pytest.approx(8 / 12)


@needs_lanl
def test_a_lanl_replication_is_a_draw_of_nodes_and_start() -> None:
    model = lanl(window="0.5:1").failure_model
    a, again, b = (model.timeline(0, i) for i in (0, 0, 1))

    assert a.times_s == again.times_s
    assert a.hits == again.hits
    assert a.times_s != b.times_s
    assert 0 <= a.times_s[0] < a.times_s[-1] < a.period_s
    assert a.period_s == read_lanl(LANL, 20).part((0.5, 1)).span_s


@pytest.mark.slow
@needs_lanl
def test_lanl_starts_are_uniform_over_the_window() -> None:
    """On a circle with uniform starts the failures of a fixed day count as anywhere else."""
    model = lanl(servers=512, trainers=0, window="0.5:1").failure_model
    firsts = np.sort([model.timeline(1, i).times_s[0] for i in range(300)])
    gaps = np.diff(np.unique(read_lanl(LANL, 20).part((0.5, 1)).times_s))
    # Residual time to the next failure from a uniform instant: E = sum gap^2 / (2 sum gap).
    mean = (gaps**2).sum() / (2 * gaps.sum())
    second = (gaps**3).sum() / (3 * gaps.sum())

    assert firsts.mean() == pytest.approx(mean, abs=3 * math.sqrt((second - mean**2) / 300) * 1.05)


@needs_lanl
def test_the_shipped_replay_runs() -> None:
    path = Path(__file__).parents[2] / "scenarios/lanl-replay.toml"
    result = cprsim.run(cprsim.load_scenario(path), policies=["full", "cpr"], replications=5)

    assert result.summary["failures"].min() > 0


@pytest.mark.parametrize(
    "keys",
    [
        {"hits": {"parameter_servers": "33.333333333333336%"}},
        {"hits": {"parameter_servers": "12.1%"}},
        {"hits": {"weights": {"parameter_servers": 1}}},
    ],
)
def test_shares_and_weights_come_back_from_a_file(keys: dict) -> None:
    first = job_of({"distribution": "exponential", "mean": "5 h", **keys}, trainers=0)

    assert cprsim.Scenario(**first.mapping()) == first


# --- Presets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_all_that_a_scenario_needs_and_a_resolved_one_has_its_keys(name):
    found = job_of({"preset": name})
    mapping = found.mapping()

    assert 0 < found.failure_model.mtbf_s < math.inf
    assert len(PRESETS[name].source) > 40
    assert mapping["failures"]["preset"] == name
    assert mapping["failures"]["distribution"] == PRESETS[name].keys["distribution"]
    assert cprsim.Scenario(**mapping).mapping() == mapping


def test_what_stands_beside_a_preset_wins():
    failures = job_of({"preset": "cpr-production", "mean": "14 h"}).failures

    assert (failures.mean_s, failures.shape) == (14 * HOUR, 0.675)


def test_the_cpr_law_has_the_published_medians():
    """Means of 14 and 30 h, medians of 8 and 17 h: within 1 %."""
    for mean, median in (("14 h", 8.0), ("30 h", 17.0)):
        law = job_of({"preset": "cpr-production", "mean": mean}).failures.law
        assert law.survival([median * HOUR])[0] == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(("name", "rate"), [("rsc-1", 6.50), ("rsc-2", 2.34)])
def test_meta_s_clusters_fail_as_often_as_published(name, rate):
    model = job_of({"preset": name}).failure_model

    assert 1000 * 86400 / (model.mtbf_s * 12) == pytest.approx(rate, rel=1e-5)


def test_a_preset_can_be_set_over_a_law_and_a_law_over_a_preset():
    law = {"failures": {"distribution": "gamma", "mean": "5 h", "shape": 2.0, "per": "job"}}
    apply_override(law, "failures.preset=lanl-20")
    assert law["failures"] == {"preset": "lanl-20"}

    apply_override(law, "failures.distribution=exponential")
    assert law["failures"] == {"distribution": "exponential"}

    other = {"failures": {"preset": "lanl-20"}}
    apply_override(other, "failures.exactly=2")
    assert other["failures"] == {"exactly": 2}


def test_a_mean_can_be_set_beside_a_preset():
    mapping = {"failures": {"preset": "lanl-20"}}
    apply_override(mapping, "failures.mean=5 h")

    assert job_of(mapping["failures"]).failures.mean_s == 5 * HOUR


@needs_lanl
@pytest.mark.parametrize(
    ("name", "system", "window"), [("lanl-20", 20, "0.5:1"), ("lanl-18", 18, None)]
)
def test_the_lanl_laws_are_what_fit_finds(name, system, window):
    best = cprsim.fit(LANL, "lanl", system, window=window).best.law
    failures = job_of({"preset": name}).failures

    assert failures.distribution == best.distribution
    assert failures.mean_s == pytest.approx(best.expected_s, rel=1e-5)
    assert failures.shape == pytest.approx(best.shape, rel=1e-5)


@needs_titan
def test_the_titan_law_is_what_fit_finds():
    gamma = fit_law(titan_lives("old"), "gamma").law
    failures = job_of({"preset": "titan-old"}).failures

    assert failures.mean_s == pytest.approx(gamma.expected_s, rel=1e-5)
    assert failures.shape == pytest.approx(gamma.shape, rel=1e-5)
