"""Hooks that keep a log of their job, which `cprsim replay` plays under other policies."""

import itertools
import json

import pytest

from cprsim.cli import command as cli
from cprsim.fitting.job_events import is_events, read_events
from cprsim.trainer import EventLog, HooksWarning
from tests.trainer.test_hooks_observed import hooked


def kinds(path):
    events = map(json.loads, path.read_text().splitlines())
    return [(each["event_type"].partition("_")[2], each.get("step")) for each in events]


def steps(hooks, count):
    for _ in range(count):
        hooks.after_step({})


@pytest.fixture
def logged(tmp_path):
    """A job that is told of a failure, and begins again once: its log, with a clock of 10 s."""
    path, ticks = tmp_path / "events.jsonl", itertools.count(1_700_000_000, 10)
    hooks = hooked(tmp_path / "job", "partial", EventLog(path, lambda: next(ticks)))
    hooks.restore()
    steps(hooks, 7)  # saves at steps 3 and 6
    hooks.on_failure({1})
    again = hooked(tmp_path / "job", "partial", EventLog(path, lambda: next(ticks)))
    again.restore()
    steps(again, 6)
    return path


def test_every_start_load_save_and_failure_is_a_line(logged):
    assert kinds(logged) == [
        ("started", None),
        ("saved", 3),
        ("saved", 6),
        ("failed", None),
        ("started", None),
        ("loaded", 7),
        ("started", None),
        ("loaded", 6),
        ("saved", 9),
    ]


def test_replay_takes_the_log_of_hooks(logged, capsys):
    assert is_events(logged)
    found = read_events(logged)
    assert [len(each.saves) for each in found.attempts] == [2, 0, 1]
    assert found.wall_s == 80
    assert found.steps == 9

    assert cli._main(["replay", str(logged), "--step-time", "3s", "--policy", "full"]) == 0
    assert "full" in capsys.readouterr().out


def test_a_log_that_cannot_be_written_ends_no_training(tmp_path):
    path = tmp_path / "logs" / "events.jsonl"
    with pytest.warns(HooksWarning, match="event log: .*No such file"):
        log = EventLog(path)
    hooks = hooked(tmp_path / "job", "full", log)
    hooks.restore()
    with pytest.warns(HooksWarning, match=r"observer EventLog\.saved: FileNotFoundError"):
        steps(hooks, 3)
    assert hooks.summary.saves == 1
