"""Hooks, watched: observers and metrics of a loop that fails now and then."""

import errno
import os
import signal

import pytest

from cprsim.metrics import PrometheusExporter
from cprsim.trainer import HooksObserver, HooksWarning
from tests.trainer.held import Held, hooks
from tests.trainer.test_hooks_disk import no_room

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


def hooked(folder, policy, *observers):
    return hooks(Held(), folder, policy, steps=STEPS, observers=observers)


def test_an_observer_sees_saves_losses_loads_and_steps_in_order(tmp_path, monkeypatch):
    noted = Noted()
    it = hooked(tmp_path, "partial", noted)
    it.restore()

    for _ in range(3):  # a save at step 3, of 12 steps of 40 s, every 10 s
        it.after_step({})
    it.on_failure({1})
    for _ in range(2):
        it.after_step({})
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

    it = hooked(tmp_path, "full", Broken())
    it.restore()
    it.after_step({})
    it.after_step({})
    with pytest.warns(
        HooksWarning, match=r"^observer Broken\.saved: KeyError: 'board'; training continues$"
    ):
        it.after_step({})
    assert it.summary.saves == 1


def test_what_is_scraped_is_the_summary(tmp_path):
    parser = pytest.importorskip("prometheus_client.parser", reason="needs cprsim[metrics]")
    it = hooked(tmp_path, "partial")
    it.restore()
    for _ in range(8):
        it.after_step({})
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
