"""What is lost where an update counts by how far it moves its row."""

from functools import cache

import numpy as np
import pytest

from cprsim.rows.lost import Lost
from cprsim.rows.meanfield import MeanField
from cprsim.rows.model import PartialSaves, RowModel, TableRows
from cprsim.rows.movement import Made
from cprsim.rows.names import BY_USE
from cprsim.rows.popularity import Popularity, uniform, zipf
from cprsim.rows.skew import Skew
from cprsim.rows.trackers import MFU, SCAR, SSU, Tracker
from tests.rows.baselines import RoundRobin
from tests.rows.exact import LostByRow, play, zipf_by_row
from tests.tiers import one_of_each

ROWS = 30_000
#: Of a row in an interval: the mean of the production-like trace that docs/rows.md takes.
UPDATES = 6.91


def tracker_of(name: str, rows: int, parts: int, table: np.ndarray) -> Tracker:
    """One that saves a part of so many rows; batches are small beside SSU's list."""
    makers = {
        "mfu": lambda: MFU(rows),
        "ssu": lambda: SSU(rows, round(rows / parts), 2, seed=11),
        "scar": lambda: SCAR(table),
    }
    return makers[name]()


@cache
def played(
    tracker: str, exponent: float, parts: int, accesses_a_row: float, intervals: int
) -> LostByRow:
    """Row by row under Adagrad."""
    accesses = accesses_a_row * ROWS / parts
    table = np.zeros(ROWS)
    return play(
        zipf_by_row(ROWS, exponent),
        tracker_of(tracker, ROWS, parts, table),
        updates=float(accesses_a_row * ROWS),
        fraction=1 / parts,
        saves=intervals * parts,
        seed=1,
        batch=max(16, min(48, int(accesses / 100))) if tracker == "ssu" else None,
        table=table if tracker == "scar" else None,
        rule="adagrad",
    )


def in_classes(found: LostByRow, exponent: float, accesses_a_row: float) -> Lost:
    """The change lost in a play, with what was made worked out from classes: in far less time."""
    made = Made(zipf(ROWS, exponent), float(accesses_a_row * ROWS))
    return Lost(found.change.spacing, found.change.after, (made,))


# An independent computation of the same: Zipf 0.95, 10 intervals, to the two digits that it gives.


@pytest.mark.parametrize(
    ("parts", "tracker", "by_change"),
    [
        (8, "mfu", 0.83),
        (8, "ssu", 1.24),
        (8, "scar", 0.55),
        *(
            pytest.param(32, *each, marks=pytest.mark.nightly)
            for each in [("mfu", 1.20), ("ssu", 1.78), ("scar", 0.55)]
        ),
    ],
)
def test_row_by_row_it_is_what_another_computation_found(parts, tracker, by_change):
    """The computation doesn't say how many rows and updates it has: 30,000 and 6.91 for each.

    One play scatters by 0.5 %, and SSU depends on its batches by 1 %.
    """
    change = in_classes(played(tracker, 0.95, parts, UPDATES, 10), 0.95, UPDATES)

    assert change.relative(10) == pytest.approx(by_change, rel=0.02)


@pytest.mark.parametrize(("tracker", "by_counting"), [("mfu", 0.36), ("ssu", 0.52)])
def test_by_counting_too(tracker, by_counting):
    found = played(tracker, 0.95, 8, UPDATES, 10).updates.relative(10)

    assert found == pytest.approx(by_counting, rel=0.025)


@pytest.mark.parametrize("tracker", ["mfu", "ssu", "scar"])
@pytest.mark.parametrize(
    ("exponent", "parts", "accesses_a_row", "intervals"),
    [
        (1.2, 8, 3, 3),
        pytest.param(0.95, 8, UPDATES, 10, marks=pytest.mark.slow),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in [(0.6, 8, 7, 2), (0.8, 3, 30, 4), (0.95, 16, 20, 3)]
        ),
    ],
)
def test_the_mean_field_is_within_2_percent_of_row_by_row(
    tracker, exponent, parts, accesses_a_row, intervals
):
    """Both scatter by some 0.5 %."""
    found = played(tracker, exponent, parts, accesses_a_row, intervals)
    updates = float(accesses_a_row * ROWS)
    field = MeanField(zipf(ROWS, exponent), updates, 1 / parts, rule="adagrad")

    change = in_classes(found, exponent, accesses_a_row).average(intervals)
    assert field.change(tracker, intervals).average(intervals) == pytest.approx(change, rel=0.02)
    lost = found.updates.average(intervals)
    assert field.lost(tracker, intervals).average(intervals) == pytest.approx(lost, rel=0.02)


def test_who_counts_is_not_moved_by_the_rule():
    """Only SCAR looks at movement: of the others the same updates are lost, to the last bit."""
    sgd, adagrad = (
        MeanField(zipf(1000, 0.9), 5e3, 1 / 8, rule=rule) for rule in ("sgd", "adagrad")
    )

    for tracker in ("mfu", "ssu", "round-robin", "random"):
        assert sgd.lost(tracker, 3).after.tolist() == adagrad.lost(tracker, 3).after.tolist()


@pytest.mark.parametrize("tracker", BY_USE)
def test_fraction_1_is_vanilla(tracker):
    table = MeanField(zipf(1000, 1.0), 5000.0, 1.0, rule="adagrad")

    assert [table.change(tracker, 12).relative(m) for m in (0.3, 1, 1.25, 12)] == [1.0] * 4


def test_tables_that_are_saved_whole_lose_little_change():
    skew = Skew(zipf=0.9)
    tables = tuple(TableRows(rows, skew, 1.0, 64.0, 64.0 * rows) for rows in (5000, 50))
    model = RowModel(tables, 1, "adagrad")
    lost = model.change(PartialSaves("scar", 1 / 8, 20_000.0, 2))
    alone = MeanField(skew.popularity(5000), 20_000.0, 1 / 8, rule="adagrad").change("scar", 2)

    assert lost.after == pytest.approx(alone.after)
    assert lost.relative(2) < alone.relative(2)
    assert model.change(PartialSaves("mfu", 1.0, 20_000.0, 2)).relative(2) == 1


def test_a_row_model_loses_what_its_fields_do():
    model = RowModel((TableRows(5000, Skew(zipf=0.9), 2.0, 64.0, 1.0),), None, "adagrad")
    field = MeanField(zipf(5000, 0.9), 20_000.0, 1 / 8, rule="adagrad")

    assert model.lost(PartialSaves("scar", 1 / 8, 1e4, 2)).after == pytest.approx(
        field.lost("scar", 2).after
    )


# ids that go, and new ones that come


def with_free_rows(exponent: float, used: int, free: int) -> Popularity:
    """Rows that nobody accesses beside those that are: room for new ids."""
    skewed = zipf(used, exponent)
    return Popularity(np.append(skewed.rows, free), np.append(skewed.share, 0.0))


@cache
def renewing(
    tracker: str, exponent: float, free: int, renewed: float, rule: str, intervals: int
) -> tuple[LostByRow, MeanField]:
    """15,000 ids with 7 updates each in an interval, an eighth of the rows a save."""
    popularity = with_free_rows(exponent, 15_000, free)
    rows, updates = popularity.size, 7.0 * 15_000
    table = np.zeros(rows)
    found = play(
        popularity,
        tracker_of(tracker, rows, 8, table),
        updates=updates,
        fraction=1 / 8,
        saves=8 * intervals,
        seed=1,
        batch=64 if tracker == "ssu" else None,
        table=table if tracker == "scar" else None,
        rule=rule,
        renewed=renewed,
    )
    return found, MeanField(popularity, updates, 1 / 8, rule=rule, renewed=renewed)


@pytest.mark.parametrize(
    ("tracker", "by_renewal"), [("mfu", (0.310, 0.417, 0.453)), ("ssu", (0.467, 0.735, 0.761))]
)
def test_row_by_row_renewed_ids_lose_what_another_computation_found(tracker, by_renewal):
    """Zipf 0.6, 1/8, 10 intervals; ids renewed 0, 1 and 4 times in one. Without a drift the
    numbers are those of 7 updates an id and as many free rows as ids, which it doesn't tell; nor
    when ids go. One play scatters by 0.7 %.
    """
    for renewed, lost in zip((0.0, 1.0, 4.0), by_renewal, strict=True):
        found, _ = renewing(tracker, 0.6, 15_000, renewed, "sgd", 10)

        assert found.updates.relative(10) == pytest.approx(lost, rel=0.025)


#: Exponent, free rows, how often ids are renewed, and the rule of the optimizer.
RENEWED = {
    f"{case}, {rule}": (*given, rule)
    for rule in ("sgd", "adagrad")
    for case, given in {
        "room": (0.6, 15_000, 1.0),
        "room and fast": (0.6, 15_000, 4.0),
        "no room": (0.9, 0, 1.0),
        "less room than ids that go": (0.9, 5000, 4.0),
    }.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("tracker", ["mfu", "ssu", "scar"])
@pytest.mark.parametrize(
    "case",
    one_of_each(("room and fast, sgd", "less room than ids that go, adagrad"), RENEWED),
)
def test_with_renewal_too_the_mean_field_is_within_2_percent(tracker, case):
    exponent, free, renewed, rule = RENEWED[case]
    found, field = renewing(tracker, exponent, free, renewed, rule, 10)

    updates = field.lost(tracker, 10).average(10)
    assert updates == pytest.approx(found.updates.average(10), rel=0.02)
    if rule == "adagrad":
        change = field.change(tracker, 10).average(10)
        assert change == pytest.approx(found.change.average(10), rel=0.02)


def test_new_ids_move_their_rows_as_the_first_did():
    """Ten rows that are all renewed at each save, or nearly: each period is like the first."""
    popularity = uniform(10)
    renewed = Made(popularity, 80.0, 400.0, 1 / 8)
    once = Made(popularity, 80.0).until(1 / 8)[0]

    assert renewed.until([1 / 8, 1.0, 2.0]) == pytest.approx([once, 8 * once, 16 * once])
    assert renewed.area(2.0) == pytest.approx(16 * once)


def test_what_goes_into_movement_is_what_a_play_makes():
    """Nothing is ever saved, so all movement is lost: with renewal, without room and with it."""

    class Never(RoundRobin):
        def select(self, k):
            return np.empty(0, dtype=np.int64)

    for free in (0, 2000):
        found = play(
            with_free_rows(0.8, 2000, free),
            Never(2000 + free),
            updates=20_000.0,
            fraction=1 / 4,
            saves=20,
            seed=2,
            rule="adagrad",
            renewed=1.0,
        ).change
        made = found.made[0].until(np.arange(1, 21) / 4)
        assert found.after == pytest.approx(made, rel=0.03)
