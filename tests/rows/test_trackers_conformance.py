"""Every shipped tracker through the suite that cprsim ships, and broken ones that it must catch."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cprsim.rows.trackers import MFU, SCAR, SSU
from cprsim.testing import TrackerConformance
from tests.rows.baselines import Random, RoundRobin


class TestMFU(TrackerConformance):
    memory_bytes = 4000

    def tracker(self, table):
        return MFU(len(table))


class TestSSU(TrackerConformance):
    counts = False
    memory_bytes = 4 * 125 + 1000 // 8

    def tracker(self, table):
        return SSU(len(table), capacity=-(-len(table) // 8), seed=4)


# Fuller than full: 64 ids a batch, and a list of 10.
class TestSSUThatEvicts(TrackerConformance):
    counts = False
    memory_bytes = 4 * 10 + 1000 // 8

    def tracker(self, table):
        return SSU(len(table), capacity=10, period=1, seed=np.random.default_rng(8))


class TestSCAR(TrackerConformance):
    memory_bytes = 1000 * 4 * 4 + 1000

    def tracker(self, table):
        return SCAR(table)


class TestRoundRobin(TrackerConformance):
    only_touched = False
    counts = False
    memory_bytes = 0

    def tracker(self, table):
        return RoundRobin(len(table))


class TestRandom(TrackerConformance):
    only_touched = False
    counts = False
    memory_bytes = 0

    def tracker(self, table):
        return Random(len(table), seed=6)


# --- The suite finds what is wrong ---------------------------------------------------------------


def scrambled(tracker: MFU, k: int) -> NDArray[Any]:
    """A choice that no seed repeats."""
    vars(tracker).setdefault("_seed", np.random.default_rng().integers(1 << 30))
    return np.random.default_rng(tracker._seed).permutation(MFU.select(tracker, 2 * k))[:k]


def filled(tracker: MFU, k: int) -> NDArray[Any]:
    """Rows that nobody touched, where those that were are too few."""
    chosen = MFU.select(tracker, k)
    return np.concatenate((chosen, np.setdiff1d(np.arange(tracker._counts.size), chosen)))[:k]


def saving(tracker: MFU, k: int) -> NDArray[Any]:
    chosen = MFU.select(tracker, k)
    tracker.saved(chosen)
    return chosen


def kept(tracker: MFU, k: int) -> NDArray[Any]:
    """The array of the last answer, where that hasn't changed."""
    now = k, tracker._counts.tobytes()
    if getattr(tracker, "kept", (None,))[0] != now:
        tracker.kept = now, MFU.select(tracker, k)
    return tracker.kept[1]


def clear_all(tracker: MFU, rows: NDArray[Any]) -> None:
    if np.size(rows):
        tracker._counts[:] = 0


def count_once(tracker: MFU, rows: NDArray[Any], _: object = None) -> None:
    if np.size(rows) and np.min(rows) >= 0 and np.max(rows) < tracker._counts.size:
        tracker._counts[rows] += 1
    else:
        MFU.observe(tracker, rows)


def count_last_twice(tracker: MFU, rows: NDArray[Any], _: object = None) -> None:
    MFU.observe(tracker, rows)
    if np.size(rows):
        tracker._counts[np.ravel(rows)[-1]] += 1


def miss_unsigned(tracker: MFU, rows: NDArray[Any], _: object = None) -> None:
    if np.asarray(rows).dtype != np.uint32:
        MFU.observe(tracker, rows)


def move_ties(tracker: MFU, rows: NDArray[Any], _: object = None) -> None:
    MFU.observe(tracker, rows)
    tracker._saves += 1


def take_one_by_one(tracker: MFU, rows: NDArray[Any], _: object = None) -> None:
    MFU.observe(tracker, np.ravel(rows)[:1])
    MFU.observe(tracker, np.ravel(rows)[1:])


def sort(tracker: MFU, rows: NDArray[Any], _: object = None) -> None:
    MFU.observe(tracker, rows)
    np.asarray(rows).sort()


class KeepsTheBatch(MFU):
    last = np.empty(0, dtype=int)

    def observe(self, rows, values=None):
        super().observe(self.last)
        super().observe(rows[:0])
        self.last = rows.reshape(-1)

    def select(self, k):
        super().observe(self.last)
        self.last = self.last[:0]
        return super().select(k)


#: The test of the suite that finds what is broken, what it says, and a method of MFU in its place.
DISTINCT, RESTS = "selects_distinct_rows_of_the_table", "saved_rows_rest_until_touched"
ALIKE, HANDS_OFF = "type_and_shape_do_not_matter", "keeps_hands_off_arrays_of_others"
BROKEN: list[tuple[str, str, str, Any]] = [
    (DISTINCT, "gives a row twice", "select",
     lambda tracker, k: np.repeat(MFU.select(tracker, k), 2)[:k]),
    (DISTINCT, r"select\(1\) .* gives 2 rows", "select",
     lambda tracker, k: MFU.select(tracker, k + 1)),
    ("selects_none_of_none", r"select\(0\) gives 1 rows", "select",
     lambda tracker, k: MFU.select(tracker, k + 1)),
    (DISTINCT, "gives rows .* of a table of 1000", "select",
     lambda tracker, k: MFU.select(tracker, k) + 1000),
    (DISTINCT, "not a flat array of int64", "select",
     lambda tracker, k: MFU.select(tracker, k).astype(np.int32)),
    ("selecting_changes_nothing", "and called again", "select", saving),
    ("selects_touched_rows_alone", "nothing was touched, but", "select", filled),
    ("selects_touched_rows_alone", "touched rows none is selected", "select",
     lambda tracker, _: MFU.select(tracker, 0)),
    (RESTS, "have just been saved", "saved", lambda *_: None),
    (RESTS, "though they weren't saved", "saved", clear_all),
    ("every_access_counts", "was accessed .* times, but", "observe",
     lambda tracker, rows, _=None: MFU.observe(tracker, np.unique(rows))),
    ("every_access_counts", "was accessed .* times, but", "observe", count_once),
    ("order_in_a_batch_does_not_matter", "where each batch is shuffled", "observe",
     count_last_twice),
    (ALIKE, "where ids are uint32", "observe", miss_unsigned),
    (ALIKE, "where batches have two axes", "observe",
     lambda tracker, rows, _=None: MFU.observe(tracker, rows if np.ndim(rows) == 1 else rows[:0])),
    ("nothing_observed_changes_nothing", "where empty batches come", "observe", move_ties),
    ("unknown_rows_are_refused", "took row -1 of a table of 1000", "observe",
     lambda tracker, rows, _=None: MFU.observe(tracker, np.asarray(rows, int) % 1000)),
    ("unknown_rows_are_refused", "where unknown rows come", "observe", take_one_by_one),
    (HANDS_OFF, "changes the ids", "observe", sort),
    (HANDS_OFF, "where batches are reused", "", KeepsTheBatch),
    (HANDS_OFF, "where its answers are written to", "select", kept),
    ("same_history_gives_the_same_selections", "where played again", "select", scrambled),
    ("memory_is_constant", "memory_bytes was 4000, and 4001", "memory_bytes",
     property(lambda tracker: 4000 + tracker._saves)),
    ("memory_is_constant", "memory_bytes is 1000, not 4000", "memory_bytes", 1000),
    ("one_row_is_a_table", r"save 0 of the only row: \[\] is selected", "select",
     lambda tracker, k: MFU.select(tracker, k if tracker._counts.size > 1 else 0)),
]  # fmt: skip


@pytest.mark.parametrize(("test", "text", "method", "instead"), BROKEN)
def test_the_suite_names_what_is_broken(test: str, text: str, method: str, instead: Any) -> None:
    broken = type("Broken", (MFU,), {method: instead}) if method else instead

    class Suite(TrackerConformance):
        memory_bytes = 4000

        def tracker(self, table):
            return broken(len(table))

    with pytest.raises(AssertionError, match=text):
        getattr(Suite(), f"test_{test}")()


def test_the_suite_sees_writes_to_the_table() -> None:
    class Writes(SCAR):
        def saved(self, rows: Any) -> None:
            super().saved(rows)
            self._table[rows] = 0

    class Suite(TrackerConformance):
        def tracker(self, table):
            return Writes(table)

    with pytest.raises(AssertionError, match="the tracker writes to the table"):
        Suite().test_keeps_hands_off_arrays_of_others()


def test_the_suite_sees_what_is_never_selected_again() -> None:
    class Once(MFU):
        def saved(self, rows: Any) -> None:
            super().saved(rows)
            self._counts[np.asarray(rows, dtype=int)] = -(10**6)

        def select(self, k: int) -> Any:
            counts, self._counts = self._counts, self._counts.clip(0)
            chosen = super().select(k)
            self._counts = counts
            return chosen

    class Suite(TrackerConformance):
        def tracker(self, table):
            return Once(len(table))

    with pytest.raises(AssertionError, match=r"touched again, but \[\] are selected"):
        Suite().test_saved_rows_rest_until_touched()


def test_the_suite_asks_for_a_tracker() -> None:
    with pytest.raises(NotImplementedError, match="def tracker"):
        TrackerConformance().tracker(np.zeros((1, 4), dtype=np.float32))
