"""Logs of clusters' own tools: what all readers have in common, StepFun's faults, and Slurm."""

import csv
import gzip
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.errors import LogError, ScenarioError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import read_log
from cprsim.failures.logs.words import WORDS
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import Failures
from cprsim.job.platform import Cluster
from cprsim.job.workload import Job
from tests.failures.generated_logs import WRITERS, Outage, Truth, drawn

STEPFUN = Path(__file__).parents[2] / "../shared/data/stepfun_faults/fault_trace_dev.json.gz"
LANL = STEPFUN.parents[1] / "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
needs_lanl = pytest.mark.skipif(not LANL.exists(), reason=f"needs {LANL}")
needs_stepfun = pytest.mark.skipif(not STEPFUN.exists(), reason=f"needs {STEPFUN}")

pytestmark = pytest.mark.usefixtures("folder")


def written(text: str, reader: str) -> FailureLog:
    Path("log").write_text(text)
    return read_log("log", reader)


@pytest.mark.parametrize("reader", [name for name in WRITERS if name != "prometheus"])
def test_a_log_that_counts_no_nodes_is_not_replayed(reader: str) -> None:
    WRITERS[reader](drawn(40, 1), Path("log"), 2)
    failures = Failures.model_validate({"trace": "log", "reader": reader})
    cluster = Cluster(parameter_servers=4, trainers=2)
    job = Job.model_validate({"useful_time": "100 h"})

    with pytest.raises(ScenarioError, match="doesn't say how many nodes its system has"):
        FailureModel(failures, cluster, job).check()


@pytest.mark.slow
@pytest.mark.parametrize("reader", WRITERS)
def test_where_no_law_fits_only_a_log_that_counts_nodes_is_replayed(reader: str) -> None:
    # Gaps of 1 and 1000 min in turn: no law has two lengths only.
    at_s = np.cumsum([60.0, 60_000.0] * 40).tolist()
    truth = Truth([Outage(f"gpu{i % 8}", at, at + 900) for i, at in enumerate(at_s)], 3e6)
    WRITERS[reader](truth, Path("log"), 2)

    found = cprsim.fit("log", reader=reader)

    assert not found.verdict.adequate
    block = tomllib.loads(found.toml())["failures"]
    assert ("trace" in block) == (reader == "prometheus")
    assert ("durations" in block) == (reader != "prometheus")


# Causes


def test_causes_are_kept_by_windows_and_bursts() -> None:
    log = FailureLog(
        np.array([0.0, 10.0, 20.0, 30.0]), np.arange(4), 0.0, 30.0, causes=("a", None, "b", "c")
    )

    assert log.part((0.5, 1)).causes == ("b", "c")
    assert log.part((0, 0.5)).causes == ("a", None)
    assert log.coalesced(15.0).causes == ("a", None, "b", "c")


def test_causes_are_one_a_failure() -> None:
    with pytest.raises(LogError, match="must have the same length"):
        FailureLog(np.array([0.0, 1.0]), np.arange(2), 0.0, 1.0, causes=("a",))


@needs_lanl
def test_lanl_causes_are_the_notes_of_its_columns() -> None:
    columns = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
    with gzip.open(LANL, "rt", encoding="latin-1") as file:
        rows = [row for row in csv.DictReader(file) if row["System"] == "20"]
    known = Counter("".join(row[column] for column in columns).strip() for row in rows)

    causes = Counter(read_log(LANL, "lanl", 20).causes)

    # A few rows have no start; none has two notes.
    assert causes.most_common(3) == [("CPU", 1155), ("Memory Dimm", 386), ("OS", 301)]
    assert causes.total() <= known.total() < 1.01 * causes.total()
    assert all(count <= known[cause or ""] for cause, count in causes.items())


# StepFun


@needs_stepfun
def test_stepfun_counts_are_those_of_its_source() -> None:
    log = read_log(STEPFUN, "stepfun")

    assert (len(log), len(set(log.nodes.tolist()))) == (335, 124)
    # The whole trace: median about 20 h, the worst tenth of all servers has 41 % of the faults.
    assert np.median(log.repaired_s - log.times_s) / 3600 == pytest.approx(20, rel=0.1)


# Slurm


def event(node: str, start: str, end: str, state: str = "DOWN*", reason: str = "no ping") -> str:
    whole = [text if text == "Unknown" else f"2024-01-{text}:00" for text in (start, end)]
    return f"c|{node}|{whole[0]}|{whole[1]}|{state}|{reason}|slurm(64030)\n"


@pytest.mark.parametrize(
    ("reason", "planned"),
    [
        ("Maintenance window", "maint"),
        ("draining for maint", "maint"),
        ("Reboot ASAP : reboot issued", "reboot"),
        ("BIOS update", "update"),
        ("OS upgrade", "upgrade"),
        ("scheduled power test", "scheduled"),
        ("Node unexpectedly rebooted", None),
        ("unscheduled power loss", None),
        ("unplanned maintenance of the PSU", None),
        ("Not responding", None),
        ("Kill task failed", None),
        ("batch job complete failure", None),
        ("gres/gpu count reported lower than configured (7 < 8)", None),
        ("", None),
    ],
)
def test_slurm_reasons_tell_planned_outages(reason: str, planned: str | None) -> None:
    rows = event("n1", "01T00:00", "01T01:00") + event("n2", "02T00:00", "02T01:00", reason=reason)

    log = written(rows, "slurm")

    assert log.dropped == ({f"rows of planned outages ({planned})": 1} if planned else {})
    assert planned is None or planned in WORDS["reasons"]["planned"]
    assert len(log) == 2 - bool(planned)


FAILED = ("DOWN", "down*", "DRAIN*", "DRNG", "FAIL", "IDLE+DRAIN", "ERROR")
OTHERS = ("MAINT", "DOWN$", "DOWN~", "DRAIN@", "IDLE", "REBOOT", "DOWN+MAINT")


@pytest.mark.parametrize("state", [*FAILED, *OTHERS])
def test_slurm_states_that_are_failures_and_others(state: str) -> None:
    rows = event("n1", "01T00:00", "01T01:00") + event("n2", "02T00:00", "02T01:00", state)

    log = written(rows, "slurm")

    assert log.dropped == ({f"rows of state {state}": 1} if state in OTHERS else {})
    assert (len(log), log.until_s) == (2 - (state in OTHERS), 25 * 3600)  # seen, all the same


def test_every_page_has_the_lists_that_readers_go_by() -> None:
    page = (Path(__file__).parents[2] / "docs/failures.md").read_text(encoding="utf-8")

    assert ", ".join(WORDS["xid"]) in page
    for words in (*WORDS["slurm"].values(), *WORDS["reasons"].values()):
        assert ", ".join(f"`{word}`" for word in words) in " ".join(page.split())
