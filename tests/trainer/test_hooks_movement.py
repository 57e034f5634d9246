"""An adapter that says how far rows have moved: SCAR's choice without a copy of the rows."""

import numpy as np
import pytest
import torch

from cprsim.errors import UsageError
from cprsim.trainer import TrainerHooks
from cprsim.trainer.hooks.trackers import RowTrackers
from tests.trainer.loops import STEPS, Adapter, Loop, scenario, train


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
    hooks = TrainerHooks(scenario(), "cpr-scar", adapter, tmp_path, STEPS)
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
        train(loop, hooks, step, step + 1)
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
