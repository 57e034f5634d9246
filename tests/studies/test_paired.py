"""Oracles: SciPy's exact permutation test, tables worked by hand, and what a test's level means."""

import itertools

import numpy as np
import pytest
from scipy import stats

from cprsim.errors import UsageError
from cprsim.studies.paired import compare_all, holm, sign_flip_p


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 5, 10])
def test_p_is_that_of_scipys_exact_permutations(seed: int, count: int) -> None:
    differences = np.random.default_rng(seed).normal(0.3, 1, count)

    found = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    )

    # SciPy doubles the smaller tail, which is the same where the signs are symmetric.
    assert sign_flip_p(differences) == pytest.approx(found.pvalue, rel=1e-12)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 2, 3], 2 / 8),  # only all signs alike give 6 or -6
        ([1, 2, -3], 1.0),  # the sum is 0: no choice of signs is nearer
        ([1, 1, -0.5], 4 / 8),  # 1.5 and 2.5, and the same below 0
        ([0.0, 0.0], 1.0),
        ([5.0] * 12, 2.0**-11),
        ([0.1, 0.2, -0.3], 1.0),  # 0 but for rounding
    ],
)
def test_p_by_hand(differences: list[float], p: float) -> None:
    assert sign_flip_p(np.array(differences, dtype=float)) == p


def test_no_more_than_one_in_twenty_choices_of_signs_is_significant_at_that_level() -> None:
    sizes = np.random.default_rng(0).exponential(size=9)
    chances = [
        sign_flip_p(sizes * signs) for signs in itertools.product((1.0, -1.0), repeat=sizes.size)
    ]

    # Exactly 24 or fewer of 512, or the test would call nothing something too often.
    assert 0 < np.mean(np.array(chances) <= 0.05) <= 0.05


def test_holm_by_hand() -> None:
    # Sorted: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04, which is no less than that before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_all_pairs_are_compared_and_their_intervals_are_students() -> None:
    rng = np.random.default_rng(1)
    shared = rng.normal(0.8, 0.1, 8)  # of a seed, in all kinds: it cancels
    values = {
        name: shared - drop + rng.normal(0, 0.001, 8)
        for name, drop in {"full": 0.0, "mfu": 0.01, "scar": 0.01}.items()
    }

    found = compare_all(values)

    assert [(each.first, each.second) for each in found] == [
        ("full", "mfu"),
        ("full", "scar"),
        ("mfu", "scar"),
    ]
    for each in found:
        differences = values[each.first] - values[each.second]
        interval = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
        assert (each.low, each.high) == pytest.approx(tuple(interval))
        assert each.pairs == 8
    assert [each.is_significant for each in found] == [True, True, False]
    assert found[0].adjusted_p == pytest.approx(3 * 2.0**-7)


@pytest.mark.parametrize("count", [0, 1, 21])
def test_pairs_that_an_exact_test_cannot_take(count: int) -> None:
    with pytest.raises(UsageError) as error:
        sign_flip_p(np.ones(count))

    assert str(error.value) == f"{count} pairs: an exact test takes 2 to 20 of them"
