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


# Slurm


def test_every_page_has_the_lists_that_readers_go_by() -> None:
    page = (Path(__file__).parents[2] / "docs/failures.md").read_text(encoding="utf-8")

    assert ", ".join(WORDS["xid"]) in page
    for words in (*WORDS["slurm"].values(), *WORDS["reasons"].values()):
        assert ", ".join(f"`{word}`" for word in words) in " ".join(page.split())
