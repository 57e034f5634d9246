import math

import numpy as np
import pytest
from scipy import stats

from cprsim.errors import UsageError
from cprsim.rows.popularity import Popularity, uniform, zipf
from cprsim.rows.trackers import MFU, SCAR, SSU
from tests.rows import exact
from tests.rows.baselines import Random, RoundRobin


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
    return exact.play(popularity or zipf(300, 1.0), tracker, **given).updates


def test_what_is_never_saved_is_all_lost():
    tracker = Noting()
    lost = play(tracker)

    assert lost.before.tolist() == lost.after.tolist()
    assert sum(map(len, tracker.batches)) == round(lost.before[-1] * 4000)
    assert lost.before == pytest.approx(np.arange(1, 7) / 4, abs=4 / math.sqrt(4000))
    assert tracker.asked == [75] * 6


def test_what_is_saved_at_once_is_never_lost():
    lost = play(Noting(lambda seen, k: np.unique(seen)))

    assert lost.after.tolist() == [0.0] * 6
    assert lost.before == pytest.approx(0.25, abs=4 * math.sqrt(0.25 / 4000))


def test_the_loss_is_counted_by_row():
    """Always the same ten rows are saved; the brute force counts accesses of the others."""
    kept = np.arange(10)
    tracker = Noting(lambda seen, k: kept)
    lost = play(tracker, batch=64)

    others = [int((batch >= 10).sum()) for batch in tracker.batches]
    assert lost.after[-1] * 4000 == sum(others)
    assert all(saved is kept for saved in tracker.saves)


@pytest.mark.parametrize("batch", [None, 1, 64, 10_000])
def test_a_batch_is_as_large_as_asked_and_no_access_is_left_out(batch):
    tracker = Noting()
    lost = play(tracker, batch=batch, saves=1)

    drawn = round(lost.before[0] * 4000)
    sizes = [len(rows) for rows in tracker.batches]
    assert sum(sizes) == drawn
    if batch is not None:
        assert sizes[:-1] == [batch] * (math.ceil(drawn / batch) - 1)


def test_accesses_come_in_random_order_whatever_the_batches():
    whole, batches = Noting(), Noting()
    play(whole, saves=1)
    play(batches, saves=1, batch=100)

    rows = np.concatenate(batches.batches)
    assert rows.tolist() == np.concatenate(whole.batches).tolist()
    # The first half of a random order holds half of the most popular row's accesses.
    hottest = np.bincount(rows).argmax()
    half = (rows[: len(rows) // 2] == hottest).sum()
    total = (rows == hottest).sum()
    assert half == pytest.approx(total / 2, abs=4 * math.sqrt(total) / 2)


def test_every_row_is_accessed_by_its_popularity():
    """A chi-squared test of half a million accesses, rows never touched among them."""
    popularity = Popularity(np.array([1.0, 9.0, 40.0, 50.0]), np.array([0.3, 0.05, 0.00625, 0.0]))
    tracker = Noting()
    play(tracker, popularity, updates=2e6, saves=1)

    counts = np.sort(np.bincount(np.concatenate(tracker.batches), minlength=100))[::-1]
    share = popularity.expand()
    assert (counts[50:] == 0).all()
    expected = counts.sum() * share[:50]
    chi2 = ((counts[:50] - expected) ** 2 / expected).sum()
    assert chi2 < stats.chi2.ppf(0.9999, 49)
    assert np.std(counts[10:50]) > 0.5 * math.sqrt(expected[-1])


def test_row_numbers_say_nothing_about_popularity():
    tracker = Noting()
    play(tracker, zipf(300, 1.2), updates=1e5, saves=1)

    order = np.argsort(-np.bincount(np.concatenate(tracker.batches), minlength=300))[:50]
    assert order.mean() == pytest.approx(149.5, abs=4 * 300 / math.sqrt(12 * 50))
    assert sorted(order) != list(range(50))


def test_pieces_change_nothing(monkeypatch):
    whole = play(MFU(300))
    monkeypatch.setattr("tests.rows.exact._CHUNK", 7)

    assert play(MFU(300)).after.tolist() == whole.after.tolist()


def test_the_table_takes_every_update():
    table = np.zeros(300, dtype=np.float32)
    tracker = Noting()
    play(tracker, table=table)

    assert table.tolist() == np.bincount(np.concatenate(tracker.batches), minlength=300).tolist()


def test_scar_is_mfu_where_every_update_changes_a_row_equally():
    table = np.zeros(300, dtype=np.float32)
    scar, mfu = play(SCAR(table), table=table), play(MFU(300))

    assert scar.after.tolist() == mfu.after.tolist()
    assert mfu.after[-1] > 0


@pytest.mark.parametrize(
    "tracker",
    [MFU(300), SSU(300, 300), SCAR(np.zeros(300)), RoundRobin(300), Random(300, 1), Noting()],
    ids=lambda tracker: type(tracker).__name__,
)
def test_fraction_1_is_vanilla(tracker):
    lost = play(tracker, fraction=1.0)

    assert lost.after.tolist() == [0.0] * 6
    assert lost.before == pytest.approx(1, abs=4 / math.sqrt(4000))


def test_one_row_that_takes_all_accesses_is_always_saved():
    popularity = Popularity(np.array([1.0, 99.0]), np.array([1.0, 0.0]))

    for tracker in (MFU(100), SSU(100, 25)):
        assert play(tracker, popularity, batch=50).after.tolist() == [0.0] * 6


def test_the_seed_decides():
    first, again, other = (play(MFU(300), seed=seed) for seed in (1, 1, 2))

    assert first.after.tolist() == again.after.tolist() != other.after.tolist()


def test_faults():
    with pytest.raises(UsageError, match=r"^batch is 0; it must be 1 or more$"):
        play(MFU(300), batch=0)
    with pytest.raises(
        UsageError,
        match=r"^fraction 0.001 of 300 rows is less than half a row; save the table whole$",
    ):
        play(MFU(300), uniform(300), fraction=0.001)
