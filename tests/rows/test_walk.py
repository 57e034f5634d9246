"""SCAR where gradients of a row point here and there: a random walk."""

import numpy as np
import pytest

from cprsim.rows.meanfield import MeanField
from cprsim.rows.popularity import Popularity
from cprsim.rows.trackers import SCAR
from cprsim.rows.walk import Walk, batches_met
from tests.rows.exact import left_by, zipf_by_class

ROWS = 20_000


def harmonic(n):
    return (1 / np.arange(1, n + 1)).sum()


@pytest.mark.parametrize("directions", [1, 3])
@pytest.mark.parametrize(("before", "steps"), [(0, 1), (0, 3), (2, 4), (0, 12), (30, 200)])
def test_steps_of_adagrad_lead_as_far_as_harmonic_numbers_say(directions, before, steps):
    """Gradients that are independent of each other add up in squares: the k-th of like ones, over
    the sum of the squares of all k, is 1 / k on average, whatever their law."""
    walk = Walk("adagrad", ROWS, directions, np.random.default_rng(3))
    walk.go(np.full(ROWS, before))
    walk.save(np.arange(ROWS))
    walk.go(np.full(ROWS, steps))

    squares = walk.distance**2
    error = squares.std() / ROWS**0.5
    expected = harmonic(before + steps) - harmonic(before)
    # Of steps that are drawn together, the k-th is right to 1 / 12 k^2 of it, and k is above 4.
    assert squares.mean() == pytest.approx(expected, abs=4 * error + 2e-3)


def test_the_first_step_of_adagrad_is_as_long_for_all():
    walk = Walk("adagrad", 100, 5, np.random.default_rng(0))
    walk.go(np.ones(100, dtype=np.int64))

    assert walk.distance == pytest.approx(np.ones(100))


def test_steps_of_plain_sgd_add_up_in_squares():
    walk = Walk("sgd", ROWS, 2, np.random.default_rng(4))
    walk.go(np.full(ROWS, 7))
    walk.go(np.full(ROWS, 2))

    squares = walk.distance**2  # 9 times an exponential number
    assert squares.mean() == pytest.approx(9, rel=4 / ROWS**0.5)


def test_new_ids_begin_where_the_old_ones_left_their_rows():
    walk = Walk("adagrad", 3, 1, np.random.default_rng(0))
    walk.go(np.array([9, 9, 0]))
    was = walk.distance
    walk.renew(np.array([0]), np.array([2, 1, 0]))

    assert walk.distance.tolist() == [0, was[1], was[0]]
    walk.go(np.array([1, 0, 0]))
    assert walk.distance[0] == pytest.approx(1)


@pytest.mark.parametrize("batches", [2, 5, 40])
def test_batches_that_meet_a_row_are_those_that_are_not_empty(batches):
    rng = np.random.default_rng(1)
    accesses = np.repeat([0, 1, 2, 7, 90], ROWS)
    dealt = [
        np.count_nonzero(np.bincount(rng.integers(0, batches, each), minlength=batches))
        for each in accesses[::100]
    ]
    met = batches_met(accesses, batches, rng).reshape(5, ROWS)

    assert set(met[0]) == {0}
    assert set(met[1]) == {1}
    expected = np.reshape(dealt, (5, -1)).mean(axis=1)
    assert met.mean(axis=1) == pytest.approx(expected, abs=4 * batches**0.5 / (ROWS / 100) ** 0.5)


def test_one_batch_meets_a_row_once_and_without_batches_each_access_is_one():
    accesses, rng = np.array([0, 1, 5]), np.random.default_rng(0)

    assert batches_met(accesses, 1, rng).tolist() == [0, 1, 1]
    assert batches_met(accesses, None, rng).tolist() == [0, 1, 5]


def played(popularity, *, batches, of, saves, share, directions, seed):
    """Updates left by SCAR's own tracker, of a table that row-wise Adagrad moves at random."""
    rng, rows = np.random.default_rng(seed), popularity.size
    table, squares = np.zeros((rows, directions)), np.zeros(rows)

    def step(some):
        gradients = rng.standard_normal((some.size, directions))
        squares[some] += np.square(gradients).sum(axis=1)
        table[some] += gradients / np.sqrt(squares[some])[:, np.newaxis]

    times = {"places": round(share * rows), "batches": batches, "of": of, "saves": saves}
    return left_by(SCAR(table), popularity, **times, rng=rng, step=step)


@pytest.mark.parametrize(
    ("batches", "directions"),
    [(3, 2), *(pytest.param(*each, marks=pytest.mark.slow) for each in [(10, 1), (3, 16)])],
)
def test_the_model_loses_what_the_tracker_does(batches, directions):
    """The mean of four plays, to four standard errors, and 1 % for a table of so few rows."""
    rows, of, saves = 8000, 1500, 24
    popularity = zipf_by_class(rows)
    found = [
        played(
            popularity,
            batches=batches,
            of=of,
            saves=saves,
            share=1 / 16,
            directions=directions,
            seed=seed,
        )
        for seed in range(4)
    ]
    error = np.std(found, ddof=1) / 2
    updates = 16.0 * batches * of
    field = MeanField(
        popularity, updates, 1 / 16, 2, "adagrad", directions=directions, batches=16.0 * batches
    )
    expected = field.lost("scar", saves / 16).after.mean() * updates
    alike = MeanField(popularity, updates, 1 / 16, 2, "adagrad")

    assert expected == pytest.approx(np.mean(found), abs=4 * error + 0.01 * np.mean(found))
    assert alike.lost("scar", saves / 16).after.mean() * updates < 0.8 * expected


def test_without_directions_nothing_is_new():
    popularity = Popularity(np.array([10.0, 90.0]), np.array([0.05, 0.5 / 90]))
    plain = MeanField(popularity, 1000.0, 0.1).lost("scar", 2)
    assert MeanField(popularity, 1000.0, 0.1).lost("mfu", 2).after.tolist() == plain.after.tolist()
