"""Oracles: SciPy's exact permutation test, tables worked by hand, and what a test's level means."""

import numpy as np
import pytest
from scipy import stats

from cprsim.errors import UsageError
from cprsim.trainer.studies.paired import (
    LEVEL,
    compare_all,
    enough,
    equivalence_p,
    holm,
    least_pairs,
    sign_flip_p,
)


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
    assert [each.is_significant for each in found] == [True, True, False]
    assert found[0].adjusted_p == pytest.approx(3 * 2.0**-7)


@pytest.mark.parametrize("count", [0, 1, 21])
def test_pairs_that_an_exact_test_cannot_take(count: int) -> None:
    with pytest.raises(UsageError) as error:
        sign_flip_p(np.ones(count))

    assert str(error.value) == f"{count} pairs: an exact test takes 2 to 20 of them"


#: Scores in seventy-seconds, and what TOSTone of R's TOSTER printed of them against 0.5 with
#: bounds of half a standard deviation: "The equivalence test was significant, t(15) = 1.848, p =
#: 0.0422, given equivalence bounds of -0.0228 and 0.0228 (on a raw scale)".
SCORES = (36, 33, 30, 38, 35, 36, 42, 41, 36, 35, 32, 41, 36, 34, 34, 35)


def test_the_p_of_equivalence_is_that_of_tosters_one_sample() -> None:
    differences = np.array(SCORES) / 72 - 0.5
    within = 0.5 * differences.std(ddof=1)

    assert within == pytest.approx(0.0228, abs=5e-5)
    assert equivalence_p(differences, within) == pytest.approx(0.0422, abs=5e-5)


def test_the_p_of_equivalence_is_below_5_percent_where_the_90_percent_interval_is_within() -> None:
    differences = np.random.default_rng(2).normal(0.1, 1, 12)
    low, high = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    edge = max(-low, high)

    assert equivalence_p(differences, edge) == pytest.approx(0.05)
    assert equivalence_p(differences, 1.01 * edge) < 0.05 < equivalence_p(differences, 0.99 * edge)


@pytest.mark.parametrize(("value", "p"), [(0.0, 0.0), (0.5, 0.0), (-1.0, 1.0), (2.0, 1.0)])
def test_equivalence_of_differences_that_are_all_alike(value: float, p: float) -> None:
    assert equivalence_p(np.full(6, value), 1.0) == p


def test_no_difference_found_is_no_equality() -> None:
    wide = np.random.default_rng(4).normal(0, 0.1, 10)
    wide -= wide.mean()
    narrow = wide / 1000
    zero = np.zeros(10)

    verdicts = {
        name: compare_all({"a": values, "b": zero})[0].verdict
        for name, values in {
            "wide": wide,
            "narrow": narrow,
            "near": narrow + 0.0005,
            "far": narrow + 0.05,
        }.items()
    }

    assert verdicts == {
        "wide": "undecided",
        "narrow": "equal",
        "near": "different, by less than the margin",
        "far": "different",
    }


@pytest.mark.parametrize("comparisons", [1, 3, 6, 10, 45, 1000])
def test_the_least_number_of_pairs_is_the_first_with_which_something_can_be_found(
    comparisons: int,
) -> None:
    least = least_pairs(comparisons)
    chances = {
        pairs: holm([sign_flip_p(np.ones(pairs))] + [1.0] * (comparisons - 1))[0]
        for pairs in (least - 1, least)
    }

    assert chances[least] < LEVEL <= chances[least - 1]


def test_what_is_said_of_seeds() -> None:
    assert enough("differences", 10, 8) == (
        "differences: 10 to test, none of which 8 seeds can find significant; give 9 seeds or more"
    )
    assert enough("differences", 10, 12) == (
        "differences: 10 to test, of which 9 seeds can find one significant; there are 12"
    )
    assert enough("differences", 100_000, 20) == (
        "differences: 100000 to test; no number of seeds up to 20 can find one significant: test "
        "fewer"
    )
