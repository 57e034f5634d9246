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

BROKEN: list[tuple[type[MFU], str, str]] = []


def breaks(test: str, text: str) -> Callable[[type[MFU]], type[MFU]]:
    """A test of the suite finds such a tracker, and says this."""

    def noted(broken: type[MFU]) -> type[MFU]:
        BROKEN.append((broken, test, text))
        return broken

    return noted


@breaks("selects_distinct_rows_of_the_table", "gives a row twice")
class Twice(MFU):
    def select(self, k):
        return np.repeat(super().select(k), 2)[:k]


@breaks("selects_distinct_rows_of_the_table", r"select\(1\) .* gives 2 rows")
@breaks("selects_none_of_none", r"select\(0\) gives 1 rows")
class TooMany(MFU):
    def select(self, k):
        return super().select(k + 1)


@breaks("selects_distinct_rows_of_the_table", "gives rows .* of a table of 1000")
class OneOff(MFU):
    def select(self, k):
        return super().select(k) + 1000


@breaks("selects_distinct_rows_of_the_table", "not a flat array of int64")
class Narrow(MFU):
    def select(self, k):
        return super().select(k).astype(np.int32)


@breaks("selecting_changes_nothing", "and called again")
class SelectSaves(MFU):
    def select(self, k):
        chosen = super().select(k)
        self.saved(chosen)
        return chosen


@breaks("selects_touched_rows_alone", "nothing was touched, but")
class Fills(MFU):
    def select(self, k):
        chosen = super().select(k)
        others = np.setdiff1d(np.arange(self._counts.size), chosen)
        return np.concatenate((chosen, others))[:k]


@breaks("selects_touched_rows_alone", "touched rows none is selected")
class Idle(MFU):
    def select(self, k):
        return super().select(0)


@breaks("saved_rows_rest_until_touched", "have just been saved")
class NeverClears(MFU):
    def saved(self, rows):
        pass


@breaks("saved_rows_rest_until_touched", "though they weren't saved")
class ClearsAll(MFU):
    def saved(self, rows):
        if np.size(rows):
            self._counts[:] = 0


@breaks("every_access_counts", "was accessed .* times, but")
class OncePerBatch(MFU):
    def observe(self, rows, values=None):
        super().observe(np.unique(rows))


@breaks("every_access_counts", "was accessed .* times, but")
class LostDuplicates(MFU):
    def observe(self, rows, values=None):
        super().observe(np.empty(0, dtype=int))
        if np.size(rows) and np.min(rows) >= 0 and np.max(rows) < self._counts.size:
            self._counts[rows] += 1
        else:
            super().observe(rows)


@breaks("order_in_a_batch_does_not_matter", "where each batch is shuffled")
class LastComesFirst(MFU):
    def observe(self, rows, values=None):
        super().observe(rows)
        if np.size(rows):
            self._counts[np.ravel(rows)[-1]] += 1


@breaks("type_and_shape_do_not_matter", "where ids are uint32")
class TakesSigned(MFU):
    def observe(self, rows, values=None):
        if np.asarray(rows).dtype != np.uint32:
            super().observe(rows)


@breaks("type_and_shape_do_not_matter", "where batches have two axes")
class FlatOnly(MFU):
    def observe(self, rows, values=None):
        super().observe(rows if np.ndim(rows) == 1 else rows[:0])


@breaks("nothing_observed_changes_nothing", "where empty batches come")
class EmptyIsABatch(MFU):
    def observe(self, rows, values=None):
        super().observe(rows)
        self._saves += 1


@breaks("unknown_rows_are_refused", "observe took row -1 of a table of 1000")
class WrapsAround(MFU):
    def observe(self, rows, values=None):
        super().observe(np.asarray(rows, dtype=int) % self._counts.size)


@breaks("unknown_rows_are_refused", "where unknown rows come")
class HalfDone(MFU):
    def observe(self, rows, values=None):
        ids = np.ravel(rows)
        super().observe(ids[:1])
        super().observe(ids[1:])


@breaks("keeps_hands_off_arrays_of_others", "changes the ids")
class SortsTheBatch(MFU):
    def observe(self, rows, values=None):
        super().observe(rows)
        np.asarray(rows).sort()


@breaks("keeps_hands_off_arrays_of_others", "where batches are reused")
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


@breaks("keeps_hands_off_arrays_of_others", "where its answers are written to")
class GivesItsOwn(MFU):
    def select(self, k):
        if not hasattr(self, "kept") or self.kept[0] != (k, self._counts.tobytes()):
            self.kept = (k, self._counts.tobytes()), super().select(k)
        return self.kept[1]


@breaks("same_history_gives_the_same_selections", "where played again")
class Unseeded(MFU):
    def select(self, k):
        if not hasattr(self, "_seed"):
            self._seed = np.random.default_rng().integers(1 << 30)
        return np.random.default_rng(self._seed).permutation(super().select(2 * k))[:k]


@breaks("memory_is_constant", "memory_bytes was 4000, and 4001")
class Grows(MFU):
    @property
    def memory_bytes(self):
        return 4000 + self._saves


@breaks("memory_is_constant", "memory_bytes is 1000, not 4000")
class Understates(MFU):
    @property
    def memory_bytes(self):
        return 1000


@breaks("one_row_is_a_table", r"save 0 of the only row: \[\] is selected")
class NotForOne(MFU):
    def select(self, k):
        return super().select(k if self._counts.size > 1 else 0)


@pytest.mark.parametrize(("broken", "test", "text"), BROKEN)
def test_the_suite_names_what_is_broken(broken: type[MFU], test: str, text: str) -> None:
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
