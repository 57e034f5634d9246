"""Updates lost, against a model that holds the updates of every row as a list."""

import math
from collections import Counter

import numpy as np
import pytest

from cprsim.trainer.coordinator.history import JobSetBack, RowsSaved, ShardSetBack, losses
from cprsim.trainer.data import Planted
from cprsim.trainer.members.placement import Placement

STEPS = 12
DATA = Planted(samples=STEPS * 8, test_samples=8, batch_size=8, rows=(30, 7), dim=2)
PLACEMENT = Placement((30, 7), 3)


def by_hand(happened):
    """Each row holds the numbers of the updates made to it; checkpoints hold copies of that."""
    live = [[] for _ in range(37)]
    lost, done, serial = [], set(), 0
    kept = {0: ([list(row) for row in live], [list(row) for row in live], [])}
    stored = kept[0][0]
    for each in happened:
        for step in sorted({*range(each.step), *getattr(each, "ahead", ())} - done):
            for table, row in _uses(step):
                live[row + 30 * table].append((row + 30 * table, serial))
                serial += 1
            done.add(step)
        if isinstance(each, RowsSaved):
            stored = [list(live[row] if _is_saved(each, row) else stored[row]) for row in range(37)]
            kept[each.step] = stored, [list(row) for row in live], list(lost)
        elif isinstance(each, ShardSetBack):
            for row in range(each.server, 37, 3):
                held = kept[each.to][0][row]
                lost += [update for update in live[row] if update not in held]
                live[row] = list(held)
        else:
            stored, was_live, lost = kept[each.to]
            lost = list(lost)
            for row in range(37):
                lost += [update for update in was_live[row] if update not in stored[row]]
            live, done = [list(row) for row in stored], set(range(each.to))
    return lost


def _is_saved(saved, row):
    ids = saved.rows.get(row % 3)
    return ids is None or row // 3 in ids


SOME = {0: np.array([0, 3, 5]), 1: np.array([], dtype=np.int64), 2: np.arange(12)}


@pytest.mark.parametrize(
    "happened",
    [
        [],
        [RowsSaved(4, {})],
        [ShardSetBack(5, 1, 0)],
        [RowsSaved(4, {}), ShardSetBack(7, 0, 4), ShardSetBack(9, 0, 4), ShardSetBack(9, 2, 4)],
        [RowsSaved(4, {}), RowsSaved(6, SOME), ShardSetBack(9, 0, 6), ShardSetBack(9, 1, 6)],
        [RowsSaved(4, {}), ShardSetBack(7, 0, 4), JobSetBack(8, 4), ShardSetBack(10, 1, 4)],
        [RowsSaved(4, SOME), JobSetBack(8, 4), RowsSaved(8, SOME), ShardSetBack(10, 1, 8)],
        [RowsSaved(2, {}), RowsSaved(5, {}), ShardSetBack(7, 1, 2), RowsSaved(9, {})],
        [ShardSetBack(3, 0, 0), RowsSaved(4, {}), JobSetBack(6, 0), ShardSetBack(1, 2, 0)],
        [RowsSaved(4, SOME), ShardSetBack(5, 2, 4), ShardSetBack(7, 2, 4)],
    ],
)
def test_updates_lost_are_those_that_no_row_holds_any_more(happened):
    found, lost = losses(happened, STEPS, DATA, PLACEMENT), by_hand(happened)
    assert found.updates_lost == len(lost) / (STEPS * 8 * 2)
    uses = [row + 30 * table for step in range(STEPS) for table, row in _uses(step)]
    made, short = (Counter(row % 3 for row in rows) for rows in (uses, [row for row, _ in lost]))
    assert found.learning_lost == pytest.approx(
        sum(-math.log(max(1 - short[server] / made[server], 1e-4)) for server in range(3)) / 3
    )


def _uses(step):
    return [(t, r) for sample in DATA.batch(step).sparse for t, r in enumerate(sample)]


def test_all_is_lost_where_nothing_is_saved_and_all_shards_fail_at_the_end():
    happened = [ShardSetBack(STEPS, server, 0) for server in range(3)]

    found = losses(happened, STEPS, DATA, PLACEMENT)
    assert found == (1, pytest.approx(math.log(1e4)))
