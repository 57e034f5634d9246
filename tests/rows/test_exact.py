import math

import numpy as np
import pytest
from scipy import stats

from cprsim.rows.popularity import Popularity, zipf
from cprsim.rows.trackers import MFU, SCAR
from tests.rows import exact


class Noting:
    """A tracker that selects what it is told to, and notes what it sees."""

    memory_bytes = 0

    def __init__(self, selects=lambda seen, k: np.empty(0, dtype=np.int64)):
        self._selects = selects
        self.batches, self.asked, self.saves = [], [], []

    def observe(self, rows, values=None):
        self.batches.append(np.asarray(rows).copy())

    def select(self, k):
        self.asked.append(k)
        return self._selects(np.concatenate(self.batches), k)

    def saved(self, rows):
        self.saves.append(rows)


def play(tracker, popularity=None, **given):
    given = {"updates": 4000.0, "fraction": 0.25, "saves": 6, "seed": 3} | given
    return exact.play(popularity or zipf(300, 1.0), tracker, **given)


def test_what_is_never_saved_is_all_lost():
    tracker = Noting()
    lost = play(tracker)

    assert lost.before.tolist() == lost.updates.after.tolist()
    assert sum(map(len, tracker.batches)) == round(lost.before[-1] * 4000)
    assert lost.before == pytest.approx(np.arange(1, 7) / 4, abs=4 / math.sqrt(4000))
    assert tracker.asked == [75] * 6


def test_what_is_saved_at_once_is_never_lost():
    lost = play(Noting(lambda seen, k: np.unique(seen)))

    assert lost.updates.after.tolist() == [0.0] * 6
    assert lost.before == pytest.approx(0.25, abs=4 * math.sqrt(0.25 / 4000))


def test_the_loss_is_counted_by_row():
    """Always the same ten rows are saved; the brute force counts accesses of the others."""
    kept = np.arange(10)
    tracker = Noting(lambda seen, k: kept)
    lost = play(tracker, batch=64)

    others = [int((batch >= 10).sum()) for batch in tracker.batches]
    assert lost.updates.after[-1] * 4000 == sum(others)
    assert all(saved is kept for saved in tracker.saves)


def test_every_row_is_accessed_by_its_popularity():
    """A chi-squared test of half a million accesses, rows never touched among them."""
    popularity = Popularity(np.array([1.0, 9.0, 40.0, 50.0]), np.array([0.3, 0.05, 0.00625, 0.0]))
    tracker = Noting()
    play(tracker, popularity, updates=2e6, saves=1)

    counts = np.sort(np.bincount(np.concatenate(tracker.batches), minlength=100))[::-1]
    share = exact.of_each_row(popularity)
    assert (counts[50:] == 0).all()
    expected = counts.sum() * share[:50]
    chi2 = ((counts[:50] - expected) ** 2 / expected).sum()
    assert chi2 < stats.chi2.ppf(0.9999, 49)
    assert np.std(counts[10:50]) > 0.5 * math.sqrt(expected[-1])


def test_the_table_takes_every_update():
    table = np.zeros(300, dtype=np.float32)
    tracker = Noting()
    play(tracker, table=table)

    assert table.tolist() == np.bincount(np.concatenate(tracker.batches), minlength=300).tolist()


def test_scar_is_mfu_where_every_update_changes_a_row_equally():
    table = np.zeros(300, dtype=np.float32)
    scar, mfu = play(SCAR(table), table=table), play(MFU(300))

    assert scar.updates.after.tolist() == mfu.updates.after.tolist()
    assert mfu.updates.after[-1] > 0
