"""A disk that is full, and saves that fail: training goes on, and nothing is lost."""

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from cprsim.errors import RunError, UsageError
from cprsim.trainer import HooksWarning, TablePart
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer import loops
from tests.trainer.faults import no_room
from tests.trainer.held import Held, begun, hooks, refused, steps
from tests.trainer.loops import hooked, scenario
from tests.waiting import HANGS_S, wait_until

ASYNC = scenario(**{"async": {"system": "async", "interval": "10 s"}})


@pytest.mark.parametrize("call", ["os.fsync", "cprsim.trainer.store.files.Hashing.write"])
def test_a_full_disk_names_the_file(call, tmp_path, monkeypatch):
    it = begun(tmp_path, "full", 2)
    monkeypatch.setattr(call, no_room)
    with pytest.warns(HooksWarning) as warned:
        it.after_step({})
    assert [str(each.message) for each in warned] == [
        "the save of step 3 failed: OSError: [Errno 28] No space left on device: "
        f"'{tmp_path}/rows-0-0/00000001.npys'; training continues, the last checkpoint is of step 0"
    ]
    monkeypatch.undo()
    steps(it, 3)  # the next is a period later, and has room
    assert (it.summary.saves, it.summary.saves_failed) == (1, 1)
    assert hooks(Held(), tmp_path, "full").restore() == 6


def test_saves_do_not_get_longer_with_those_before(tmp_path):
    it = begun(tmp_path, count=300, steps=400)  # one each 25 steps
    assert it.summary.saves > 10
    assert len(list(it._job.usable)) <= 4  # no more than its store has, and one before
    assert len(it._job.watch.spans) <= 4
    assert hooks(Held(), tmp_path, steps=400).restore() == it.summary.checkpoint


def test_a_full_disk_at_the_start_is_said_before_training_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(
        RunError, match=r"the first checkpoint can't be stored \(\[Errno 28\] No space .* make room"
    ):
        begun(tmp_path / "it", "full")


@pytest.mark.parametrize("policy", ["full", "cpr-mfu", "async"])
@pytest.mark.parametrize("way", ["kind", "rows", "width"])
def test_what_can_never_be_stored_again_ends_training(way, policy, tmp_path):
    """At the save that finds it, written beside training or not; earlier checkpoints stay."""
    adapter = Held()
    job = {"steps": 40, "scenario": ASYNC}
    it = begun(tmp_path, policy, 12, adapter, **job)
    it.settle()
    if way == "kind":
        adapter.rest["mlp"] = type("", (), {"state_dict": lambda self: {"seen": {1, 2}}})()
        wanted = r"^dense\(\)\.state\.mlp\.seen is a set"
    else:
        shape = (107, 8) if way == "rows" else (100, 9)
        adapter.found = {0: [TablePart(1, torch.zeros(shape))], 1: adapter.parts[::2]}
        wanted = "other shapes or types than at the start, first of table 0"
    with pytest.raises(UsageError, match=wanted):
        steps(it, 28)
    assert hooks(Held(), tmp_path, policy, **job).restore() == it.summary.checkpoint > 0


def test_what_fails_now_may_be_stored_later(tmp_path):
    """An error of the loop's own `state_dict()` is warned of."""
    adapter = Held()
    it = begun(tmp_path, "full", 0, adapter)
    rest = adapter.rest["mlp"]
    adapter.rest["mlp"] = type("", (), {"state_dict": lambda self: 1 / 0})()
    with pytest.warns(HooksWarning, match="step 3 failed: ZeroDivisionError"):
        steps(it, 5)
    adapter.rest["mlp"] = rest
    steps(it, 5)
    assert it.summary.checkpoint > 3


def test_state_of_rows_that_the_first_step_makes_is_found_at_the_first_step(tmp_path):
    adapter = Held()
    it = begun(tmp_path, "full", 0, adapter)
    rows = adapter.parts[0]
    adapter.found = adapter.found | {0: [rows._replace(state=(torch.zeros(300),))]}
    with pytest.raises(UsageError, match="make the state of the optimiser before restore"):
        it.after_step({})


@pytest.mark.parametrize("left", ["rows-0-0", "dense-0"])
def test_a_folder_that_has_checkpoints_of_nobody_knows_which_job(left, tmp_path):
    begun(tmp_path)
    (tmp_path / "job.json").unlink()
    shutil.rmtree(tmp_path / ({"rows-0-0", "dense-0"} - {left}).pop())
    before = sorted(tmp_path.rglob("*"))
    with refused(
        f"folder {tmp_path}: has {left}, but no job.json that says of which job it is; bring that "
        "back, or give another folder"
    ):
        begun(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_names_of_new_folders_are_kept_once(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("cprsim.trainer.hooks.checkpoints.sync_folder", synced.append)
    begun(tmp_path / "it", "full", 5)
    assert synced == [tmp_path / "it", tmp_path]


def test_saving_now_in_another_thread(tmp_path):
    it = begun(tmp_path)
    with (
        ThreadPoolExecutor(1) as pool,
        refused(
            "save_now() in another thread than the loop's, which may be in the middle of a step: "
            "call it between steps there, or send a signal that saving_on() listens for"
        ),
    ):
        pool.submit(it.save_now).result()
    assert it.save_now()


# --- Saves that are written beside training -------------------------------------------------------


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


def trained(folder, end):
    """A loop, up to a step."""
    return loops.begun("async", folder, end, scenario=ASYNC)


def written(loop):
    """Wait until the save under way is written."""
    wait_until(loop.hooks._saves._under_way.snapshot.done)


def test_training_goes_on_while_a_save_is_written(tmp_path, gate):
    loop = trained(tmp_path, 15)  # it was due at step 10
    assert loop.hooks.summary.saves == 0
    gate.set()
    written(loop)
    loop.train(16)

    assert loop.hooks.summary.saves == 1
    assert loop.hooks.summary.seconds["stall"] > 0
    assert loop.hooks._job.usable.last.step == 10


def test_what_is_stored_is_the_snapshot_not_what_training_made_of_it(tmp_path, gate):
    loop = trained(tmp_path, 10)
    then = loop.state()
    loop.train(19)
    gate.set()
    written(loop)
    again = hooked("async", tmp_path, scenario=ASYNC)

    assert again.hooks.restore() == 10
    assert all(map(torch.equal, again.state(), then))


def test_the_next_save_is_skipped_until_the_one_before_is_written(tmp_path, gate):
    """`in_flight` is 1: at step 20 nothing is begun; it is once the first has landed."""
    loop = trained(tmp_path, 25)
    assert loop.hooks._saves._under_way.step == 10
    gate.set()
    written(loop)
    loop.train(26)

    assert loop.hooks.summary.saves == 1
    assert loop.hooks._saves._under_way.step == 26


def test_a_failure_waits_for_what_is_under_way(tmp_path):
    loop = trained(tmp_path, 10)
    for table in loop.tables:
        table.weight.detach().fill_(float("nan"))

    assert loop.hooks.on_failure({0}) == 10
    assert all(each.isfinite().all() for each in loop.state())
    assert loop.hooks.summary.saves == 1


ENDS = """
import concurrent.futures.thread as pools, sys, warnings
warnings.simplefilter("ignore")
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer import test_hooks_disk as it
from tests.waiting import wait_until
write = Image.write
def late(self, step, returns_to):
    if step:  # nothing may be given to a pool by then
        wait_until(lambda: pools._shutdown)
    return write(self, step, returns_to)
Image.write = late
loop = it.trained(sys.argv[1], 10)
raise SystemExit
"""


@pytest.mark.slow
def test_one_that_is_under_way_when_the_script_ends_is_stored(tmp_path):
    subprocess.run([sys.executable, "-c", ENDS, str(tmp_path)], check=True)
    assert hooked("async", tmp_path, scenario=ASYNC).hooks.restore() == 10
