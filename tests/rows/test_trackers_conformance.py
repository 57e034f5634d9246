"""Every shipped tracker through the suite that cprsim ships, and broken ones that it must catch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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

BREAKAGES: dict[str, type[MFU]] = {}


def breakage(broken: type[MFU]) -> type[MFU]:
    BREAKAGES[broken.__name__] = broken
    return broken


@breakage
class Twice(MFU):
    def select(self, k):
        return np.repeat(super().select(k), 2)[:k]


@breakage
class TooMany(MFU):
    def select(self, k):
        return super().select(k + 1)


@breakage
class OneOff(MFU):
    def select(self, k):
        return super().select(k) + 1000


@breakage
class Narrow(MFU):
    def select(self, k):
        return super().select(k).astype(np.int32)


@breakage
class SelectSaves(MFU):
    def select(self, k):
        chosen = super().select(k)
        self.saved(chosen)
        return chosen


@breakage
class Fills(MFU):
    def select(self, k):
        chosen = super().select(k)
        others = np.setdiff1d(np.arange(self._counts.size), chosen)
        return np.concatenate((chosen, others))[:k]


@breakage
class Idle(MFU):
    def select(self, k):
        return super().select(0)


@breakage
class NeverClears(MFU):
    def saved(self, rows):
        pass


@breakage
class ClearsAll(MFU):
    def saved(self, rows):
        if np.size(rows):
            self._counts[:] = 0


@breakage
class OncePerBatch(MFU):
    def observe(self, rows, values=None):
        super().observe(np.unique(rows))


@breakage
class LostDuplicates(MFU):
    def observe(self, rows, values=None):
        super().observe(np.empty(0, dtype=int))
        if np.size(rows) and np.min(rows) >= 0 and np.max(rows) < self._counts.size:
            self._counts[rows] += 1
        else:
            super().observe(rows)


@breakage
class LastComesFirst(MFU):
    def observe(self, rows, values=None):
        super().observe(rows)
        if np.size(rows):
            self._counts[np.ravel(rows)[-1]] += 1


@breakage
class TakesSigned(MFU):
    def observe(self, rows, values=None):
        if np.asarray(rows).dtype != np.uint32:
            super().observe(rows)


@breakage
class FlatOnly(MFU):
    def observe(self, rows, values=None):
        super().observe(rows if np.ndim(rows) == 1 else rows[:0])


@breakage
class EmptyIsABatch(MFU):
    def observe(self, rows, values=None):
        super().observe(rows)
        self._saves += 1


@breakage
class WrapsAround(MFU):
    def observe(self, rows, values=None):
        super().observe(np.asarray(rows, dtype=int) % self._counts.size)


@breakage
class HalfDone(MFU):
    def observe(self, rows, values=None):
        ids = np.ravel(rows)
        super().observe(ids[:1])
        super().observe(ids[1:])


@breakage
class SortsTheBatch(MFU):
    def observe(self, rows, values=None):
        super().observe(rows)
        np.asarray(rows).sort()


@breakage
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


@breakage
class GivesItsOwn(MFU):
    def select(self, k):
        if not hasattr(self, "kept") or self.kept[0] != (k, self._counts.tobytes()):
            self.kept = (k, self._counts.tobytes()), super().select(k)
        return self.kept[1]


@breakage
class Unseeded(MFU):
    def select(self, k):
        if not hasattr(self, "_seed"):
            self._seed = np.random.default_rng().integers(1 << 30)
        return np.random.default_rng(self._seed).permutation(super().select(2 * k))[:k]


@breakage
class Grows(MFU):
    @property
    def memory_bytes(self):
        return 4000 + self._saves


@breakage
class Understates(MFU):
    @property
    def memory_bytes(self):
        return 1000


@breakage
class NotForOne(MFU):
    def select(self, k):
        return super().select(k if self._counts.size > 1 else 0)


@pytest.mark.parametrize(
    ("name", "test", "text"),
    [
        ("Twice", "selects_distinct_rows_of_the_table", "gives a row twice"),
        ("TooMany", "selects_distinct_rows_of_the_table", r"select\(1\) .* gives 2 rows"),
        ("TooMany", "selects_none_of_none", r"select\(0\) gives 1 rows"),
        ("OneOff", "selects_distinct_rows_of_the_table", "gives rows .* of a table of 1000"),
        ("Narrow", "selects_distinct_rows_of_the_table", "not a flat array of int64"),
        ("SelectSaves", "selecting_changes_nothing", "and called again"),
        ("Fills", "selects_touched_rows_alone", "nothing was touched, but"),
        ("Idle", "selects_touched_rows_alone", "touched rows none is selected"),
        ("NeverClears", "saved_rows_rest_until_touched", "have just been saved"),
        ("ClearsAll", "saved_rows_rest_until_touched", "though they weren't saved"),
        ("OncePerBatch", "every_access_counts", "was accessed .* times, but"),
        ("LostDuplicates", "every_access_counts", "was accessed .* times, but"),
        ("LastComesFirst", "order_in_a_batch_does_not_matter", "where each batch is shuffled"),
        ("TakesSigned", "type_and_shape_do_not_matter", "where ids are uint32"),
        ("FlatOnly", "type_and_shape_do_not_matter", "where batches have two axes"),
        ("EmptyIsABatch", "nothing_observed_changes_nothing", "where empty batches come"),
        ("WrapsAround", "unknown_rows_are_refused", "observe took row -1 of a table of 1000"),
        ("HalfDone", "unknown_rows_are_refused", "where unknown rows come"),
        ("SortsTheBatch", "keeps_hands_off_arrays_of_others", "changes the ids"),
        ("KeepsTheBatch", "keeps_hands_off_arrays_of_others", "where batches are reused"),
        ("GivesItsOwn", "keeps_hands_off_arrays_of_others", "where its answers are written to"),
        ("Unseeded", "same_history_gives_the_same_selections", "where played again"),
        ("Grows", "memory_is_constant", "memory_bytes was 4000, and 4001"),
        ("Understates", "memory_is_constant", "memory_bytes is 1000, not 4000"),
        ("NotForOne", "one_row_is_a_table", r"save 0 of the only row: \[\] is selected"),
    ],
)
def test_the_suite_names_what_is_broken(name: str, test: str, text: str) -> None:
    class Suite(TrackerConformance):
        memory_bytes = 4000

        def tracker(self, table):
            return BREAKAGES[name](len(table))

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


@pytest.mark.parametrize("name", sorted(BREAKAGES))
def test_every_breakage_is_tried(name: str) -> None:
    tried: Callable[..., Any] = test_the_suite_names_what_is_broken
    (mark,) = tried.pytestmark  # type: ignore[attr-defined]
    assert name in {case[0] for case in mark.args[1]}
