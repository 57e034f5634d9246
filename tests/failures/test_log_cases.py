"""Logs as people have them: each case gives its right value with the command of its row.

The files imitate what operators' tools write; the drawn ones are of the same kinds.
"""

import json
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import cprsim
from cprsim.cli import command as cli
from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import node_failures
from cprsim.failures.logs.options import Rules
from cprsim.failures.logs.outages import repair_times
from cprsim.failures.logs.source import LogSource, recognised
from cprsim.failures.logs.views import histories, uptimes
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import Failures
from cprsim.job.platform import Cluster
from cprsim.job.workload import Job
from tests.failures.drawn_cases import KINDS, Drawn, lives
from tests.failures.logs_by_hand import log_of

FOLDER = Path(__file__).parent / "log_cases"
LOGS = 25  # of each kind; the slow test has twenty times as many
MEAN_H = 224 / 15  # of the 15 gaps that most cases have


class Case(NamedTuple):
    """What is true of a case, and the options of the plainest command that gives it.

    `failures` counts those kept, `mean_h` is of gaps or lives, `rate` in 1,000 node-days; None
    where a log has none of it.
    """

    file: str
    failures: int
    mean_h: float
    rate: float | None = None
    repair_h: float | None = None
    options: tuple[str, ...] = ()


CASES = (
    Case("c02a_static_node_maintenance.txt", 16, MEAN_H, 321, 0.5),
    Case("c03_bar_in_reason.txt", 16, MEAN_H, 321, 0.5),
    Case("c05_blackwell.log", 16, MEAN_H, 321),
    Case("c05b_mixed.log", 20, 265 / 19, 344),  # the 16, and four Xids 79 before them
    Case("c06_sxid_and_fell_off.log", 48, 14.66, 273),
    Case("c08_new_names.json", 32, 174 / 31, 1000, 1.0),
    Case("c09_status_unknown.json", 25, 100 / 24, 25 / 30 * 1000, 1.0),
    Case("c10_three_statuses.json", 25, 100 / 24, 25 / 30 * 1000, 1.0),
    Case("c12_daily_flag.csv", 18, 48.0, 18 / 342 * 1000),
    Case("c12_daily_flag.csv", 18, 48.0, 18 / 342 * 1000, None, ("--failure-when", "failure=1")),
    Case("c13_microseconds.csv", 16, MEAN_H, 321, None, ("--time-unit", "us")),
    Case("c15_T_E.csv", 20, 45986400 / 3600),
    Case("c16_restarts.csv", 16, MEAN_H),
    Case("c17_once.csv", 16, MEAN_H, 321, 0.75),
    Case("c17_two_monitors.csv", 16, MEAN_H, 321, 0.75),
)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli._main(["fit", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}{' '.join(case.options)}")
def test_a_case_gives_its_right_value(case, capsys):
    path = str(FOLDER / case.file)
    found = json.loads(said(capsys, path, *case.options, "--json"))
    text = " ".join(said(capsys, path, *case.options).split())

    of_lives = found["reader"] == "intervals"
    assert found["n"] + found["ties"] == case.failures - (not of_lives)
    assert found["rows"]["kept"] >= case.failures
    span_h = found["mean_s"] * found["n"] / 3600
    assert span_h == pytest.approx(case.mean_h * (case.failures - (not of_lives)), rel=1e-3)
    if case.rate is None:
        assert found["node_failures"] is None
        assert " nodes" not in text.replace("uptimes of nodes", "")
    else:
        assert found["node_failures"]["per_1000_node_days"] == pytest.approx(case.rate, rel=2e-3)
        assert f"{case.rate:,.0f} failures per 1,000 node-days" in text.replace("52.6", "53")
    if case.repair_h is None:
        assert found["repairs"] is None
    else:
        assert found["repairs"]["n"] == case.failures
        assert found["repairs"]["mean_s"] == pytest.approx(case.repair_h * 3600)
    assert found["planned"] is None


# What a user is told


def notes(file: str, **options: object) -> str:
    return "\n".join(cprsim.fit(FOLDER / file, **options).notes)


def test_a_mean_that_cannot_be_is_told_with_the_way_out():
    assert "Mean time between failures of 622 d: is the unit right?" in notes(
        "c13_microseconds.csv"
    )
    assert "is the unit right" not in notes("c13_microseconds.csv", rules={"time_unit": "us"})


def test_a_log_of_the_next_century_is_doubted(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time,node\n" + "".join(f"{5_000_000_000 + 3600 * k},0\n" for k in range(12)))

    assert "taken for epoch seconds and begin after 2099" in "\n".join(read(path).notes)


@pytest.mark.slow
def test_what_was_guessed_is_told_with_the_way_out():
    assert "12 nodes left before the end of the log" in notes("c08_new_names.json")
    assert 'by status="unknown"; else give --failure-when value=0' in notes(
        "c09_status_unknown.json"
    )
    assert 'the series with status="true"' in notes("c10_three_statuses.json")
    assert "Failures are the rows with failure=1" in notes("c12_daily_flag.csv")
    assert "16 failures of nodes that were down already" in notes("c17_two_monitors.csv")


def test_nodes_that_vanish_have_failed_where_their_owner_says_so():
    found = cprsim.fit(FOLDER / "c08_new_names.json", rules={"left_when": "never"}).document()

    assert found["rows"]["kept"] == 768
    assert found["repairs"]["n"] == 44


def test_polarity_the_wrong_way_round_is_told(tmp_path):
    text = (FOLDER / "c09_status_unknown.json").read_text()
    path = tmp_path / "up.json"
    path.write_text(text.replace('"unknown"', '"u"').replace("kube_node_status_condition", "x"))
    found = cprsim.fit(path)
    right = cprsim.fit(path, rules={"failure_when": "value=1"})

    assert "Nodes are down 97 % of the time" in "\n".join(found.notes)
    assert right.document()["repairs"]["mean_s"] == pytest.approx(3600)


def test_series_that_nothing_tells_apart_say_how_they_differ(tmp_path, capsys):
    path = tmp_path / "up.json"
    path.write_text((FOLDER / "c10_three_statuses.json").read_text().replace("status", "device"))

    assert cli._main(["fit", str(path), "--reader", "prometheus"]) == 2
    assert "they differ in device" in capsys.readouterr().err


def test_series_of_bad_states_say_which_to_ask_for(tmp_path):
    answer = json.loads((FOLDER / "c10_three_statuses.json").read_text())
    result = answer["data"]["result"]
    answer["data"]["result"] = [each for each in result if each["metric"]["status"] != "true"]
    path = tmp_path / "up.json"
    path.write_text(json.dumps(answer))

    with pytest.raises(
        LogError, match=r'differ in status; ask for one status, e.g. {status="true"}'
    ):
        read(path)


def test_what_was_left_out_is_told_first_where_too_little_is_left(tmp_path, capsys):
    lines = (FOLDER / "c05_blackwell.log").read_text().replace("Fatal", "Nonfatal").splitlines()
    path = tmp_path / "kern.log"
    path.write_text("\n".join([line for line in lines if "154" not in line or "03-03" in line]))

    assert cli._main(["fit", str(path)]) == 2
    told = capsys.readouterr().err
    assert told.index("of 19 lines with an Xid kept 3; left out 8 lines of Xid 145") < told.index(
        "too few to fit a law"
    )
    assert len(told.splitlines()) == 1


def test_the_owner_says_what_was_planned():
    def kept(**rules):
        return len(read(FOLDER / "c02a_static_node_maintenance.txt", rules=rules))

    assert kept() == 16
    assert kept(planned="static node maintenance") == 8
    assert kept(planned="static node maintenance", not_planned="unhealthy") == 16
    restarts = read(FOLDER / "c16_restarts.csv", rules={"planned": "nccl"})
    assert (len(restarts), len(restarts.planned)) == (8, 8)


def test_a_column_of_flags_that_nobody_knows_is_named(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"2025-03-{day:02},n{day % 3},{day % 2}\n" for day in range(1, 29)]
    path.write_text("date,node,zz\n" + "".join(rows))
    found = "\n".join(read(path).notes)

    assert "Column 'zz' holds only 0 and 1 and was not used" in found
    assert len(read(path, rules={"failure_when": "zz=1"})) == 14


def test_the_rarer_flag_of_regular_rows_is_a_failure(tmp_path):
    text = (FOLDER / "c12_daily_flag.csv").read_text().replace("failure", "zz")
    path = tmp_path / "log.csv"
    path.write_text(text)

    assert len(read(path)) == 18
    assert "Failures are the rows with zz=1" in "\n".join(read(path).notes)


def test_rules_of_a_scenario_are_read_as_they_are_written():
    rules = {"xids": [31, 43]}
    found = Failures.model_validate({"trace": "log", "reader": "xid", "rules": rules})

    assert found.mapping()["rules"] == rules


def test_a_scenario_replays_by_the_same_rules(tmp_path):
    rows = {"failure_when": "zz=yes"}
    path = tmp_path / "log.csv"
    lines = [f"{3600 * k},{k % 4},{'yes' if k % 3 else 'no'}\n" for k in range(60)]
    path.write_text("time,node,zz\n" + "".join(lines))
    failures = tomllib.loads(cprsim.fit(path, rules=rows).toml())["failures"]

    assert failures["rules"] == rows
    cluster, job = Cluster(parameter_servers=4), Job.model_validate({"useful_time": "100 h"})
    model = FailureModel(Failures.model_validate(failures), cluster, job)
    assert model.mtbf_s == pytest.approx(100 * 3600 / 40)


def test_nodes_are_watched_from_when_they_came_to_when_they_left():
    ends = {"came_s": np.array([0.0, 20, 0]), "left_s": np.array([20.0, 40, 40])}
    log = log_of([10, 30], [0, 1], [12, 45], 40.0, population=3, **ends)
    lives = uptimes(log).sample
    repairs = repair_times(log).sample
    seen = histories(log, np.ones(2, np.bool_), 3)

    assert log.node_s(3) == 80
    assert (lives.durations_s.tolist(), lives.observed.tolist()) == ([8.0], [False])
    assert (repairs.durations_s.tolist(), repairs.observed.tolist()) == ([2, 10], [True, False])
    assert (seen.first_s.tolist(), seen.failed.tolist()) == ([10, 10, 40], [True, True, False])
    assert node_failures(log).node_days == pytest.approx(80 / 86400)
    assert log.part((0, 0.5)).node_s(3) == 20
    assert log.without_worst(1).node_s(2) == 60


# Drawn logs of each kind


def read(path: Path, **options: object) -> FailureLog:
    return LogSource.from_options(path, **options).failures()


def check(kind: str, seed: int, path: Path) -> None:
    reader, draw = KINDS[kind]
    truth: Drawn = draw(np.random.default_rng(seed))
    path.write_text(truth.text)
    source = LogSource.from_options(path, **truth.options)
    assert source.reader == reader
    log, downs = source.failures(), truth.downs
    starts = np.array([down.start_s for down in downs])
    assert len(log) == len(downs), log.dropped
    assert np.diff(log.times_s) == pytest.approx(np.diff(starts), abs=1e-3)
    if log.of_nodes:
        assert len({*zip(log.nodes.tolist(), (d.node for d in downs), strict=True)}) == len(
            {d.node for d in downs}
        )
    if truth.repairs_s is None:
        assert log.repaired_s is None
    else:
        assert log.repaired_s - log.times_s == pytest.approx(truth.repairs_s, abs=1e-3)
        assert repair_times(log).sample.n == len(downs)
    if truth.node_days is not None:
        assert log.node_s(truth.nodes) / 86400 == pytest.approx(truth.node_days)
    assert len(log.planned or ()) == truth.planned
    assert log.kept >= len(downs)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_drawn_logs_are_read_as_they_are_true(kind, tmp_path):
    for seed in range(LOGS):
        check(kind, seed, tmp_path / "log")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_drawn_logs_are_read_as_they_are_true(kind, tmp_path):
    for seed in range(LOGS, 20 * LOGS):
        check(kind, seed, tmp_path / "log")


def test_drawn_lives_are_read_as_they_are_true(tmp_path):
    path = tmp_path / "lives.csv"
    for seed in range(4 * LOGS):
        truth = lives(np.random.default_rng(seed))
        path.write_text(truth.text)
        assert recognised(path) == "intervals", truth.text
        found = read_intervals(path, None, Rules())
        assert found.durations_s == pytest.approx(truth.lasted_s, rel=1e-9)
        assert found.observed.tolist() == truth.died
        assert found.of_nodes
