"""MFU, SCAR, the baselines and their ranking, against plain Python ones."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cprsim.rows.popularity import zipf
from cprsim.rows.trackers import MFU, SCAR, Tracker
from cprsim.rows.trackers.ranking import CHUNK, largest, rotating_start
from tests.rows.exact import play

ROWS = 12
IDS = st.lists(st.integers(0, ROWS - 1), max_size=10)
# What happens between saves of so many rows.
HISTORY = st.lists(st.tuples(st.lists(IDS, max_size=4), st.integers(0, ROWS + 2)), max_size=8)

# --- MFU and SCAR: brute force -------------------------------------------------------------------


class ByHand:
    """Counts in a dict; ties broken from a start that walks by the golden ratio."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.saves = 0

    def select(self, k: int) -> list[int]:
        start = int(ROWS * (self.saves * (5**0.5 - 1) / 2 % 1))
        best_first = sorted(
            (row for row in self.counts if self.counts[row]),
            key=lambda row: (-self.counts[row], (row - start) % ROWS),
        )
        return best_first[:k]

    def saved(self, rows: list[int]) -> None:
        for row in rows:
            del self.counts[row]
        self.saves += bool(rows)


@given(HISTORY)
@settings(max_examples=100, deadline=None)
def test_mfu_is_counting_in_a_dict(history: list[tuple[list[list[int]], int]]) -> None:
    tracker, reference = MFU(ROWS), ByHand()
    for batches, k in history:
        for ids in batches:
            tracker.observe(np.array(ids))
            reference.counts.update(ids)
        chosen = reference.select(k)
        assert sorted(tracker.select(k)) == sorted(chosen)
        tracker.saved(np.array(chosen))
        reference.saved(chosen)


# Every touch moves a row as far as any other, in a direction of its own: exact in float32.
@given(st.integers(0, 2**32), st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_scar_ranks_by_the_change_since_the_save(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(40, 5))
    tracker, saved = SCAR(table), table.tolist()
    for _ in range(4):
        touched = rng.integers(40, size=15)
        table[touched] += rng.normal(size=(15, 5)) * 10 ** rng.uniform(-12, 12, size=(15, 1))
        tracker.observe(touched)
        far = [
            sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5
            for a, b in zip(table.tolist(), saved, strict=True)
        ]
        chosen = tracker.select(k).tolist()
        expected = sorted((row for row in range(40) if far[row]), key=lambda row: -far[row])[:k]
        assert sorted(chosen) == sorted(expected)
        tracker.saved(np.array(chosen, dtype=int))
        for row in chosen:
            saved[row] = table[row].tolist()


def test_a_diverged_row_has_changed_most() -> None:
    table = np.zeros((6, 2), dtype=np.float32)
    tracker = SCAR(table)
    table[:5, 0] = [1, -np.nan, 3, np.inf, 1e30]
    tracker.observe(np.arange(6))
    assert [set(tracker.select(k)) for k in (1, 2, 3, 4)] == [{1}, {1, 3}, {1, 3, 4}, {1, 2, 3, 4}]
    tracker.saved(np.array([3]))
    assert sorted(tracker.select(6)) == [0, 1, 2, 4]
    tracker.observe(np.array([3]))
    assert tracker.select(1) == [3]  # inf - inf is NaN: nobody knows how far it has moved


def test_scar_passes_over_rows_that_came_back() -> None:
    table = np.zeros(3)
    tracker = SCAR(table)
    table[:] = [1.0, 2.0, 3.0]
    tracker.observe(np.array([0, 1]))
    table[1] = 0.0
    assert tracker.select(3).tolist() == [0]  # and row 2 was never observed


def test_scar_is_mfu_where_every_update_changes_a_row_equally() -> None:
    def left(tracker: Tracker) -> list[float]:
        given = {"updates": 4000.0, "fraction": 0.25, "saves": 6, "seed": 3, "table": table}
        found: list[float] = play(zipf(300, 1.0), tracker, **given).updates.after.tolist()
        return found

    table = np.zeros(300, dtype=np.float32)
    scar = left(SCAR(table))
    table[:] = 0.0
    assert scar == left(MFU(300))
    assert scar[-1] > 0


def test_scar_takes_a_wide_table_in_pieces() -> None:
    # 3 rows fill a piece of 2^18 numbers: 3, 3 and 1.
    table = np.zeros((7, 80_000), dtype=np.float32)
    tracker = SCAR(table)
    table[:, -1] = [3, 5, 2, 7, 1, 6, 4]
    tracker.observe(np.arange(7))
    assert sorted(tracker.select(4)) == [1, 3, 5, 6]
    tracker.saved(np.array([1, 3, 5, 6]))
    assert sorted(tracker.select(7)) == [0, 2, 4]


# --- Counters that are full ----------------------------------------------------------------------


def test_a_counter_stays_at_its_largest_value() -> None:
    most = 2**31 - 1
    tracker = MFU(4)
    tracker._counts[:] = [most - 2, most, 5, 0]
    tracker._bound = most
    for _ in range(3):
        tracker.observe(np.array([0, 0, 1, 2]))
    assert tracker._counts.tolist() == [most, most, 8, 0]
    tracker.saved(np.array([0, 1]))
    tracker.observe(np.array([0]))
    assert tracker._counts.tolist() == [1, 0, 8, 0]


# --- Ranking -------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([0, 1, 2, 65535, 65536, 65537, 2**31 - 1]), min_size=1, max_size=30),
    st.data(),
)
def test_largest_is_sorting(scores: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(scores) + 1))
    start = data.draw(st.integers(0, len(scores)))
    order = sorted(
        (at for at, score in enumerate(scores) if score),
        key=lambda at: (-scores[at], at < start, at),
    )
    chosen = largest(np.array(scores, dtype=np.int32), k, start)
    assert sorted(chosen) == sorted(order[:k])


def test_largest_looks_at_all_pieces() -> None:
    scores = np.ones(2 * CHUNK + 3, dtype=np.int32)
    far = [0, CHUNK, 2 * CHUNK + 2]
    scores[far] = [70_000, 3, 70_001]
    assert sorted(largest(scores, 3, 5)) == far
    assert sorted(largest(scores, 5, CHUNK - 1)) == [0, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 2]


def test_starts_fill_the_table_evenly() -> None:
    # The three-distance theorem: n multiples of the golden ratio leave no gap above 1.9 / n.
    for count in (1000, 1024, 3):
        starts = [rotating_start(turn, count) for turn in range(1000)]
        in_tenths = np.histogram(starts, bins=min(count, 10), range=(0, count))[0]
        assert abs(in_tenths - 1000 / len(in_tenths)).max() <= 3
    assert rotating_start(1, 1000) == 618  # (sqrt 5 - 1) / 2


def test_ties_favour_no_row_in_the_long_run() -> None:
    # 400 saves of 4 of 32 rows, all touched once before each, and the rest forgotten: 50 a row.
    # A start that is even to within 3 turns in any stretch of rows keeps each within 3 of it.
    tracker, taken = MFU(32), np.zeros(32, dtype=int)
    for _ in range(400):
        tracker.observe(np.arange(32))
        chosen = tracker.select(4)
        taken[chosen] += 1
        tracker.saved(np.arange(32))
    assert abs(taken - 50).max() <= 3
