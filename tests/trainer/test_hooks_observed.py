"""Hooks, watched: observers and metrics of a loop that fails now and then."""

import errno
import os
import signal

import pytest
import torch

from cprsim.metrics import PrometheusExporter
from cprsim.trainer import HooksObserver, HooksWarning, TablePart, TrainerHooks
from tests.trainer.loops import scenario

STEPS = 12


class Rows:
    """Tensors that nobody trains."""

    def __init__(self):
        self.parts = {
            0: [TablePart(0, torch.zeros(300, 8))],
            1: [TablePart(1, torch.zeros(100, 8)), TablePart(2, torch.zeros(20, 8))],
        }

    def shards(self):
        return self.parts

    def dense(self):
        return {}

    def lookups(self, batch):
        return batch


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
    return TrainerHooks(scenario(), policy, Rows(), folder, STEPS, observers=observers)


def test_an_observer_sees_saves_losses_loads_and_steps_in_order(tmp_path, monkeypatch):
    noted = Noted()
    hooks = hooked(tmp_path, "partial", noted)
    hooks.restore()

    def refuse(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for _ in range(3):  # a save at step 3, of 12 steps of 40 s, every 10 s
        hooks.after_step({})
    hooks.on_failure({1})
    for _ in range(2):
        hooks.after_step({})
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.warns(HooksWarning, match="step 6 failed"):
        hooks.after_step({})
    monkeypatch.undo()
    with hooks.saving_on(signal.SIGTERM):
        os.kill(os.getpid(), signal.SIGTERM)
        hooks.after_step({})
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

    hooks = hooked(tmp_path, "full", Broken())
    hooks.restore()
    hooks.after_step({})
    hooks.after_step({})
    with pytest.warns(
        HooksWarning, match=r"^observer Broken\.saved: KeyError: 'board'; training goes on$"
    ):
        hooks.after_step({})
    assert hooks.summary.saves == 1


def test_what_is_scraped_is_the_summary(tmp_path):
    parser = pytest.importorskip("prometheus_client.parser", reason="needs cprsim[metrics]")
    hooks = hooked(tmp_path, "partial")
    hooks.restore()
    for _ in range(8):
        hooks.after_step({})
    hooks.on_failure({1})
    exporter = PrometheusExporter(lambda: hooks.summary.reading)
    found = {
        (sample.name, sample.labels.get("cause")): sample.value
        for family in parser.text_string_to_metric_families(exporter.text())
        for sample in family.samples
    }
    summary = hooks.summary
    assert {c: v for (name, c), v in found.items() if name == "cprsim_time_seconds"} == (
        summary.seconds
    )
    assert found["cprsim_step", None] == 8
    assert found["cprsim_checkpoint_step", None] == 6
    assert found["cprsim_failures_total", None] == 1
    assert found["cprsim_pls_ratio", None] == summary.pls == 2 / (STEPS * 2)
    assert found["cprsim_loaded_bytes_total", None] == summary.bytes_loaded > 0
