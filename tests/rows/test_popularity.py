import math
from itertools import pairwise

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.rows.popularity import Popularity, counts, curve, uniform, zipf
from tests.rows.exact import of_each_row

EULER = 0.5772156649015329
ZETA_HALF = -1.4603545088095868  # zeta(1/2)


def power_sum(rows: int, exponent: float) -> float:
    """Of rank^-exponent up to `rows`, by the expansions at infinity."""
    n = float(rows)
    if exponent == 1:
        return math.log(n) + EULER + 1 / (2 * n) - 1 / (12 * n**2)
    if exponent == 0.5:
        return 2 * math.sqrt(n) + ZETA_HALF + 1 / (2 * math.sqrt(n))
    assert exponent == 2
    return math.pi**2 / 6 - 1 / n + 1 / (2 * n**2)


def check(popularity: Popularity, rows: int) -> None:
    """What holds for any: all rows, all accesses, the most popular first."""
    assert popularity.size == rows
    assert float(popularity.rows @ popularity.share) == pytest.approx(1, rel=1e-12)
    assert (popularity.share >= 0).all()
    assert (np.diff(popularity.share) <= 1e-12 * popularity.share[:-1]).all()
    assert popularity.top_share(0) == 0
    assert popularity.top_share(1) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("exponent", [0.3, 0.95, 1.0, 1.2, 3.0])
def test_zipf_is_rank_by_rank_what_it_says(exponent):
    popularity = zipf(30_000, exponent)
    exact = np.arange(1, 30_001) ** -exponent
    exact /= exact.sum()
    ends = np.concatenate([[0], np.cumsum(popularity.rows)]).astype(int)

    check(popularity, 30_000)
    assert popularity.share[:8] == pytest.approx(exact[:8], rel=1e-12)
    sums = [exact[a:b].sum() for a, b in pairwise(ends)]
    assert popularity.rows * popularity.share == pytest.approx(sums, rel=1e-10)
    spread = exact[ends[:-1]] / exact[ends[1:] - 1]
    assert spread.max() <= 1.15**exponent * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("rows", [10**6, 10**9])
def test_zipf_of_a_billion_rows_adds_up(rows, exponent):
    popularity = zipf(rows, exponent)
    top = math.ceil(len(popularity.rows) / 2)
    ranks = int(popularity.rows[:top].sum())

    check(popularity, rows)
    assert popularity.share[0] == pytest.approx(1 / power_sum(rows, exponent), rel=1e-9)
    expected = power_sum(ranks, exponent) / power_sum(rows, exponent)
    assert popularity.top_share(ranks / rows) == pytest.approx(expected, rel=1e-6)


def test_zipf_of_exponent_zero_is_uniform():
    for popularity in (zipf(1000, 0), uniform(1000)):
        check(popularity, 1000)
        assert popularity.rows.tolist() == [1000.0]
        assert popularity.top_share(0.3) == pytest.approx(0.3)


@pytest.mark.parametrize("build", [uniform, lambda n: zipf(n, 1.0), lambda n: curve([(0.2, 1)], n)])
def test_a_table_of_one_row(build):
    assert of_each_row(build(1)).tolist() == [1.0]


def test_a_curve_passes_through_its_points_and_is_concave():
    points = [(0.001, 0.3), (0.01, 0.46), (0.05, 0.62), (0.2, 0.8)]
    popularity = curve(points, 10**8)

    check(popularity, 10**8)
    for rows, accesses in points:
        assert popularity.top_share(rows) == pytest.approx(accesses, abs=1e-12)
    assert curve([(0.0, 0.0), *points, (1.0, 1.0)], 10**8).top_share(0.03) == pytest.approx(
        popularity.top_share(0.03), rel=1e-12
    )


def test_the_head_of_a_curve_is_a_power():
    """One point (0.2, 0.8): chords 4 and 1/4, slope 1 where they meet, so the power is 1/4."""
    popularity = curve([(0.2, 0.8)], 10**6)

    for rows in (1e-5, 1e-3, 0.1):
        assert popularity.top_share(rows) == pytest.approx(
            0.8 * (rows / 0.2) ** 0.25, rel=2e-3
        )  # straight within a class


def test_the_tail_of_a_curve_falls_to_the_square_of_its_chord():
    """From slope 1 with mean 1/4: the last rows have 1/16 of the mean row's accesses."""
    popularity = curve([(0.2, 0.8)], 10**6)

    assert of_each_row(popularity)[-1] * 10**6 == pytest.approx(1 / 16, rel=0.2)
    assert of_each_row(popularity)[-1] * 10**6 >= 1 / 16


def test_a_straight_curve_is_uniform():
    assert of_each_row(curve([(0.2, 0.2), (0.7, 0.7)], 1000)) == pytest.approx(1e-3)


def test_a_curve_with_rows_that_nobody_touches():
    popularity = curve([(0.25, 1.0)], 1000)

    check(popularity, 1000)
    assert popularity.top_share(0.25) == pytest.approx(1)
    assert (of_each_row(popularity)[250:] == 0).all()


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([], "the curve has no point; give one or more, e.g. (0.01, 0.46)"),
        ([(1, 46)], "the point 1, 46 is out of range: shares go from 0 to 1"),
        ([(math.nan, 0.5)], "the point nan, 0.5 is out of range: shares go from 0 to 1"),
        (
            [(0.2, 0.5), (0.1, 0.6)],
            "the point 0.1, 0.6 comes after 0.2, 0.5: both shares ascend",
        ),
        (
            [(0.2, 0.5), (0.3, 0.4)],
            "the point 0.3, 0.4 comes after 0.2, 0.5: both shares ascend",
        ),
        (
            [(0.5, 0.3)],
            "the curve bends upwards at 0.5, 0.3: the rows after it would be more popular than "
            "those before; count the most popular rows first",
        ),
    ],
)
def test_faults_of_curves(points, text):
    with pytest.raises(UsageError) as error:
        curve(points, 100)
    assert str(error.value) == text


def test_counts_keep_rows_that_nobody_touched():
    popularity = counts(np.array([0, 5, 1, 0, 1, 13]))

    check(popularity, 6)
    assert of_each_row(popularity) == pytest.approx(np.array([13, 5, 1, 1, 0, 0]) / 20)


def test_like_counts_share_a_class_and_their_mean():
    popularity = counts(np.array([100, 101, 102, 400]))

    assert popularity.rows.tolist() == [1.0, 3.0]
    assert popularity.share == pytest.approx([400 / 703, 101 / 703])
