"""Hooks, watched: observers and metrics of a loop that fails now and then."""

import errno
import itertools
import json
import os
import signal

import pytest

from cprsim.cli import command as cli
from cprsim.fitting.job_events import is_events, read_events
from cprsim.metrics import PrometheusExporter
from cprsim.trainer import EventLog, HooksObserver, HooksWarning
from tests.trainer.faults import no_room
from tests.trainer.held import begun, steps

STEPS = 12


class Noted(HooksObserver):
    def __init__(self):
        self.seen = []

    def stepped(self, step):
        self.seen.append(("step", step))

    def saved(self, save):
        assert save.took_s > 0
        self.seen.append(("saved", save.step, save.size > 0, save.whole))

    def save_failed(self, step, error):
        self.seen.append(("failed", step, error.errno))

    def lost(self, shards, dense):
        self.seen.append(("lost", sorted(shards), dense))

    def loaded(self, step, size):
        self.seen.append(("loaded", step, size > 0))

    def noticed(self, step):
        self.seen.append(("noticed", step))


def job(folder, policy, *observers):
    return begun(folder, policy, steps=STEPS, observers=observers)


def test_an_observer_sees_saves_losses_loads_and_steps_in_order(tmp_path, monkeypatch):
    noted = Noted()
    it = job(tmp_path, "partial", noted)

    steps(it, 3)  # a save at step 3, of 12 steps of 40 s, every 10 s
    it.on_failure({1})
    steps(it, 2)
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.warns(HooksWarning, match="step 6 failed"):
        it.after_step({})
    monkeypatch.undo()
    with it.saving_on(signal.SIGTERM):
        os.kill(os.getpid(), signal.SIGTERM)
        it.after_step({})
    assert noted.seen == [
        ("step", 1),
        ("step", 2),
        ("saved", 3, True, True),
        ("step", 3),
        ("lost", [1], False),
        ("loaded", 3, True),
        ("step", 4),
        ("step", 5),
        ("failed", 6, errno.ENOSPC),
        ("step", 6),
        ("step", 7),
        ("saved", 7, True, True),
        ("noticed", 7),
    ]


def test_an_observer_that_fails_ends_no_training(tmp_path):
    class Broken(HooksObserver):
        def saved(self, save):
            raise KeyError("board")

    it = job(tmp_path, "full", Broken())
    steps(it, 2)
    with pytest.warns(
        HooksWarning, match=r"^observer Broken\.saved: KeyError: 'board'; training continues$"
    ):
        it.after_step({})
    assert it.summary.saves == 1


def test_what_is_scraped_is_the_summary(tmp_path):
    parser = pytest.importorskip("prometheus_client.parser", reason="needs cprsim[metrics]")
    it = job(tmp_path, "partial")
    steps(it, 8)
    it.on_failure({1})
    exporter = PrometheusExporter(lambda: it.summary.reading)
    found = {
        (sample.name, sample.labels.get("cause")): sample.value
        for family in parser.text_string_to_metric_families(exporter.text())
        for sample in family.samples
    }
    summary = it.summary
    assert {c: v for (name, c), v in found.items() if name == "cprsim_time_seconds"} == (
        summary.seconds
    )
    assert found["cprsim_step", None] == 8
    assert found["cprsim_checkpoint_step", None] == 6
    assert found["cprsim_failures_total", None] == 1
    assert found["cprsim_pls_ratio", None] == summary.pls == 2 / (STEPS * 2)
    assert found["cprsim_loaded_bytes_total", None] == summary.bytes_loaded > 0


# --- A log of events, which cprsim replay plays ---------------------------------------------------


def kinds(path):
    events = map(json.loads, path.read_text().splitlines())
    return [(each["event_type"].partition("_")[2], each.get("step")) for each in events]


@pytest.fixture
def logged(tmp_path):
    """A job that is told of a failure, and begins again once: its log, with a clock of 10 s."""
    path, ticks = tmp_path / "events.jsonl", itertools.count(1_700_000_000, 10)
    it = job(tmp_path / "job", "partial", EventLog(path, lambda: next(ticks)))
    steps(it, 7)  # saves at steps 3 and 6
    it.on_failure({1})
    steps(job(tmp_path / "job", "partial", EventLog(path, lambda: next(ticks))), 6)
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
    it = job(tmp_path / "job", "full", log)
    with pytest.warns(HooksWarning, match=r"observer EventLog\.saved: FileNotFoundError"):
        steps(it, 3)
    assert it.summary.saves == 1
