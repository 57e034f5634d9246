"""Saves of modified rows by the hooks, and the merger: what is loaded is what was saved."""

import random
import threading
from types import ModuleType
from typing import get_args

import numpy as np
import pytest
import torch

import cprsim
from cprsim.contract.plan import Variant
from cprsim.errors import UsageError
from cprsim.trainer import HooksWarning, TablePart, TrainerHooks, merge_deltas
from cprsim.trainer import merge as merger
from cprsim.trainer.store import store
from cprsim.trainer.store.files import read_chain
from cprsim.trainer.store.store import checkpoints_in
from tests.trainer.loops import BATCH, POLICIES, STEPS, Loop, clean, hooked, scenario
from tools.pages.walkthroughs import code
from tools.paths import DOCS


@pytest.fixture
def long(monkeypatch):
    """The trainer leaves all merging to others; these tables are so small that it soon would."""
    monkeypatch.setattr(store, "_MOST_DELTAS", 100)


KEYS = {"system": "delta", "interval": "2 s", "snapshot": "0 s", "tracking": 0.0}


def deltas_job(folder, loop=None):
    """A loop with saves of modified rows, each of them stored before the next step."""
    return hooked("deltas", folder, loop, scenario=scenario(deltas=KEYS))


def begun(folder, end):
    loop = deltas_job(folder)
    loop.hooks.restore()
    loop.train(end, settle=True)
    return loop


def deltas(folder):
    """The files of the newest chain of the rows of width `DIM`."""
    (rows,) = folder.glob("rows-0-*")
    return [each.name for each in newest(rows).files]


def newest(folder):
    return checkpoints_in(folder)[0]


@pytest.mark.usefixtures("long")
def test_the_trainer_builds_on_what_a_merger_has_made(tmp_path, capsys):
    loop = begun(tmp_path, 11)
    before = deltas(tmp_path)
    assert len(before) > 2
    assert merge_deltas(tmp_path) == 1
    assert merge_deltas(tmp_path) == 0  # it is merged
    assert deltas(tmp_path) == before  # until the next save
    loop.train(21, settle=True)
    after = deltas(tmp_path)
    assert after[0].endswith("m.npys")
    assert len(after) < 7
    (folder,) = tmp_path.glob("rows-0-*")
    left = {each.name for each in folder.glob("*.npys")}
    assert {*before} & left == {*before}  # of another base, should this one be spoilt
    merger.main([str(tmp_path)])
    assert capsys.readouterr().out == "1 new bases\n"
    loop.train(31, settle=True)
    left = {each.name for each in folder.glob("*.npys")}
    assert not {*before} & left

    again = deltas_job(tmp_path, Loop(seed=1))
    again.hooks.restore()
    again.train(settle=True)
    assert again.digest() == clean()


OF_CHECK_N_RUN = KEYS | {"system": "check-n-run", "bits": 32}


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize(
    "keys",
    [
        KEYS,
        *(OF_CHECK_N_RUN | {"variant": each} for each in get_args(Variant)),
        POLICIES["cpr-mfu"],
    ],
    ids=lambda keys: keys.get("variant", keys["system"]),
)
def test_bases_of_a_merger_do_not_pile_up(keys, tmp_path):
    """And they change nothing of what is stored; one merger is killed before its manifest."""
    loops = [
        hooked("p", tmp_path / name, scenario=scenario(p=keys)) for name in ("alone", "merged")
    ]
    for each in loops:
        each.hooks.restore()
    merged = 0
    for end in range(3, STEPS, 3):
        for each in loops:
            each.train(end, settle=True)
        merged += merge_deltas(tmp_path / "merged")
        for folder in (tmp_path / "merged").glob("rows-0-*"):
            # In use, of another base, and to be used by the next save.
            assert len([*folder.glob("*m.npys")]) <= 3
            if end == 6:
                (folder / f"{newest(folder).serial:08d}m.json").unlink(missing_ok=True)
            alone = tmp_path / "alone" / folder.name
            both = [read_chain(each, newest(each).files)[0] for each in (alone, folder)]
            assert all(map(np.array_equal, *both))
    assert merged > 5


def test_a_merger_leaves_a_spoilt_chain_alone(tmp_path):
    begun(tmp_path, 11)
    (folder,) = tmp_path.glob("rows-0-*")
    (folder / random.Random(0).choice(deltas(tmp_path)[1:])).unlink()
    with pytest.warns(HooksWarning, match="the chain is not merged"):
        assert merge_deltas(tmp_path) == 0
    assert not [*folder.glob("*m.*")]


def test_a_merger_needs_checkpoints(tmp_path):
    with pytest.raises(UsageError, match="has no checkpoints of rows"):
        merge_deltas(tmp_path)


def test_the_trainer_merges_itself_where_nothing_else_does(tmp_path):
    loop = begun(tmp_path, STEPS)
    (folder,) = tmp_path.glob("rows-0-*")
    base, *more = (each.size for each in newest(folder).files)
    assert loop.hooks.summary.saves > 15
    assert sum(more) <= 2 * base


def test_an_optimizer_that_moves_unused_rows_is_found(tmp_path):
    """Momentum of an optimizer that is not sparse: no batch looks up the rows that it moves."""
    loop = begun(tmp_path, 5)
    loop.tables[1].weight.data *= 0.999
    with pytest.raises(UsageError, match="sampled rows changed that no batch looked up"):
        loop.train(9, settle=True)


def test_rows_that_are_evicted_come_back_with_their_ids(tmp_path):
    """The dictionary of ids and the rows are of one step, whatever was evicted since."""
    page = (DOCS / "plug-into-your-trainer.md").read_text(encoding="utf-8")
    module = ModuleType("dynamic")
    exec(code(page, "dynamic.py"), module.__dict__)

    class Job:
        def __init__(self, seed):
            drawn = torch.Generator().manual_seed(seed)
            self.rows, self.ids = torch.rand(50, 4, generator=drawn), module.DynamicRows(50)
            self.sums = torch.zeros(50)

        def shards(self):
            return {0: [TablePart(0, self.rows, (self.sums,))], 1: []}

        def dense(self):
            return {"ids": self.ids}

        def lookups(self, rows):
            return {0: rows}

        def step(self, step):
            rng = np.random.default_rng(step)
            ids = torch.from_numpy(rng.zipf(1.3, 8).clip(max=10**6))
            for row in self.ids.take(ids.tolist()):
                self.rows[row], self.sums[row] = 0.5, 0.0
            rows = self.ids.numbers(ids)
            for each in rows.unique().tolist():
                self.rows[each] += (step + 1) / 7
                self.sums[each] += step + 1
            return rows

        def state(self):
            return [
                (key, self.rows[row].tolist(), float(self.sums[row]))
                for key, row in self.ids.of.items()
            ]

    def run(folder, job, end=STEPS):
        hooks = TrainerHooks(dynamic_scenario(), "deltas", job, folder, STEPS)
        step = hooks.restore()
        for each in range(step, end):
            hooks.after_step(job.step(each))
            hooks._saves.settle()
        return step

    plain = Job(0)
    run(tmp_path / "plain", plain)
    run(tmp_path / "hit", Job(0), end=33)
    merge_deltas(tmp_path / "hit")
    back = Job(1)
    assert run(tmp_path / "hit", back) >= 28
    assert back.state() == plain.state()


def dynamic_scenario():
    return cprsim.Scenario(
        job={"useful_time": f"{STEPS} s", "samples": STEPS * BATCH},
        cluster={"parameter_servers": 2},
        costs={"save": "1 s", "load": "1 s"},
        failures={"exactly": 0},
        policies={"deltas": KEYS | {"modified": 0.3}},
    )


def test_weights_and_moments_of_a_row_are_of_one_instant_whatever_threads_do(tmp_path):
    """DeepRec#1023: threads train while rows are copied."""
    rows = 2000
    weights, moments = torch.zeros(rows, 8), torch.zeros(rows)

    class Threads:
        def shards(self):
            return {0: [TablePart(0, weights, (moments,))], 1: []}

        def dense(self):
            return {}

        def lookups(self, numbers):
            return {0: numbers}

    hooks = TrainerHooks(dynamic_scenario(), "deltas", Threads(), tmp_path, STEPS)
    hooks.restore()
    over, updates = threading.Event(), []

    def work(seed):
        rng, done = np.random.default_rng(seed), 0
        while not over.is_set():
            mine = torch.from_numpy(rng.choice(rows // 4, 64, replace=False) * 4 + seed)
            with hooks.updating():
                weights[mine] += 1
                moments[mine] += 1  # after the weights: a copy in between would be torn
            done += 1
        updates.append(done)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in workers:
        each.start()
    (folder,), instants = tmp_path.glob("rows-0-*"), set()
    try:
        for step in range(STEPS):
            hooks.after_step(torch.arange(rows))
            hooks._saves.settle()
            if step % 10 == 5:
                merge_deltas(tmp_path)
            arrays = read_chain(folder, newest(folder).files)[0]
            stored, its = (each.view(np.float32) for each in arrays)
            assert (stored == its).all()
            instants.add(float(its.sum()))
    finally:
        over.set()
        for each in workers:
            each.join()
    assert min(updates) > 10
    assert len(instants) > 10


def test_an_update_inside_another_keeps_both(tmp_path):
    hooks = begun(tmp_path, 0).hooks
    with hooks.updating():
        with hooks.updating():
            pass
        with pytest.raises(UsageError, match="end that block"):
            hooks.save_now()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "folder nowhere: has no checkpoints of rows; give that of TrainerHooks"),
        (["nowhere", "--every", "5"], "'5' has no unit: write one, e.g. \"5 h\""),
        (["nowhere", "--every", "0 s"], "--every '0 s' is out of range: it must be > 0"),
    ],
)
def test_a_mistake_in_the_mergers_command_is_one_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        merger.main(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err == f"python -m cprsim.trainer.merge: {said}\n"
