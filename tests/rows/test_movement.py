import math

import numpy as np
import pytest
from scipy.stats import poisson

from cprsim.rows.movement import Made, Steady, moved
from cprsim.rows.popularity import Popularity, zipf

COUNTS = np.arange(6000)
#: How far so many updates have moved a row under Adagrad, added up one by one.
SUMS = np.concatenate([[0.0], np.cumsum(COUNTS[1:] ** -0.5)])


def made(popularity=None, updates=5000.0):
    return Made(popularity or zipf(300, 1.0), updates)


def test_each_update_moves_its_row_less_than_the_one_before():
    assert moved("adagrad", COUNTS) == pytest.approx(SUMS, rel=1e-12)
    assert moved("adagrad", np.array([[0, 1], [2, 3]])).shape == (2, 2)
    many = 10**11
    assert moved("adagrad", np.array([many]))[0] == pytest.approx(2 * math.sqrt(many), rel=1e-5)


def test_under_sgd_all_updates_move_a_row_alike():
    assert moved("sgd", COUNTS).tolist() == COUNTS.tolist()
    assert Steady(5000.0).until([0.5, 2.0]).tolist() == [2500.0, 10_000.0]
    assert Steady(5000.0).area(2.0) == 10_000.0


@pytest.mark.parametrize("accesses", [1e-3, 0.3, 7.0, 63.9, 64.1, 200.0, 3000.0])
def test_expected_movement_is_that_of_poisson_counts(accesses):
    one = Popularity(np.array([1.0]), np.array([1.0]))
    expected = poisson.pmf(COUNTS, accesses) @ SUMS

    assert made(popularity=one, updates=1.0).until(accesses) == pytest.approx(expected, rel=1e-5)


def test_the_area_is_what_was_made_added_up_over_time():
    table = made()
    times = np.linspace(0, 3, 3001)
    middles = (times[1:] + times[:-1]) / 2

    assert table.area(3.0) == pytest.approx(table.until(middles).mean() * 3, rel=1e-4)


def test_rows_that_nobody_touches_do_not_move():
    some = Popularity(np.array([10.0, 90.0]), np.array([0.1, 0.0]))
    alone = Popularity(np.array([10.0]), np.array([0.1]))

    assert made(popularity=some).until(1.0) == made(popularity=alone).until(1.0)
    assert made(popularity=some).area(1.0) == made(popularity=alone).area(1.0)
    assert made().until(0.0).tolist() == [0.0]
