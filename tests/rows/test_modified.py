"""Modified rows, against rows that are drawn and counted one by one."""

import numpy as np
import pytest

from cprsim.rows.model import RowModel, TableRows
from cprsim.rows.popularity import Popularity, curve, uniform, zipf
from cprsim.rows.skew import DLRM_PRODUCTION, Skew
from tests.rows.exact import of_each_row, zipf_by_row

ROWS = 5000


def each_its_own(popularity: Popularity) -> Popularity:
    return Popularity(np.ones(popularity.size), of_each_row(popularity))


def share_of(popularity: Popularity, accesses: float) -> float:
    return float(popularity.modified(np.array([accesses]))[0])


@pytest.mark.parametrize(
    ("accesses", "share"),
    [(0, 0.0), (1, 0.5), (2, 0.75), (3, 0.875), (5000, 1.0)],
)
def test_two_rows_by_hand(accesses, share):
    assert share_of(uniform(2), accesses) == share


def test_unequal_rows_by_hand():
    # Three of four accesses to one row, the fourth to one of two: 1 - (1/4)^2 = 15/16 of the
    # first, 1 - (7/8)^2 = 15/64 of each of the others.
    popularity = Popularity(np.array([1.0, 2.0]), np.array([3 / 4, 1 / 8]))
    assert share_of(popularity, 2) == pytest.approx((15 / 16 + 2 * 15 / 64) / 3, rel=1e-14)


def test_a_single_row_changes_with_the_first_access():
    assert uniform(1).modified(np.array([0.0, 1.0, 10.0])).tolist() == [0.0, 1.0, 1.0]


def test_few_accesses_touch_a_row_each():
    # Of a billion rows ten accesses meet the same one with a chance of 4.5e-8.
    assert share_of(uniform(10**9), 10) == pytest.approx(10 / 10**9, rel=1e-7)


@pytest.mark.parametrize("accesses", [50, 2000, 50_000])
@pytest.mark.parametrize("name", ["uniform", "zipf 0.8", "zipf 1.2", "production"])
def test_rows_drawn_one_by_one(name, accesses):
    exact = {
        "uniform": each_its_own(uniform(ROWS)),
        "zipf 0.8": zipf_by_row(ROWS, 0.8),
        "zipf 1.2": zipf_by_row(ROWS, 1.2),
        "production": each_its_own(curve(DLRM_PRODUCTION, ROWS)),
    }[name]
    generator = np.random.default_rng(5)
    counted = generator.multinomial(accesses, exact.share, size=60) > 0
    touched = counted.mean(axis=1)
    error = touched.std(ddof=1) / np.sqrt(len(touched))
    assert abs(share_of(exact, accesses) - touched.mean()) <= 3 * error


@pytest.mark.parametrize("exponent", [0.8, 1.2])
@pytest.mark.parametrize("accesses", [50, 2000, 50_000])
def test_classes_lose_next_to_nothing(exponent, accesses):
    # Rows of a class lie 4 % from their mean in rate; what bends in that is its square.
    by_class, by_row = zipf(ROWS, exponent), zipf_by_row(ROWS, exponent)
    assert share_of(by_class, accesses) == pytest.approx(share_of(by_row, accesses), rel=1e-3)


def table(rows: int, saved_bytes: float, lookups: float = 1.0) -> TableRows:
    return TableRows(rows, Skew(name="uniform"), lookups, row_bytes=64.0, saved_bytes=saved_bytes)


def test_tables_count_by_their_bytes():
    # 4 samples: two rows of the first table after 4 accesses, four of the second after 8.
    model = RowModel((table(2, 300.0), table(4, 100.0, lookups=2.0)), count=2)
    one, other = 1 - 0.5**4, 1 - 0.75**8
    found = model.modified_share(np.array([0.0, 4.0]))
    assert found == pytest.approx([0.0, 0.75 * one + 0.25 * other], rel=1e-14)


def test_tables_that_are_alike_count_as_each_of_them():
    same = RowModel((table(4, 100.0), table(4, 300.0), table(2, 50.0)), count=3)
    apart = 0.75**3 * 400 / 450 + 0.5**3 * 50 / 450
    assert same.modified_share(np.array([3.0])) == pytest.approx([1 - apart], rel=1e-14)


def test_small_tables_are_not_in_it():
    tracked = RowModel((table(1000, 64_000.0), table(2, 128.0)), count=1)
    alone = RowModel((table(1000, 64_000.0),))
    samples = np.array([10.0, 1000.0])
    assert tracked.modified_share(samples).tolist() == alone.modified_share(samples).tolist()


def test_everything_modified_is_exactly_everything():
    model = RowModel((table(3, 100.0), table(7, 33.3), table(11, 0.7)), count=3)
    assert model.modified_share(np.array([10_000.0])).tolist() == [1.0]
