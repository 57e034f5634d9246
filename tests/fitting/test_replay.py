"""Event logs of jobs, and their interruptions under other policies."""

import gzip
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cprsim
from cprsim.cli import command as cli
from cprsim.errors import LogError
from cprsim.fitting.job_events import (
    AS_LOGGED,
    LOG,
    JobEvents,
    is_events,
    read_events,
    scenario_of,
)
from tests.survival.cases import SHARED

REAL = SHARED / "goodput_job_log" / "event_log.log.gz"
#: 2:56 on 9 March 2025, an hour that New York's clocks skip.
SPRING_S = 1_741_488_960.0
START_S, WARM_UP_S, STEP_S, EVERY = 100.0, 30.0, 2.0, 50


class Written:
    """A log whose truth is known: attempts of so many saves, cut so long after the last of them."""

    def __init__(
        self,
        attempts: list[tuple[int, float, float]],
        save_s: float = 3.0,
        starts_s: float = 1_700_000_000.0,
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.stops: list[float] = []
        self.save_s = save_s
        now, step = starts_s, 0
        self.first = now
        for saves, unsaved_s, wait_s in attempts:
            self._add(now, "job_started", node_rank=0)
            now += START_S
            self._add(now, "checkpoint_loaded", step=step)
            now += WARM_UP_S
            for _ in range(saves):
                now += EVERY * STEP_S
                step += EVERY
                self._add(now, "checkpoint_saved", step=step)
                now += save_s
            now += unsaved_s
            self._add(now, "job_failed", node_rank=0)
            self.stops.append(now - self.first)
            now += wait_s
        self.last_step = step

    def _add(self, at_s: float, kind: str, **more: Any) -> None:
        self.events.append({"event_type": kind, "timestamp": at_s, **more})

    def write(self, path: Path) -> Path:
        text = "\n".join(json.dumps(each) for each in self.events)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        return path


ATTEMPTS = st.lists(
    st.tuples(st.integers(0, 4), st.floats(1.0, 90.0), st.floats(5.0, 400.0)),
    min_size=2,
    max_size=12,
).filter(lambda each: sum(saves >= 2 for saves, _, _ in each) >= 1)


@settings(max_examples=60)
@given(ATTEMPTS)
def test_what_a_log_holds_is_found(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[int, float, float]]
) -> None:
    written = Written(attempts)
    path = written.write(tmp_path_factory.mktemp("log") / "events.log")
    found = read_events(path, STEP_S)

    assert is_events(path)
    assert len(found.attempts) == len(attempts)
    assert found.without_a_save == sum(not saves for saves, _, _ in attempts)
    assert found.useful_s == pytest.approx(written.last_step * STEP_S)
    assert sum(found.split().values()) == pytest.approx(found.wall_s)
    told = found.interruptions()
    assert [at_s for at_s, _ in told] == pytest.approx(written.stops[:-1])
    assert [down_s for _, down_s in told] == pytest.approx([each[2] for each in attempts[:-1]])


def test_the_split_is_what_each_part_took(tmp_path: Path) -> None:
    """By hand: two attempts of two and three saves, and one that never got to a save."""
    written = Written([(2, 10.0, 40.0), (0, 20.0, 50.0), (3, 30.0, 0.0)])
    found = read_events(written.write(tmp_path / "events.log.gz"), STEP_S).split()

    assert found["train"] == pytest.approx(5 * 100.0)
    assert found["start"] == pytest.approx(2 * START_S)
    assert found["warm_up"] == pytest.approx(2 * WARM_UP_S)
    assert found["save"] == pytest.approx(3 * 3.0)  # of a save, until the next
    assert found["unsaved"] == pytest.approx(3.0 + 10 + 40 + 3 + 30)
    assert found["no_save"] == pytest.approx(START_S + WARM_UP_S + 20 + 50)
    assert found["retrained"] == 0.0


def replayed(events: JobEvents, folder: Path, **given: Any) -> Any:
    return cprsim.run(scenario_of(events, given, folder / LOG, True), replications=32)


def test_a_job_replayed_as_it_was_takes_as_long(tmp_path: Path) -> None:
    """Waits are drawn from those of the log, so in the mean."""
    attempts = [(3, 40.0, 200.0), (2, 20.0, 200.0), (4, 60.0, 200.0), (3, 50.0, 200.0)] * 6
    events = read_events(Written([*attempts, (5, 1.0, 0.0)]).write(tmp_path / "e.log"), STEP_S)
    result = replayed(events, tmp_path)

    assert result.summary["wall_s"][AS_LOGGED] == pytest.approx(events.wall_s, rel=0.02)
    scenario = result.scenario
    assert scenario.costs.load_s == pytest.approx(START_S + WARM_UP_S)
    assert scenario.costs.save_s == pytest.approx(3.0)


def test_starts_that_reach_nothing_prolong_the_wait(tmp_path: Path) -> None:
    written = Written([(2, 10.0, 40.0), (2, 10.0, 30.0)])
    second = next(i for i, e in enumerate(written.events) if i and e["event_type"] == "job_started")
    start = written.events[second]
    failed = [
        {**start, "timestamp": start["timestamp"] - 25},
        {"event_type": "job_failed", "timestamp": start["timestamp"] - 15, "node_rank": 0},
    ]
    written.events[second:second] = failed
    found = read_events(written.write(tmp_path / "e.log"), STEP_S)

    assert [len(found.attempts), found.without_a_save] == [3, 1]
    assert [down_s for _, down_s in found.interruptions()] == pytest.approx([40.0])


@pytest.mark.parametrize(
    "write",
    [
        lambda at_s: round(at_s * 1e3),
        lambda at_s: round(at_s * 1e6),
        lambda at_s: round(at_s * 1e9),
        lambda at_s: str(datetime.fromtimestamp(at_s, UTC).replace(tzinfo=None)),
        lambda at_s: datetime.fromtimestamp(at_s, UTC).isoformat(),
    ],
    ids=["ms", "us", "ns", "date", "date with a zone"],
)
def test_a_time_may_be_written_in_many_ways(
    write: Callable[[float], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine whose clocks are set forward in midst of the job."""
    written = Written([(3, 40.0, 200.0), (2, 20.0, 90.0)], starts_s=SPRING_S)
    told = read_events(written.write(tmp_path / "s.log"), STEP_S)
    for each in written.events:
        each["timestamp"] = write(each["timestamp"])
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        found = read_events(written.write(tmp_path / "e.log"), STEP_S)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.split() == pytest.approx(told.split(), abs=1e-5)


@pytest.mark.parametrize(
    "more",
    [
        lambda save: [{**save, "timestamp": save["timestamp"] - place / 1e3} for place in range(4)],
        lambda save: [
            {**save, "event_type": "checkpoint_save_started", "timestamp": save["timestamp"] - 1.5},
            {**save, "event_type": "checkpoint_save_finished"},
        ],
    ],
    ids=["of each node", "start and end"],
)
def test_several_events_of_a_save_are_one_save(
    more: Callable[[dict[str, Any]], list[dict[str, Any]]], tmp_path: Path
) -> None:
    written = Written([(3, 40.0, 200.0), (2, 20.0, 90.0), (0, 5.0, 30.0), (4, 1.0, 0.0)])
    told = read_events(written.write(tmp_path / "one.log"), STEP_S)
    events, written.events = written.events, []
    for each in events:
        written.events += more(each) if each["event_type"] == "checkpoint_saved" else [each]
    found = read_events(written.write(tmp_path / "more.log"), STEP_S)
    assert found.attempts == told.attempts


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no event of a start"),
        (
            '{"event_type": "checkpoint_saved", "timestamp": 1, "step": 3}',
            "has no event of a start",
        ),
        ('{"event_type": "job_started", "timestamp": 1}', "has no two saves in a row"),
        ('{"event_type": "job_started"}', "line 1: has no event_type, or no timestamp"),
        ('{"event_type": "job_started", "timestamp": "soon"}', "line 1: 'soon' is no date"),
        ('{"event_type": "job_started", "timestamp": NaN}', "line 1: nan is no date"),
        ("[" * 100_000, "line 1: is no event in JSON"),
        (f'{{"event_type": "job_started", "timestamp": {"9" * 400}}}', "line 1: 9+ is no date"),
        (
            '{"event_type": "job_started", "timestamp": 1}\n'
            f'{{"event_type": "save", "timestamp": 2, "step": {"9" * 400}}}',
            "has no two saves in a row",
        ),
        (
            '{"event_type": "job_started", "timestamp": "2025-03-09T01:00:00"}\n'
            '{"event_type": "save", "timestamp": "2025-03-09T01:00:00Z", "step": 1}',
            "line 2: .* is a date with a zone, but the first time is a date without a zone",
        ),
        (
            '{"event_type": "job_started", "timestamp": 1000000}\n'
            '{"event_type": "save", "timestamp": 200000000000, "step": 1}',
            "mixes units: .*, seconds to epoch milliseconds; write all as seconds, or as dates$",
        ),
        ('{"event_type": "job_started", "timestamp": 1}\nnothing', "line 2: is no event in JSON"),
    ],
)
def test_what_is_no_event_log_is_said(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "e.log"
    path.write_text(text)
    with pytest.raises(LogError, match=told):
        read_events(path)


def test_a_log_that_begins_in_midst_of_a_job_counts_from_there(tmp_path: Path) -> None:
    written = Written([(3, 10.0, 40.0), (2, 10.0, 0.0)])
    for each in written.events:
        if "step" in each:
            each["step"] += 50_000
    without_load = [e for i, e in enumerate(written.events) if i != 1]
    for events in (written.events, without_load):
        written.events = events
        found = read_events(written.write(tmp_path / "e.log"), STEP_S)
        assert found.steps == 5 * EVERY
        assert 0 < found.goodput < 1


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli._main(["replay", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def log(tmp_path: Path) -> str:
    written = Written([(3, 40.0, 200.0), (2, 20.0, 90.0), (4, 1.0, 0.0)])
    return str(written.write(tmp_path / "e.log"))


def test_the_command_writes_a_scenario_that_plays_the_same(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    asked = (log, "--policy", AS_LOGGED, "--policy", "full", "--json", "--out", str(out))
    code, _, err = said(*asked, capsys=capsys)
    assert code == 2
    assert err.endswith("give --step-time, or costs.save in --for\n")

    code, printed, err = said(*asked, "--step-time", "2s", capsys=capsys)
    found = json.loads(printed)
    assert (code, err) == (0, "")
    assert set(found["policies"]) == {AS_LOGGED, "full"}
    assert found["logged"]["attempts"] == 3
    again = cprsim.run(out / "scenario.toml", policies=["full"], replications=64)
    mean = found["policies"]["full"]["overhead"]["mean"]
    assert again.summary["overhead"]["full"] == pytest.approx(mean, rel=1e-6)


def test_a_log_of_failures_needs_the_job(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = tmp_path / "f.csv"
    failures.write_text("time_s,node\n3600,0\n90000,3\n")
    code, _, err = said(str(failures), capsys=capsys)
    assert code == 2
    assert err.endswith("is no event log of a job; give the job and its costs, --for SCENARIO\n")

    code, printed, _ = said(
        str(failures), "--for", "quickstart", "--policy", "full", "--json", capsys=capsys
    )
    assert code == 0
    assert json.loads(printed)["policies"]["full"]["failures"]["mean"] == 2
    assert said(log, "--set", "costs.save=1 s", capsys=capsys)[0] == 2
    for text, told in (("8", "8"), ("0s", "more than 0 s"), ("100s", "does not fit the log")):
        code, _, err = said(log, "--step-time", text, capsys=capsys)
        assert code == 2
        assert told in err


def test_what_a_log_does_not_tell_comes_from_the_job(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = tmp_path / "f.csv"
    failures.write_text("time_s,node\n3600,0\n90000,3\n")
    asked = (str(failures), "--policy", "full", "--json", "--for")
    code, _, err = said(*asked, "causes", capsys=capsys)
    assert code == 2
    assert "has [[failures.causes]], which a log of failures does not tell" in err
    assert said(*asked, "tiered", capsys=capsys)[0] == 0
    # Severities of the log win over the weights of the job.
    failures.write_text("time_s,node,severity\n3600,0,process\n90000,3,node\n")
    assert said(*asked, "tiered", capsys=capsys)[0] == 0
    code, _, err = said(log, "--for", "production-fleet", "--step-time", "2s", capsys=capsys)
    assert code == 2
    assert "drawn for each job of a fleet" in err


@pytest.mark.skipif(not REAL.exists(), reason="the shared data is not here")
def test_a_published_job_has_the_goodput_that_is_published() -> None:
    """112 nodes, 2 April 2025 (AI-Hypercomputer/resiliency at ef69c85, test_calculator.py)."""
    found = read_events(REAL, 8.0)

    assert found.nodes == 112
    assert found.wall_s == pytest.approx(35364.285, abs=1e-3)
    assert found.useful_s == 15360
    assert found.goodput == pytest.approx(0.4343365, abs=5e-8)
    assert [len(found.attempts), found.without_a_save] == [48, 26]
    assert sum(each.is_loaded for each in found.attempts) == 44
    assert sum(len(each.saves) for each in found.attempts) == 96
    assert sum(found.split().values()) == pytest.approx(found.wall_s)


@pytest.mark.skipif(not REAL.exists(), reason="the shared data is not here")
def test_a_published_job_replayed_as_it_was(tmp_path: Path) -> None:
    """Until the last new step; the attempts after it reached nothing."""
    events = read_events(REAL, 8.0)
    saves = [save for each in events.attempts for save in each.saves]
    until_s = max(saves, key=lambda save: save.step).at_s
    result = replayed(events, tmp_path)

    found = result.summary["ettr"][AS_LOGGED]
    assert abs(found - events.useful_s / until_s) < 0.02
    assert np.isfinite(found)
