"""The rows of a whole model: which tables are tracked, what saving by priority loses of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.basics.units import SECONDS
from cprsim.rows.names import OptimizerRule, TrackerName
from cprsim.rows.skew import Skew

if TYPE_CHECKING:
    from cprsim.rows.lost import Lost
    from cprsim.rows.meanfield import MeanField
    from cprsim.rows.popularity import Popularity

#: The largest tables that together hold this share of all rows are tracked, unless their number is
#: given; the others are saved whole each time.
TRACKED_SHARE = 0.99
#: Saves that are looked ahead; what the last leaves is taken for what all later ones leave. MFU has
#: settled by then, or nearly; what SSU leaves can go on growing, and costs little to look at.
MOST_SAVES: dict[TrackerName, int] = {
    "mfu": 1000,
    "scar": 1000,
    "ssu": 20_000,
    "round-robin": 20_000,
    "random": 20_000,
}
#: Saves that lost movement is worked out for, over which a sample of rows is played.
MOST_PLAYED = 1000
_COUNTER_BYTES = 4  # of a row in MFU's counters and in SSU's list (CPR, table of overheads)


class PartialSaves(NamedTuple):
    """Saves of a part of the rows, and what is trained meanwhile.

    `tracker`: what chooses among the rows of each tracked table; the others are saved whole.
    `fraction`: share of the rows that a save takes, and of the interval between saves. `samples`
    trained in one interval, which lasts `interval_s` useful seconds, in which ids are renewed.
    `intervals`: how far to look ahead. SSU looks at one batch of `subsample`, and so many of these
    go on its list `together`, as one.
    """

    tracker: TrackerName
    fraction: float
    samples: float
    intervals: float
    subsample: int = 2
    interval_s: float = 0.0
    together: int = 1

    @property
    def saves(self) -> int:
        """Saves in all the intervals."""
        return whole_periods(self.intervals, self.fraction)


@dataclass(frozen=True)
class TableRows:
    """One table: how many rows, how they are accessed, and what they take.

    `lookups`: rows of it that one sample looks up. `row_bytes`: of one row without optimizer state;
    `saved_bytes`: of all rows with it. `updates`: share of its updates that each server gets; all
    alike without it.
    """

    rows: int
    skew: Skew
    lookups: float
    row_bytes: float
    saved_bytes: float
    updates: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class RowModel:
    """The tables of a model; the `count` largest are tracked, or those with 99 % of the rows.

    `rule`: how far an update moves its row. `renewed`: share of the ids that new ones replace in a
    day of training. `directions` of a row's gradients, all alike without it; `batch`: samples of
    one, of a single sample without it.
    """

    tables: tuple[TableRows, ...]
    count: int | None = None
    rule: OptimizerRule = "sgd"
    renewed: float = 0.0
    directions: int | None = None
    batch: int | None = None

    @cached_property
    def tracked_tables(self) -> tuple[int, ...]:
        """Places of the tables whose rows are tracked, in order."""
        by_size = sorted(range(len(self.tables)), key=lambda index: -self.tables[index].rows)
        return tuple(sorted(by_size[: self._count([self.tables[each].rows for each in by_size])]))

    @cached_property
    def tracked(self) -> tuple[TableRows, ...]:
        """The tables whose rows are tracked, in their order among the others."""
        return tuple(self.tables[index] for index in self.tracked_tables)

    def _count(self, rows: Sequence[int]) -> int:
        """Return how many of the tables with so many `rows`, the largest first, are tracked."""
        if self.count is not None:
            return self.count
        return 1 + int(np.searchsorted(np.cumsum(rows), TRACKED_SHARE * sum(rows)))

    @property
    def tracked_rows(self) -> int:
        """Rows of the tracked tables."""
        return sum(table.rows for table in self.tracked)

    @property
    def tracked_bytes(self) -> float:
        """Rows of the tracked tables and their optimizer state, B."""
        return sum(table.saved_bytes for table in self.tracked)

    @cached_property
    def _known(self) -> dict[object, Any]:
        """Results of earlier calls: a policy is planned several times over."""
        return {}

    def most_saves(self, tracker: TrackerName) -> int:
        """Saves that `lost` is to look ahead: fewer where a sample of rows is played for it."""
        return min(MOST_SAVES[tracker], MOST_PLAYED) if self.renewed else MOST_SAVES[tracker]

    def lost(self, saving: PartialSaves) -> "Lost":
        """Expected lost updates of all rows from time 0, when everything is saved."""
        if saving not in self._known:
            self._known[saving] = self._lost(saving)
        known: Lost = self._known[saving]
        return known

    def change(self, saving: PartialSaves) -> "Lost":
        """Expected lost movement of all rows under Adagrad from time 0, when none has an update.

        With a `fraction` of 1 everything is saved once an interval. A first update moves the rows
        of all tables alike.
        """
        from cprsim.rows.lost import Lost  # noqa: PLC0415  (of those that save by priority)
        from cprsim.rows.movement import Made  # noqa: PLC0415

        fields, rest = self._fields(saving)
        parts = [field.change(saving.tracker, saving.intervals) for field, _ in fields]
        renewed, made = self._renewal(saving.interval_s), [each for p in parts for each in p.made]
        for table in rest:
            updates = saving.samples * table.lookups
            made.append(Made(self._popularity_of(table), updates, renewed, saving.fraction))
        after = np.sum([np.zeros(saving.saves), *(part.after for part in parts)], axis=0)
        return Lost(saving.fraction, after, tuple(made))

    def _lost(self, saving: PartialSaves) -> "Lost":
        from cprsim.rows.lost import Lost  # noqa: PLC0415  (likewise)

        fields, _ = self._fields(saving)
        parts = [field.lost(saving.tracker, saving.intervals) for field, _ in fields]
        updates = [table.lookups for _, table in fields]
        rest = math.fsum(table.lookups for table in self.tables) - math.fsum(updates)
        if rest > 0:
            parts.append(Lost(saving.fraction, np.zeros(saving.saves)))
            updates.append(rest)
        return Lost.together(parts, updates)

    def _fields(
        self, saving: PartialSaves
    ) -> tuple[list[tuple["MeanField", TableRows]], list[TableRows]]:
        """The tables saved by priority, and those saved whole: also those too small for a part."""
        from cprsim.rows.meanfield import MeanField  # noqa: PLC0415  (scipy is slow to import)

        fields, rest = [], []
        for index, table in enumerate(self.tables):
            if index not in self.tracked_tables or round(saving.fraction * table.rows) == 0:
                rest.append(table)
                continue
            field = MeanField(
                self._popularity_of(table),
                saving.samples * table.lookups,
                saving.fraction,
                saving.subsample,
                self.rule,
                self._renewal(saving.interval_s),
                self.directions,
                None if self.batch is None else saving.samples / self.batch,
                saving.together,
                table.updates,
            )
            fields.append((field, table))
        return fields, rest

    def _renewal(self, interval_s: float) -> float:
        """Rate at which ids are renewed in an interval of so many useful seconds."""
        return self.renewed * interval_s / SECONDS["d"]

    def memory_overhead(self, tracker: TrackerName, fraction: float) -> float:
        """Memory of a tracker as a share of that of the rows it tracks, as the CPR paper counts.

        MFU: a counter a row; SSU: a list of `fraction` of the row numbers; SCAR: a second copy.
        """
        counters = _COUNTER_BYTES * self.tracked_rows
        of_rows = self.tracked_row_bytes
        kept = {"mfu": counters, "ssu": fraction * counters, "scar": of_rows}
        return kept.get(tracker, 0.0) / of_rows

    @property
    def tracked_row_bytes(self) -> float:
        """Memory of the rows that are tracked, without optimizer state, B."""
        return math.fsum(table.rows * table.row_bytes for table in self.tracked)

    def modified_share(self, samples: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of the tracked tables' bytes whose rows change while that many samples are trained.

        Shape (k,) as `samples`; the mean over the tables, weighted by what a save of each takes.
        """
        bytes_of: dict[tuple[int, str, float], float] = {}
        alike: dict[tuple[int, str, float], TableRows] = {}
        for table in self.tracked:
            key = (table.rows, table.skew.model_dump_json(), table.lookups)
            bytes_of[key] = bytes_of.get(key, 0.0) + table.saved_bytes
            alike[key] = table
        shares = [self._popularity_of(t).modified(samples * t.lookups) for t in alike.values()]
        weights = np.array(list(bytes_of.values()))
        if len(shares) == 1:
            return shares[0]
        # What is missed is averaged, so that nothing missed stays exactly that.
        return np.asarray(1 - weights @ (1 - np.array(shares)) / weights.sum())

    def touched_bytes(self, samples: float) -> float:
        """Bytes of the rows of all tables that so many samples touch, with their optimizer state.

        On average over all servers together, each row counted once however often it is touched.
        """
        return math.fsum(
            table.saved_bytes
            * float(self._popularity_of(table).modified(np.array([samples * table.lookups]))[0])
            for table in self.tables
        )

    def _popularity_of(self, table: TableRows) -> "Popularity":
        key = (table.rows, table.skew.model_dump_json())
        if key not in self._known:
            self._known[key] = table.skew.popularity(table.rows)
        known: Popularity = self._known[key]
        return known
