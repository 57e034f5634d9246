"""From a log to a block that is pasted: it runs, and its failures are as frequent as the log's."""

import math
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import cprsim
from cprsim.failures.logs.readers import READERS
from cprsim.fitting.log_fit import LogFit
from tests.failures.generated_logs import EVERY, MEAN_S, NODES, SHAPE, Truth, drawn
from tests.survival.cases import SHARED

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "scenarios/quickstart.toml"
FAILURES = 250
#: How far the time that a format gives a failure may be off, s.
COARSE_S = {"stepfun": 4.4, "prometheus": 60.0, "lanl": 60.0, "spot": 60.0}
#: How far the mean of a law that is adequate may be off that of the data.
JUDGED = 0.10


class Log(NamedTuple):
    """A log at hand, what is taken of it, and its nodes."""

    path: str
    nodes: int
    taken: Mapping[str, Any] = MappingProxyType({})
    in_archive: str | None = None

    @property
    def name(self) -> str:
        told = " ".join(f"{key}={value}" for key, value in self.taken.items())
        return f"{self.in_archive or self.path} {told}"


LANL = "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
GRID = "grid5000_fta/g5k_dev_{}.tab.gz"
SPOT = "availability/16-node/aws-08-27-2023/us-{}_v100_1.json"
SYSTEMS = {3: 128, 4: 128, 5: 128, 6: 32, 8: 164, 18: 1024, 20: 512}
LOGS = [
    *(Log(LANL, nodes, {"system": system}) for system, nodes in SYSTEMS.items()),
    *(Log(LANL, SYSTEMS[each], {"system": each, "window": "0.5:1"}) for each in (18, 20)),
    Log(LANL, 256, {"system": 20, "view": "job", "nodes": 256}),
    *(Log(LANL, 64, {"system": each, "view": "uptime"}) for each in (18, 20)),
    Log(GRID.format("site3_c1"), 57),
    Log(GRID.format("site3_c1"), 57, {"coalesce": "1 h"}),
    Log(GRID.format("site6_c1"), 103, {"coalesce": "5 min"}),
    *(
        Log("spot_preemption/skypilot_spot_traces.tar.xz", 16, {}, SPOT.format(zone))
        for zone in ("west-2a", "east-2b")
    ),
    Log("stepfun_faults/fault_trace_dev.json.gz", 124),
    Log("alibaba_ssd/ssd_failures_trimmed.csv.gz", 12_033),
]


def pasted(fitted: LogFit, nodes: int, trainers: int = 0) -> cprsim.Scenario:
    """The quickstart on so many servers, with the block in place of its failures.

    Without replication, under which a job on spot instances gets nowhere, as it says.
    """
    tables = tomllib.loads(QUICKSTART.read_text()) | tomllib.loads(fitted.toml())
    tables["cluster"] = {"parameter_servers": nodes, "trainers": trainers}
    del tables["policies"]["replication"]
    return cprsim.Scenario(**tables)


def own_mtbf(fitted: LogFit, nodes: int) -> tuple[float, float]:
    """The least and the most seconds between failures of such a job that the log tells."""
    if fitted.view.per == "node":
        held = fitted.view.node_time
        return held.low_s / nodes, held.high_s / nodes
    mean_s = float(fitted.view.sample.durations_s.mean())
    return mean_s, mean_s


def check(fitted: LogFit, nodes: int, trainers: int = 0) -> None:
    scenario = pasted(fitted, nodes, trainers)
    model, found = scenario.failure_model, cprsim.run(scenario, replications=8).summary
    low_s, high_s = own_mtbf(fitted, nodes + trainers)

    assert np.isfinite(found["overhead"]).all()
    if scenario.failures.trace is None:
        assert (1 - JUDGED) * low_s <= model.mtbf_s <= (1 + JUDGED) * high_s
        return
    log = fitted.source.failures()
    log = log if fitted.source.coalesce_s is None else log.coalesced(fitted.source.coalesce_s)
    instants = len(np.unique(log.times_s))
    if READERS[fitted.source.reader].of_the_job:  # as it stands, from its second 0 on
        watched_s = max(log.times_s[-1] - log.start_s, scenario.job.useful_time_s)
    else:  # a circle: where a log begins and ends with a failure, a mean gap closes it
        ends = log.times_s[0] == log.start_s and log.times_s[-1] == log.start_s + log.span_s
        watched_s = log.span_s * (instants / (instants - 1) if ends else 1)
    if log.came_s is not None:  # counted from when all nodes of the job are there
        all_s = float(log.came_s.max())
        watched_s, instants = watched_s - all_s, len(np.unique(log.times_s[log.times_s >= all_s]))
    assert model.mtbf_s == pytest.approx(watched_s / instants, rel=1e-9)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return drawn(FAILURES, 1)


@pytest.fixture
def generated(truth: Truth, tmp_path: Path, request) -> LogFit:
    """A log of known law, read without saying what it is."""
    reader, write = EVERY[request.param]
    write(truth, tmp_path / "log", 2)
    fitted = cprsim.fit(tmp_path / "log")
    assert fitted.source.reader == reader
    return fitted


def test_there_is_an_example_of_every_reader():
    assert {reader for reader, _ in EVERY.values()} == {*READERS, "intervals"}


@pytest.mark.slow
@pytest.mark.parametrize("generated", EVERY, indirect=True)
def test_a_generator_comes_back_with_its_law(generated: LogFit, truth: Truth):
    (weibull,) = (each.law for each in generated.fits if each.law.distribution == "weibull")

    assert weibull.expected_s == pytest.approx(MEAN_S, rel=5 / math.sqrt(FAILURES))
    assert weibull.shape == pytest.approx(SHAPE, rel=5 / math.sqrt(FAILURES))
    assert generated.verdict.adequate
    reader = generated.source.reader
    if reader == "intervals":
        return
    log, coarse_s = generated.source.failures(), COARSE_S.get(reader, 1e-3)
    assert np.diff(log.times_s) == pytest.approx(np.diff(truth.starts_s), abs=2 * coarse_s)
    assert log.kept >= len(log)
    if log.repaired_s is not None and reader != "spot":  # which has no names of nodes
        assert log.repaired_s - log.times_s == pytest.approx(truth.lasted_s, abs=2 * coarse_s)


@pytest.mark.parametrize(
    "generated",
    [each if each == "lanl" else pytest.param(each, marks=pytest.mark.slow) for each in EVERY],
    indirect=True,
)
def test_the_block_of_an_example_runs_at_its_mtbf(generated: LogFit):
    check(generated, NODES)


def test_the_block_of_the_log_in_the_repository():
    log = ROOT / "scenarios/failures.csv"
    check(cprsim.fit(log, coalesce="5 min"), 8, 20)
    check(cprsim.fit(log, view="job", nodes=12), 12, 20)


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_the_block_of_a_log_at_hand_runs_at_its_mtbf(log: Log, tmp_path: Path):
    path = SHARED / log.path
    if not path.exists():
        pytest.skip(f"needs {log.path} of the shared data")
    if log.in_archive is not None:
        with tarfile.open(path) as archive:
            archive.extract(log.in_archive, tmp_path, filter="data")
        path = tmp_path / log.in_archive
    check(cprsim.fit(path, **log.taken), log.nodes)


@pytest.mark.slow
def test_the_block_of_titans_lives_runs_and_tells_that_its_mean_is_a_guess():
    """Most GPUs outlived the watch: no mean is known to 10 %."""
    path = SHARED / "titan_gpu/gc_summary_loc.csv.gz"
    if not path.exists():
        pytest.skip("needs titan_gpu of the shared data")
    fitted = cprsim.fit(path)
    scenario = pasted(fitted, 1000)

    assert np.isfinite(cprsim.run(scenario, replications=8).summary["overhead"]).all()
    assert scenario.failure_model.mtbf_s == pytest.approx(fitted.best.law.expected_s / 1000, 1e-5)
    assert any(note.endswith(": a guess.") for note in fitted.notes)
