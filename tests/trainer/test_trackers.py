"""Trackers of the rows of a process: each range of rows has the selections of its own tracker."""

import numpy as np
import pytest
import torch

from cprsim.contract import Tracking
from cprsim.errors import UsageError
from cprsim.rows.trackers import MFU, SCAR
from cprsim.trainer import TrainerHooks
from cprsim.trainer.hooks.trackers import RowTrackers
from cprsim.trainer.hooks.updates import UpdateCount
from tests.trainer.loops import STEPS, Adapter, Loop, scenario

TABLES = (range(4), range(6, 30), range(30, 70))  # of 80 rows; at 1/8: none, 3 and 5 rows
ALWAYS = {*range(6), *range(70, 80)}  # too small to track, or not tracked


class Tracked:
    """Trackers, and the counts of updates that they go by."""

    def __init__(self, name, weights, tables, fraction, subsample=2):
        self.updates = UpdateCount(len(weights), "rows")
        tracked = {each: weights[each.start : each.stop] for each in tables}
        tracking = Tracking(name, fraction, subsample=subsample)
        self.trackers = RowTrackers(tracked, tracking, 0, self.updates.since)
        self.select = self.trackers.select

    def observe(self, ids):
        self.updates.did(ids)
        self.trackers.observe(ids)

    def saved(self, rows):
        self.updates.saved(rows, sure=True)
        self.trackers.saved(rows)


@pytest.mark.parametrize("name", ["mfu", "ssu", "scar"])
def test_a_share_of_each_table_is_saved_and_the_rest_whole(name):
    weights = torch.zeros(80, 2)
    tracker = Tracked(name, weights, TABLES, 1 / 8, subsample=1)
    assert set(tracker.select().tolist()) == ALWAYS
    for count, rows in ((5, [8, 20, 31]), (3, [7, 9, 68, 69]), (1, [29, 40, 41, 42, 43, 2, 79])):
        for _ in range(count):
            weights[rows] += 1
            tracker.observe(torch.tensor(rows[::-1]))
    chosen = tracker.select()
    assert {len(set(chosen) & set(each)) for each in TABLES} == {4, 3, 5}
    if name == "ssu":  # whichever of them are on the full lists
        assert set(chosen) <= ALWAYS | {8, 20, 31, 7, 9, 68, 69, 29, 40, 41, 42, 43}
        assert len(chosen) == len(ALWAYS) + 8
    else:  # the others of each table are as many as its share, or tie
        assert {8, 20, 31, 68, 69} < set(chosen) - ALWAYS
    assert chosen.tolist() == sorted(chosen)
    tracker.saved(chosen)
    assert not (set(tracker.select()) - ALWAYS) & set(chosen)


@pytest.mark.parametrize("interval", [5, 37])
@pytest.mark.parametrize("name", ["mfu", "scar"])
def test_of_each_table_the_rows_are_those_of_a_tracker_of_its_own(name, interval):
    """Also after saves, in each of which ties are broken from another row on."""
    rng = np.random.default_rng(2)
    weights = torch.zeros(300, 4)
    tables = (range(20, 120), range(150, 290))
    process = Tracked(name, weights, tables, 0.1)
    own = [
        MFU(len(each)) if name == "mfu" else SCAR(weights.numpy()[each.start : each.stop])
        for each in tables
    ]
    for step in range(12 * interval):
        ids = torch.from_numpy((rng.random(40) ** 3 * 300).astype(np.int64))
        weights.index_add_(0, ids, torch.ones(40, 4))
        process.observe(ids)
        for each, tracker in zip(tables, own, strict=True):
            tracker.observe(ids[(ids >= each.start) & (ids < each.stop)].numpy() - each.start)
        if step % interval == interval - 1:
            chosen = process.select()
            process.saved(chosen)
            for each, tracker in zip(tables, own, strict=True):
                part = chosen[(chosen >= each.start) & (chosen < each.stop)] - each.start
                expected = tracker.select(len(each) // 10)
                assert part.tolist() == sorted(expected.tolist())
                tracker.saved(expected)


# --- An adapter that says how far rows have moved -------------------------------------------------


class Moving(Adapter):
    """Adagrad's sums, added up over a row."""

    def movement(self):
        return {
            shard: [part.state[0].sum(dim=1) for part in parts]
            for shard, parts in self.shards().items()
        }


def test_a_save_takes_the_rows_whose_sums_have_grown_most(tmp_path, monkeypatch):
    loop, chosen = Loop(), []
    adapter = Moving(loop)
    loop.hooks = hooks = TrainerHooks(scenario(), "cpr-scar", adapter, tmp_path, STEPS)
    select = RowTrackers.select

    def selected(self):
        chosen.append(select(self))
        return chosen[-1]

    monkeypatch.setattr(RowTrackers, "select", selected)
    parts = hooks._state._layout.parts
    tracked = [part for part in parts if part.table < 2]
    saved = {part: torch.zeros(part.rows) for part in parts}
    first = hooks.restore()

    def sums(part):
        at = [(each.table, each.first) for each in adapter.shards()[part.shard]]
        return adapter.movement()[part.shard][at.index((part.table, part.first))]

    for step in range(first, 16):
        before = len(chosen)
        loop.train(step + 1)
        if len(chosen) == before:
            continue
        for part in tracked:
            mine = chosen[-1][(chosen[-1] >= part.start) & (chosen[-1] < part.numbers.stop)]
            mine = mine - part.start
            grown = (sums(part) - saved[part]).numpy()
            assert len(mine) == round(part.rows / 4)
            assert np.sort(grown[mine])[0] >= np.delete(grown, mine).max() - 1e-6
            saved[part][mine] = sums(part)[mine]
    assert len(chosen) > 3


def test_tensors_of_another_shape_are_refused(tmp_path):
    class Wrong(Adapter):
        def movement(self):
            return {0: [torch.zeros(3)], 1: []}

    with pytest.raises(UsageError, match=r"movement\(\): give for shard 0 a tensor of shape"):
        TrainerHooks(scenario(), "cpr-scar", Wrong(Loop()), tmp_path, STEPS)
