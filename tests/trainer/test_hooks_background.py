"""Saves that are written beside training: what counts is what is stored, whatever happens."""

import subprocess
import sys
import threading

import pytest
import torch

from cprsim.trainer.hooks.snapshot import Image
from tests.trainer.loops import STEPS, Loop, hooked, scenario, train
from tests.waiting import HANGS_S, wait_until

ASYNC = {"async": {"system": "async", "interval": "10 s"}}


@pytest.fixture
def gate(monkeypatch):
    """Writing waits until the gate is open."""
    opened, write = threading.Event(), Image.write

    def waits(self, step, returns_to):
        if step:  # not the first
            assert opened.wait(HANGS_S)
        return write(self, step, returns_to)

    monkeypatch.setattr(Image, "write", waits)
    yield opened
    opened.set()


def begun(folder, **more):
    loop = Loop()
    hooks = hooked(loop, "async", folder, scenario=scenario(**ASYNC), **more)
    return loop, hooks


def train_patiently(loop, hooks, first, end=STEPS):
    """What is under way is stored before the next step is done."""
    for step in range(first, end):
        train(loop, hooks, step, step + 1)
        if hooks._saves.under_way:
            wait_until(hooks._saves._under_way.snapshot.done)


def test_training_goes_on_while_a_save_is_written(tmp_path, gate):
    loop, hooks = begun(tmp_path)
    train(loop, hooks, hooks.restore(), 15)  # it was due at step 10
    assert hooks.summary.saves == 0
    gate.set()
    written = hooks._saves._under_way.snapshot
    wait_until(written.done)
    train(loop, hooks, 15, 16)

    assert hooks.summary.saves == 1
    assert hooks.summary.seconds["stall"] > 0
    assert hooks._job.usable.last.step == 10


def test_what_is_stored_is_the_snapshot_not_what_training_made_of_it(tmp_path, gate):
    loop, hooks = begun(tmp_path)
    train(loop, hooks, hooks.restore(), 10)
    then = loop.state()
    train(loop, hooks, 10, 19)
    gate.set()
    wait_until(hooks._saves._under_way.snapshot.done)
    other, again = begun(tmp_path)

    assert again.restore() == 10
    assert all(map(torch.equal, other.state(), then))


def test_the_next_save_is_skipped_until_the_one_before_is_written(tmp_path, gate):
    """`in_flight` is 1: at step 20 nothing is begun; it is once the first has landed."""
    loop, hooks = begun(tmp_path)
    train(loop, hooks, hooks.restore(), 25)
    assert hooks._saves._under_way.step == 10
    gate.set()
    wait_until(hooks._saves._under_way.snapshot.done)
    train(loop, hooks, 25, 26)

    assert hooks.summary.saves == 1
    assert hooks._saves._under_way.step == 26


def test_a_failure_waits_for_what_is_under_way(tmp_path):
    loop, hooks = begun(tmp_path)
    train(loop, hooks, hooks.restore(), 10)
    for table in loop.tables:
        table.weight.detach().fill_(float("nan"))

    assert hooks.on_failure({0}) == 10
    assert all(each.isfinite().all() for each in loop.state())
    assert hooks.summary.saves == 1


ENDS = """
import concurrent.futures.thread as pools, sys, warnings
warnings.simplefilter("ignore")
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer import test_hooks_background as it
from tests.waiting import wait_until
write = Image.write
def late(self, step, returns_to):
    if step:  # nothing may be given to a pool by then
        wait_until(lambda: pools._shutdown)
    return write(self, step, returns_to)
Image.write = late
loop, hooks = it.begun(sys.argv[1])
it.train(loop, hooks, hooks.restore(), 10)
raise SystemExit
"""


@pytest.mark.slow
def test_one_that_is_under_way_when_the_script_ends_is_stored(tmp_path):
    subprocess.run([sys.executable, "-c", ENDS, str(tmp_path)], check=True)
    assert begun(tmp_path)[1].restore() == 10
