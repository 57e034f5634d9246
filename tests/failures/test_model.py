"""The failures of a scenario: replay of logs, and the means that policies plan with."""

import math
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.failures.hits import Hit
from cprsim.failures.logs.traces import read_lanl
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.sim.cursor import cursor_of

LANL = Path(__file__).parents[3] / "shared/data/lanl_failures"
LANL_CSV = LANL / "lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
needs_lanl = pytest.mark.skipif(not LANL_CSV.exists(), reason=f"needs the LANL log, {LANL_CSV}")


def scenario(failures: dict, servers: int = 8, trainers: int = 4) -> cprsim.Scenario:
    return cprsim.Scenario(
        job={"useful_time": "100 h"},
        cluster={"parameter_servers": servers, "trainers": trainers},
        costs={"save": "1 min", "load": "1 min"},
        failures=failures,
        policies={"full": {"system": "full"}},
    )


def lanl(system: int = 20, servers: int = 8, trainers: int = 4, **keys: object) -> cprsim.Scenario:
    failures = {"trace": str(LANL_CSV), "reader": "lanl", "system": system, **keys}
    return scenario(failures, servers, trainers)


def csv(tmp_path: Path, text: str) -> dict:
    path = tmp_path / "failures.csv"
    path.write_text(text)
    return {"trace": str(path)}


def test_a_csv_log_is_replayed_as_it_stands(tmp_path: Path) -> None:
    log = csv(tmp_path, "time_s,node\n10,3\n20,9\n20,0\n30.5,3\n")
    model = scenario(log).failure_model
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
    model = scenario(log).failure_model

    assert model.timeline(0, 0).hits == [Hit((), (3,)), Hit((3,), ())]
    assert model.mean_hit.servers == 0.5


def test_exactly_n_failures_are_uniform_over_the_useful_time() -> None:
    model = scenario({"exactly": 5}).failure_model
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
    model = scenario({"exactly": 0}).failure_model

    assert model.mtbf_s == math.inf
    assert cursor_of(model.timeline(0, 0)).next_s == math.inf


def test_mtbf_of_a_job_is_that_of_its_nodes_over_their_number() -> None:
    model = scenario({"distribution": "exponential", "mean": "1200 h", "per": "node"}).failure_model

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
    assert a.period_s == read_lanl(LANL_CSV, 20).part((0.5, 1)).span_s


@needs_lanl
def test_lanl_draws_give_as_many_failures_as_the_log_has() -> None:
    """Mean failures of k random nodes over the whole circle: rows x k / population."""
    model = lanl(servers=200, trainers=56, window="0.5:1").failure_model
    log = read_lanl(LANL_CSV, 20).part((0.5, 1))
    # Sampling without replacement: the variance of the mean is that of per-node counts.
    per_node = np.bincount(log.nodes, minlength=log.population)
    k, n = 256, log.population
    expected = per_node.sum() * k / n
    deviation = math.sqrt(k * per_node.var(ddof=1) * (1 - k / n))
    draws = [
        sum(len(h.servers) + len(h.trainers) for h in model.timeline(0, i).hits) for i in range(200)
    ]

    # Rows of one node at one minute are one failure: five such pairs at the most in this log.
    assert np.mean(draws) == pytest.approx(expected, abs=3 * deviation / math.sqrt(200) + 5)
    # Nodes that fail at one minute are one failure of the job, if it has any of them.
    sizes = [len(set(log.nodes[log.times_s == at])) for at in np.unique(log.times_s)]
    hit, with_server = (
        sum(1 - math.comb(n - size, nodes) / math.comb(n, nodes) for size in sizes)
        for nodes in (k, 200)
    )
    assert model.mtbf_s == pytest.approx(log.span_s / hit)
    assert model.mean_hit.servers == pytest.approx(sum(sizes) * 200 / n / hit)
    assert model.mean_hit.trainers == pytest.approx(sum(sizes) * 56 / n / hit)
    assert model.mean_hit.server_share == pytest.approx(with_server / hit)


@needs_lanl
def test_lanl_starts_are_uniform_over_the_window() -> None:
    """On a circle with uniform starts the failures of a fixed day count as anywhere else."""
    model = lanl(servers=512, trainers=0, window="0.5:1").failure_model
    firsts = np.sort([model.timeline(1, i).times_s[0] for i in range(300)])
    gaps = np.diff(np.unique(read_lanl(LANL_CSV, 20).part((0.5, 1)).times_s))
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
    first = scenario({"distribution": "exponential", "mean": "5 h", **keys}, trainers=0)

    assert cprsim.Scenario(**first.mapping()) == first
