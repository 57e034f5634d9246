import numpy as np
import pytest
from scipy import stats

from cprsim.rows.sampled import Stratified

MEANS = np.array([4e6, 1500.0, 900.0, 7.0, 0.01, 0.0])


def drawn(times: int, each: int = 50) -> np.ndarray:
    """Shape (times, classes, each)."""
    draw = Stratified(MEANS, each, np.random.default_rng(3))
    return np.array([draw.counts().reshape(len(MEANS), each) for _ in range(times)])


def test_each_class_has_as_many_accesses_as_it_should():
    """Of 20,000 plain Poisson numbers with mean 7 the mean has a standard error of 0.3 %."""
    means = drawn(400).mean(axis=(0, 2))

    assert means[:4] == pytest.approx(MEANS[:4], rel=2e-3)
    assert means[4] == pytest.approx(MEANS[4], rel=0.2)  # one row in every other save, or none
    assert means[5] == 0


def test_the_counts_of_a_row_are_poisson():
    counts = drawn(4000, each=5)
    for place in (1, 2, 3):  # by a normal law and by Poisson's own
        of_a_row = counts[:, place, 0]
        law = stats.poisson(MEANS[place])
        assert of_a_row.var() == pytest.approx(MEANS[place], rel=0.1)
        at = law.ppf([0.1, 0.5, 0.9])
        shares = [(of_a_row <= each).mean() for each in at]
        assert shares == pytest.approx(law.cdf(at), abs=4 * 0.5 / np.sqrt(4000))


def test_rows_are_dealt_theirs_anew():
    first, second = drawn(2, each=200)[:, 3]

    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(200)
    assert sorted(first) != list(first)
