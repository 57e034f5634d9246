"""What would surprise silently: it is said at the start, or counted as what it is."""

import shutil
import signal
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import torch

from cprsim.errors import RunError
from cprsim.trainer import HooksWarning, TablePart
from cprsim.trainer.hooks.saves import Saves
from tests.trainer import loops
from tests.trainer.counting import Processes
from tests.trainer.held import STEPS, Held, begun, hooks, steps
from tests.trainer.loops import Adapter, Loop, batch, scenario
from tests.waiting import HANGS_S

#: Bytes of three tables of 8 columns in float32, and more than those of the MLP and its accounts.
ROWS, DENSE = (300 + 100 + 20) * 8 * 4, 4000
Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("policy", "times"), [("full", 3), ("cpr-mfu", 9)])
@pytest.mark.parametrize("enough", [True, False])
def test_a_disk_without_room_for_the_checkpoints_of_a_job(
    policy, times, enough, tmp_path, monkeypatch
):
    """Three of everything, nine of rows where saves take some; else it ends with what it takes."""
    free = times * ROWS + (3 * DENSE if enough else 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 0, free))
    it = hooks(Held(), tmp_path, policy)
    if enough:
        assert it.restore() == 0
        return
    with pytest.raises(RunError, match=r"^folder .*: checkpoints take .*B on its disk, older ones"):
        it.restore()
    assert not list(tmp_path.rglob("*.npys"))


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "times"), [("full", 3), ("cpr-mfu", 9)])
def test_stores_take_no_more_than_was_said(policy, times, tmp_path, monkeypatch):
    """At the instant before what is older goes."""
    sizes, unlink = [], type(tmp_path).unlink

    def seen(path, **more):
        if path.suffix == ".npys" and path.parent.name == "rows-0-0":
            sizes.append(sum(each.stat().st_size for each in path.parent.glob("*.npys")))
        unlink(path, **more)

    monkeypatch.setattr(type(tmp_path), "unlink", seen)
    loops.begun(policy, tmp_path, loops.STEPS, scenario=scenario(job={"useful_time": "400 s"}))

    assert len(sizes) > 3
    headers = 1024  # of NumPy, in all files
    assert 2 * 2 * ROWS < max(sizes) <= times * 2 * ROWS + headers  # with Adagrad's sums


def of_cpr(mean):
    failures = {"distribution": "exponential", "mean": mean}
    return scenario(failures=failures, cpr={"system": "cpr-mfu", "target_pls": 0.1})


def test_cpr_that_plans_full_recovery_says_so(tmp_path):
    with pytest.warns(HooksWarning, match=r"^policy 'cpr' \(cpr-mfu\) plans full recovery: PLS 0"):
        it = hooks(Held(), tmp_path, "cpr", scenario=of_cpr("3 s"))
    assert it.summary.recovery == "full"
    assert it.summary.reading.labels == {"policy": "cpr", "recovery": "full"}
    assert hooks(Held(), tmp_path, "cpr", scenario=of_cpr("20 h")).summary.recovery == "partial"


class OneOptimizer(Loop):
    """Tables and MLP in one Adagrad."""

    def __init__(self):
        super().__init__()
        self.of_rows = torch.optim.Adagrad([*self.tables.parameters(), *self.mlp.parameters()])
        self.of_mlp = torch.optim.SGD(self.mlp.parameters(), lr=0.0)


@pytest.mark.parametrize("given", ["nothing", "sums", "no optimizer"])
def test_an_optimizer_that_keeps_state_of_rows_in_dense(given, tmp_path, recwarn):
    loop = OneOptimizer()

    class Its(Adapter):
        def shards(self):
            if given != "nothing":
                return super().shards()
            whole = [TablePart(n, each.weight) for n, each in enumerate(loop.tables)]
            return {0: whole[:1], 1: whole[1:]}

        def dense(self):
            only = {"mlp": loop.mlp}
            return only if given == "no optimizer" else only | {"adagrad": loop.of_rows}

    it = begun(tmp_path, "full", adapter=Its(loop))
    loop.step(batch(0))
    it.after_step(batch(0))
    told = [str(each.message) for each in recwarn if each.category is HooksWarning]
    expected = "dense(): 'adagrad' keeps state of the rows of table"
    assert [each[: len(expected)] for each in told] == [expected] * (3 * (given == "nothing"))


@pytest.mark.parametrize("ended", ["saved", "finished", "killed"])
def test_only_a_start_after_a_failure_counts_as_one(ended, tmp_path):
    for starts in range(3):
        it = hooks(Held(), tmp_path, "full", steps=STEPS * (starts + 1))
        begun = it.restore()
        assert it.summary.failures == (starts if ended == "killed" else 0)
        count = STEPS * (starts + 1) - begun
        if ended == "finished":
            steps(it, count)
            continue
        steps(it, 2)
        assert it.save_now()
        if ended == "killed":
            steps(it, 1)


def test_failures_that_other_processes_know_of_are_counted(tmp_path):
    """Each is lost in turn, and a process that stands in for one knows of its own start alone."""

    job = Processes((1, 1), tmp_path, policy="partial")
    job.restore()
    job.train(12)
    for _ in range(2):
        job.on_failure(0)
    job.its[0].hooks._saves.counts["failures"] = 0
    job.on_failure(0)
    assert job.do(lambda it: it.hooks.job_summary().failures) == [3, 3]


@pytest.mark.parametrize("policy", ["full", "cpr-mfu", "async"])
@pytest.mark.parametrize("file", [1, 2])
def test_an_interrupt_as_a_save_begins_leaves_no_writer_alone(policy, file, tmp_path, monkeypatch):
    """Ctrl-C as one of its files is handed to a writer; then all is saved."""
    given = {"scenario": scenario(**{"async": {"system": "async", "interval": "10 s"}})}
    loop = loops.begun(policy, tmp_path, 9, **given)
    submit, settle, files, waited_for = ThreadPoolExecutor.submit, Saves.settle, [], Event()

    def settled(saves):
        if len(files) >= file:
            waited_for.set()
        return settle(saves)

    def interrupted(self, write, *args):
        def slow():
            assert waited_for.wait(HANGS_S)
            return write(*args)

        files.append(submit(self, slow))
        if len(files) == file:
            signal.raise_signal(signal.SIGINT)
        return files[-1]

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    monkeypatch.setattr(Saves, "settle", settled)
    with pytest.raises(KeyboardInterrupt):
        loop.train()
    assert loop.hooks.save_now()
    assert loop.hooks.settle()
    assert all(each.done() for each in files)
    monkeypatch.undo()

    again = loops.hooked(policy, tmp_path, Loop(seed=1), **given)
    assert again.hooks.restore() == loop.hooks.step
    assert again.digest() == loop.digest()
