"""SSU's list, batch by batch."""

import numpy as np
import pytest

from cprsim.rows.listed import Listed, ListedBatches
from cprsim.rows.meanfield import MeanField
from cprsim.rows.trackers import SSU
from tests.rows.exact import left_by, zipf_by_class

ROWS = 4000
POPULARITY = zipf_by_class(ROWS)


@pytest.mark.parametrize(
    ("places", "period", "batches"),
    [(200, 2, 3), (200, 1, 3), (500, 4, 10), (100, 1, 1), (250, 3, 2)],
)
def test_the_model_loses_what_the_tracker_does(places, period, batches):
    """A batch brings more rows than a list holds. Six plays, four standard errors, and 0.5 % for
    rows that are finitely many."""
    of, saves = 1000, 40
    found = [
        left_by(
            SSU(ROWS, places, period, seed),
            POPULARITY,
            places=places,
            batches=batches,
            of=of,
            saves=saves,
            rng=np.random.default_rng(seed),
        )
        for seed in range(6)
    ]
    error = np.std(found, ddof=1) / 6**0.5
    rows, accesses = POPULARITY.rows, POPULARITY.share * (batches * of)
    model = ListedBatches(rows, accesses, places, period, batches).left(saves).updates.mean()
    singly = Listed(rows, accesses, places, period).left(saves).updates.mean()

    assert model == pytest.approx(np.mean(found), abs=4 * error + 0.005 * np.mean(found))
    assert singly < min(found)  # or batches would make no difference


def test_many_small_batches_are_as_rows_one_by_one():
    rows, accesses = POPULARITY.rows, POPULARITY.share * 3000.0
    found = ListedBatches(rows, accesses, 400, 2, 6000).left(30).updates

    assert found == pytest.approx(Listed(rows, accesses, 400, 2).left(30).updates, rel=0.005)


def test_a_list_with_room_for_all_misses_nothing_that_it_looks_at():
    rows, accesses = POPULARITY.rows, POPULARITY.share * 3000.0
    for batches in (1, 7):
        found = ListedBatches(rows, accesses, ROWS, 1, batches).left(5).updates
        assert found == pytest.approx(np.zeros(5), abs=1e-9)


def test_batches_together_are_one_larger_batch():
    rows, accesses = POPULARITY.rows, POPULARITY.share * 3000.0
    together = ListedBatches(rows, accesses, 200, 1, 4, together=4).left(9).updates

    assert together == pytest.approx(ListedBatches(rows, accesses, 200, 1, 1).left(9).updates)


def test_the_mean_field_takes_whole_batches_between_two_saves():
    field = MeanField(POPULARITY, 16_000.0, 1 / 16, 2, batches=47.6, together=2)
    rows, accesses = POPULARITY.rows, POPULARITY.share * 1000.0
    expected = ListedBatches(rows, accesses, 250, 2, 3, 2).left(16).updates / 16_000

    assert field.lost("ssu", 1).after.tolist() == pytest.approx(expected.tolist())
