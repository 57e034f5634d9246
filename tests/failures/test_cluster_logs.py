"""Logs of clusters' own tools: what all readers have in common, StepFun's faults, and Slurm."""

import csv
import gzip
import json
import math
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.errors import LogError, ScenarioError
from cprsim.failures.logs import monitors
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import EVIDENCE, EVIDENCE_WORDS, PLANNED
from cprsim.failures.logs.readers import read_log
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import Failures
from cprsim.job.platform import Cluster
from cprsim.job.workload import Job
from tests.failures.generated_logs import MEAN_S, NODES, SHAPE, START, WRITERS, Outage, Truth, drawn

STEPFUN = Path(__file__).parents[2] / "../shared/data/stepfun_faults/fault_trace_dev.json.gz"
LANL = STEPFUN.parents[1] / "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
needs_lanl = pytest.mark.skipif(not LANL.exists(), reason=f"needs {LANL}")
needs_stepfun = pytest.mark.skipif(not STEPFUN.exists(), reason=f"needs {STEPFUN}")
FAILURES = 250
#: What generated logs have that is no failure, and is counted.
LEFT_OUT = {
    "stepfun": {},
    "slurm": {
        "rows of whole clusters": 1,
        "rows of planned outages (maint)": 1,
        "rows of planned outages (reboot)": 1,
        "rows of planned outages (upgrade)": 1,
        "rows of state MAINT": 1,
    },
    "prometheus": {"gaps that all series share": 1},
    "xid": {"lines of Xid 13": FAILURES},
}
#: How far the time that a format gives a failure may be off, seconds.
COARSE_S = {"stepfun": 4.4, "slurm": 0.0, "prometheus": 60.0, "xid": 0.0}


def rows_in(path: Path, reader: str) -> tuple[str, int]:
    """What the rows of a file are called, and how many it has."""
    text = path.read_text()
    return {
        "stepfun": ("events", text.count("event_type")),
        "slurm": ("rows", text.count("\n") - 1),
        "prometheus": ("samples", text.count('"0"]') + text.count('"1"]')),
        "xid": ("lines with an Xid", text.count("NVRM: Xid")),
    }[reader]


pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(scope="module")
def truth() -> Truth:
    return drawn(FAILURES, 1)


@pytest.fixture(scope="module")
def generated(truth: Truth, tmp_path_factory) -> Path:
    """A folder with a log of the same failures for each reader."""
    folder = tmp_path_factory.mktemp("generated")
    for reader, write in WRITERS.items():
        write(truth, folder / reader, 2)
    return folder


def written(text: str, reader: str) -> FailureLog:
    Path("log").write_text(text)
    return read_log("log", reader)


# All of them: what a generator puts in comes out


@pytest.mark.parametrize("reader", WRITERS)
def test_a_generated_log_is_read_as_it_was_drawn_and_its_law_is_fitted(
    reader: str, truth: Truth, generated: Path
) -> None:
    log = read_log(generated / reader, reader)

    assert len(log) == FAILURES
    zero_s = truth.starts_s[0] if reader in ("slurm", "xid") else 0.0
    assert np.abs(log.times_s - (truth.starts_s - zero_s)).max() <= COARSE_S[reader]
    # Numbers of nodes stand for their names, one for one.
    pairs = {(at, outage.node) for at, outage in zip(log.nodes, truth.outages, strict=True)}
    assert len(pairs) == len(set(log.nodes.tolist())) == NODES
    if reader == "xid":
        assert log.repaired_s is None
    else:
        lasted = log.repaired_s - log.times_s
        assert np.abs(lasted - truth.lasted_s).max() <= 2 * COARSE_S[reader]
    assert log.population == (NODES if reader == "prometheus" else None)
    assert {**log.dropped, **log.unused} == LEFT_OUT[reader]
    what, read, kept = log.rows
    assert (what, read) == rows_in(generated / reader, reader)
    assert kept + sum(log.dropped.values()) == read
    if reader == "stepfun":
        assert log.epoch is None
    else:
        began_s = 1.709e9 if reader == "prometheus" else START.timestamp() + zero_s
        assert log.epoch == (began_s, reader != "slurm")

    found = cprsim.fit(log)
    (weibull,) = (each.law for each in found.fits if each.law.distribution == "weibull")
    assert weibull.mean_s == pytest.approx(MEAN_S, rel=5 / math.sqrt(FAILURES))
    assert weibull.shape == pytest.approx(SHAPE, rel=5 / math.sqrt(FAILURES))
    assert found.verdict.adequate


@pytest.mark.parametrize("reader", WRITERS)
def test_a_log_with_typing_errors_is_read_or_refused_in_a_line(reader: str) -> None:
    rng = np.random.default_rng(4)
    few = drawn(6, 1)
    WRITERS[reader](few, Path("sound"), 2)
    sound, refusals = Path("sound").read_text(), list[str]()
    pieces = ["", "0", "-1", "nan", "1e400", "null", "[", '"', "|", "\n", "\0", "9" * 30, "T"]
    for _ in range(60):
        at = int(rng.integers(len(sound)))
        text = sound[:at] + str(rng.choice(pieces)) + sound[at + int(rng.integers(9)) :]
        try:
            log = written(text, reader)
        except LogError as error:
            refusals.append(str(error))
        else:
            assert np.isfinite(log.times_s).all()
            assert log.until_s >= log.times_s[-1]
            assert log.repaired_s is None or not (log.repaired_s < log.times_s).any()
    assert refusals
    assert all(len(each.splitlines()) == 1 for each in refusals)


@pytest.mark.parametrize("reader", [name for name in WRITERS if name != "prometheus"])
def test_a_log_that_counts_no_nodes_is_not_replayed(reader: str, generated: Path) -> None:
    failures = Failures.model_validate({"trace": str(generated / reader), "reader": reader})
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


def events(*rows: tuple[str, float, str, str]) -> str:
    return json.dumps(
        [
            {
                "node_id": node,
                "event_time": days,
                "event_type": kind,
                "fault_type": {"Class": cause},
            }
            for node, days, kind, cause in rows
        ]
    )


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
    assert planned is None or planned in PLANNED
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

    assert ", ".join(str(code) for code in monitors.FAILURES) in page
    for words in (monitors.FAILED, monitors.FAULTS, PLANNED, EVIDENCE, EVIDENCE_WORDS):
        assert ", ".join(f"`{word}`" for word in words) in " ".join(page.split())
