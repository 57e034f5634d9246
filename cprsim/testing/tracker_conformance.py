"""The suite of tests that every tracker of rows passes."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.trackers import Tracker
from cprsim.testing.accounts import require

_Ids: TypeAlias = NDArray[np.integer[Any]]
_Table: TypeAlias = NDArray[np.float32]
#: Rows saved at a time.
_SAVE = 40


class TrackerConformance:
    """Tests that every tracker passes; inherit from it and say how to make yours.

    Attributes
    ----------
    rows
        Of the table that most tests track, at least 100.
    only_touched
        It selects no row that wasn't observed since it was last saved; if all rows are
        requested, it selects those it has selected before and that have not been saved.
    counts
        A row comes before any other that was accessed less often since both were saved.
    memory_bytes
        What `Tracker.memory_bytes` must be for a table of `rows` rows; None for any.

    Notes
    -----
    `tracker(table)` makes the tracker; the table has shape (rows, 4), type float32, and is live:
    each access adds 1 to all numbers of a row. It must be new each time, and seeded alike.

    Examples
    --------
        from cprsim.testing import TrackerConformance
        from mine import MostRecent

        class TestMostRecent(TrackerConformance):
            counts = False

            def tracker(self, table):
                return MostRecent(len(table))
    """

    rows: ClassVar[int] = 1000
    only_touched: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    memory_bytes: ClassVar[int | None] = None

    def tracker(self, table: NDArray[np.float32]) -> Tracker:
        """A new tracker of this table."""
        raise NotImplementedError("say how to make the tracker: def tracker(self, table)")

    # --- What is selected ---

    def test_selects_distinct_rows_of_the_table(self) -> None:
        """Row ids in a flat int64 array, at most `k` of them."""
        tracker, table = self._new()
        for step, ids in enumerate(self._batches()):
            _access(tracker, table, ids)
            for k in (1, 7, self.rows // 8, self.rows, 2 * self.rows):
                chosen = tracker.select(k)
                _check_selection(f"select({k}) after {step + 1} batches", chosen, k, self.rows)

    def test_selects_none_of_none(self) -> None:
        """`select(0)` is empty, before and after batches."""
        tracker, table = self._new()
        for ids in self._batches()[:3]:
            _check_selection("select(0)", tracker.select(0), 0, self.rows)
            _access(tracker, table, ids)

    def test_selecting_changes_nothing(self) -> None:
        """Check that answers stay the same however often `select` is called, for any `k`."""

        def ask(tracker: Tracker) -> None:
            for k in (3, self.rows, 1):
                once, again = (sorted(tracker.select(k).tolist()) for _ in range(2))
                require(once == again, f"select({k}) gives {once}, and called again {again}")

        self._check_same("select was called in between", self._play(), self._play(beside=ask))

    def test_selects_touched_rows_alone(self) -> None:
        """None before the first batch, then some of those seen; if it is `only_touched`."""
        if not self.only_touched:
            return
        tracker, table = self._new()
        chosen = tracker.select(self.rows).tolist()
        require(not chosen, f"nothing was touched, but {chosen} are selected")
        touched: set[int] = set()
        for ids in self._batches():
            _access(tracker, table, ids)
            touched.update(ids.tolist())
            strangers = set(tracker.select(self.rows).tolist()) - touched
            require(not strangers, f"rows {sorted(strangers)} are selected but were never touched")
        require(bool(tracker.select(1).size), f"of {len(touched)} touched rows none is selected")

    def test_saved_rows_rest_until_touched(self) -> None:
        """Only what wasn't saved is selected, and what is touched again; if it is `only_touched`.

        "Again" is 100 batches, for trackers that don't look at all of them.
        """
        if not self.only_touched:
            return
        tracker, table = self._new()
        for ids in self._batches():
            _access(tracker, table, ids)
        all_of_them = set(tracker.select(self.rows).tolist())
        some = tracker.select(len(all_of_them) // 2)
        tracker.saved(some)
        rest, expected = set(tracker.select(self.rows).tolist()), all_of_them - set(some.tolist())
        again = sorted(rest & set(some.tolist()))
        require(not again, f"rows {again} are selected again though they have just been saved")
        lost = sorted(expected - rest)
        require(not lost, f"rows {lost} are not selected any more though they weren't saved")
        tracker.saved(np.array(sorted(rest)))
        for _ in range(100):
            _access(tracker, table, some[:1])
        chosen = tracker.select(self.rows).tolist()
        require(
            chosen == some[:1].tolist(),
            f"all was saved and then row {some[0]} touched again, but {chosen} are selected",
        )

    def test_every_access_counts(self) -> None:
        """Also those of one row in one batch; if it `counts`."""
        if not self.counts:
            return
        tracker, table = self._new()
        rng = np.random.default_rng(5)
        accesses = rng.permutation(self.rows)[:20]
        for ids in np.array_split(rng.permutation(np.repeat(np.arange(20), accesses)), 3):
            _access(tracker, table, ids)
        most_first = np.argsort(-accesses).tolist()
        for k in range(1, 20):
            chosen = sorted(tracker.select(k).tolist())
            require(
                chosen == sorted(most_first[:k]),
                f"row i was accessed {accesses.tolist()}[i] times, but select({k}) is {chosen}",
            )

    # --- Observations ---

    def test_order_in_a_batch_does_not_matter(self) -> None:
        """A batch is a bag of ids."""
        rng = np.random.default_rng(1)
        self._check_same("each batch is shuffled", self._play(), self._play(rng.permutation))

    def test_type_and_shape_do_not_matter(self) -> None:
        """Ids of 4 and 8 bytes, a column a feature or flat."""
        changes: dict[str, Callable[[_Ids], _Ids]] = {
            "ids are int32": lambda ids: ids.astype(np.int32),
            "ids are uint32": lambda ids: ids.astype(np.uint32),
            "batches have two axes": lambda ids: ids.reshape(-1, 4),
            "batches are not contiguous": lambda ids: np.repeat(ids, 2)[::2],
        }
        for what, change in changes.items():
            self._check_same(what, self._play(), self._play(change))

    def test_nothing_observed_changes_nothing(self) -> None:
        """An empty batch is none, and saving no row is no save."""

        def nothing(tracker: Tracker) -> None:
            tracker.observe(np.empty(0, dtype=np.int64))
            tracker.observe(np.empty((0, 26), dtype=np.int32))
            tracker.saved(np.empty(0, dtype=np.int64))

        self._check_same("empty batches come", self._play(), self._play(beside=nothing))

    def test_unknown_rows_are_refused(self) -> None:
        """By an IndexError or a ValueError (`UsageError` is one), and nothing has changed then."""

        def wrong(tracker: Tracker) -> None:
            for row in (-1, self.rows, 1 << 40):
                for told in (tracker.observe, tracker.saved):
                    try:
                        told(np.array([self.rows - 1, row, 0]))
                    except (IndexError, ValueError):
                        continue
                    raise AssertionError(
                        f"{told.__name__} took row {row} of a table of {self.rows} without an error"
                    )

        self._check_same("unknown rows come", self._play(), self._play(beside=wrong))

    def test_keeps_hands_off_arrays_of_others(self) -> None:
        """Neither changes what it is given, nor minds what becomes of it or of its answers."""

        def scrap(tracker: Tracker) -> None:
            tracker.select(_SAVE)[:] = 0

        tracker, table = self._new()
        for ids in self._batches():
            before, held = ids.copy(), table.copy()
            np.add.at(held, ids, np.float32(1))
            _access(tracker, table, ids)
            tracker.saved(tracker.select(1))
            require(np.array_equal(before, ids), "observe changes the ids it is given")
            require(np.array_equal(held, table), "the tracker writes to the table")
        self._check_same("its answers are written to", self._play(), self._play(beside=scrap))
        self._check_same("batches are reused", self._play(), self._play(reuse=True))

    # --- What it is ---

    def test_same_history_gives_the_same_selections(self) -> None:
        """Whatever was tracked before by others."""
        self._check_same("played again", self._play(), self._play())

    def test_memory_is_constant(self) -> None:
        """A number of bytes that no batch changes, and that it claims."""
        tracker, table = self._new()
        first: object = tracker.memory_bytes
        require(isinstance(first, int) and first >= 0, f"memory_bytes is {first!r}")
        for ids in self._batches():
            _access(tracker, table, ids)
            tracker.saved(tracker.select(_SAVE))
            now = tracker.memory_bytes
            require(now == first, f"memory_bytes was {first}, and {now} after batches and saves")
        if self.memory_bytes is not None:
            require(first == self.memory_bytes, f"memory_bytes is {first}, not {self.memory_bytes}")

    def test_one_row_is_a_table(self) -> None:
        """It is touched, selected, saved, and touched again."""
        table: _Table = np.zeros((1, 4), dtype=np.float32)
        tracker = self.tracker(table)
        for turn in range(3):
            for _ in range(100):
                _access(tracker, table, np.zeros(3, dtype=np.int64))
            chosen = tracker.select(1).tolist()
            require(chosen == [0], f"save {turn} of the only row: {chosen} is selected")
            tracker.saved(np.zeros(1, dtype=np.int64))

    # --- Helpers ---

    def _new(self) -> tuple[Tracker, _Table]:
        table: _Table = np.zeros((self.rows, 4), dtype=np.float32)
        return self.tracker(table), table

    def _batches(self) -> list[_Ids]:
        """24 batches of 64 ids, of which low ones are many."""
        skewed = np.random.default_rng(3).random((24, 64)) ** 4
        return list((skewed * self.rows).astype(np.int64))

    def _play(
        self,
        change: Callable[[_Ids], _Ids] = np.copy,
        beside: Callable[[Tracker], None] = lambda _: None,
        reuse: bool = False,
    ) -> list[list[int]]:
        """Return the rows selected at each of 6 saves, and all rows at the end."""
        tracker, table = self._new()
        selections: list[_Ids] = []
        for step, ids in enumerate(map(change, self._batches())):
            _access(tracker, table, ids)
            beside(tracker)
            if reuse:
                ids[...] = 0
            if step % 4 == 3:
                selections.append(tracker.select(_SAVE).copy())
                tracker.saved(selections[-1])
        selections.append(tracker.select(self.rows))
        return [sorted(chosen.tolist()) for chosen in selections]

    @staticmethod
    def _check_same(what: str, one: list[list[int]], two: list[list[int]]) -> None:
        for save, (chosen, then) in enumerate(zip(one, two, strict=True)):
            require(chosen == then, f"save {save} takes rows {chosen}, but {then} where {what}")


def _access(tracker: Tracker, table: _Table, ids: _Ids) -> None:
    """Train on a batch: update the rows, then call `observe`."""
    np.add.at(table, ids, np.float32(1))
    tracker.observe(ids, table[ids])


def _check_selection(where: str, selection: object, k: int, rows: int) -> None:
    chosen = np.asarray(selection)
    require(
        chosen is selection and chosen.dtype == np.int64 and chosen.ndim == 1,
        f"{where} is {selection!r}, not a flat array of int64",
    )
    require(len(chosen) <= k, f"{where} gives {len(chosen)} rows")
    ids = chosen.tolist()
    require(len(set(ids)) == len(ids), f"{where} gives a row twice: {ids}")
    unknown = [row for row in ids if not 0 <= row < rows]
    require(not unknown, f"{where} gives rows {unknown} of a table of {rows}")
