"""Oracles: runs worked by hand, and the ledger, which the simulator keeps by itself."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.contract import Recover
from cprsim.contract.ledger import CAUSES
from cprsim.failures.hits import Hit
from cprsim.scenario import Scenario
from cprsim.sim.history.phases import Phase, seconds_by_cause
from cprsim.sim.history.recorder import Recorder, record
from cprsim.sim.observer import BackgroundTask
from tests.by_hand import ASYNC, FULL, PARTIAL
from tests.drawn import scenarios
from tests.history.jobs import REPLICATION, played, told

ROOT = Path(__file__).parents[2]
HIT = Hit((0,), ())
BACK = Recover("all")


def test_training_since_the_last_checkpoint_is_lost_under_full_recovery(tmp_path):
    history = played(FULL, tmp_path, (60.0, 1))

    assert told(history.phases) == (
        "train 0-32, save 32-40, lost 40-60, detect 60-61, reschedule 61-63, load 63-67, "
        "train 67-99, save 99-107, train 107-139, save 139-147, train 147-179"
    )
    assert [(each.at_s, each.hit.servers) for each in history.failures] == [(60.0, (1,))]
    assert history.failures[0].answer.rollback == "all"


def test_no_training_is_lost_under_partial_recovery(tmp_path):
    history = played(PARTIAL, tmp_path, (60.0, 1))

    assert told(history.phases) == (
        "train 0-32, save 32-40, train 40-60, detect 60-61, reschedule 61-63, load 63-67, "
        "train 67-79, save 79-87, train 87-119, save 119-127, train 127-159"
    )


def test_a_second_rollback_takes_back_what_an_interrupted_save_left(tmp_path):
    # The save of 32-40 is struck at 36: all since 0 is lost, and again at 70, before any save.
    history = played(FULL, tmp_path, (36.0, 0), (70.0, 2))

    assert told(history.phases).startswith(
        "lost 0-32, save 32-36, detect 36-37, reschedule 37-39, load 39-43, "
        "lost 43-70, detect 70-71, reschedule 71-73, load 73-77, train 77-109, save"
    )


def test_background_saves_are_seen_until_their_last_byte_and_given_up_at_the_end(tmp_path):
    history = played(ASYNC, tmp_path)
    # Stalls of 1 s at 32, 65 and 98, each followed by a save of 8 s; training ends at 131.
    tasks = [(e.task.kind, e.start_s, e.end_s, e.completed) for e in history.background]

    assert tasks == [
        ("save", 33.0, 41.0, True),
        ("save", 66.0, 74.0, True),
        ("save", 99.0, 107.0, True),
    ]
    assert history.background[0].task == BackgroundTask("save", "remote")


def test_a_background_save_is_given_up_by_a_failure_and_by_the_end(tmp_path):
    struck = played(ASYNC, tmp_path, (35.0, 0))
    ended = played(ASYNC | {"interval": "62 s"}, tmp_path)

    assert struck.background[0] == (BackgroundTask("save", "remote"), 33.0, 35.0, False)
    # Stalls at 62 and 125; the second save has 4 of its 8 s when training ends at 130.
    assert [each[1:] for each in ended.background] == [(63.0, 71.0, True), (126.0, 130.0, False)]


def test_a_rebuild_is_seen_as_replacement_and_filling(tmp_path):
    history = played(REPLICATION, tmp_path, (60.0, 1))
    tasks = [(e.task.kind, e.start_s, e.end_s, set(e.task.servers)) for e in history.background]

    assert tasks == [("reschedule", 61.0, 63.0, {1}), ("load", 63.0, 67.0, {1})]
    assert told(history.phases[:2]) == "train 0-60, detect 60-61"


def test_slowed_training_is_cut_where_the_checkpoint_lies():
    # 12 s for 10 useful ones, then 10 for 10; back to 15 useful seconds that took 1.5 s longer.
    recorder = Recorder()
    recorder.span("train", 0.0, 12.0)
    recorder.slowed(2.0)
    recorder.span("train", 12.0, 22.0)
    recorder.failure(22.0, HIT)
    recorder.answered(BACK, 15.0, 1.5)

    assert recorder.phases() == [
        Phase("train", 0.0, 11.5, 1.5),
        Phase("lost", 11.5, 12.0),
        Phase("train", 12.0, 17.0),
        Phase("lost", 17.0, 22.0),
    ]


def test_what_was_lost_once_is_not_lost_again():
    recorder = Recorder()
    for start_s in (0.0, 20.0):
        recorder.span("train", start_s, start_s + 10.0)
        recorder.span("load", start_s + 10.0, start_s + 20.0)
        recorder.failure(start_s + 10.0, HIT)
        recorder.answered(BACK, 4.0, 0.0)  # 6 s lost, then what was trained since: all 10

    assert seconds_by_cause(recorder.phases()) == {"train": 4.0, "lost": 16.0, "load": 20.0}


def test_a_lost_shard_costs_no_training():
    recorder = Recorder()
    recorder.span("train", 0.0, 10.0)
    recorder.failure(10.0, HIT)
    recorder.answered(Recover("lost"), 10.0, 0.0)

    assert recorder.phases() == [Phase("train", 0.0, 10.0)]


def test_the_python_of_the_page_runs(tmp_path, monkeypatch):
    page = (ROOT / "docs/timeline.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "timeline.md", "exec"), {})

    assert (tmp_path / "one-run.png").read_bytes().startswith(b"\x89PNG")


@given(scenarios(), st.integers(0, 9))
def test_phases_tile_the_run_and_equal_the_ledger(tables: dict[str, Any], seed: int) -> None:
    scenario = Scenario(**tables)
    for name in scenario.policies:
        history = record(scenario, name, seed)
        ends_s = [0.0, *(phase.end_s for phase in history.phases)]

        assert [phase.start_s for phase in history.phases] == ends_s[:-1]
        assert ends_s[-1] == history.ledger.wall
        assert all(phase.start_s < phase.end_s for phase in history.phases)
        seconds = seconds_by_cause(history.phases)
        for cause in CAUSES:
            expected = getattr(history.ledger, cause)
            # A slowdown of less than a microsecond a phase is taken for rounding.
            room = 1e-6 * (1 + len(history.phases))
            assert seconds.get(cause, 0.0) == pytest.approx(expected, abs=room, rel=1e-12), cause
        assert len(history.failures) == history.ledger.failures
        for each in history.background:
            assert 0 <= each.start_s <= each.end_s <= history.ledger.wall
