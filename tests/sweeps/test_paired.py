"""Comparisons by hand, beside SciPy's paired t-test, and how often verdicts go wrong."""

import math

import numpy as np
import pytest
from scipy import stats

from cprsim.sweeps.paired import Comparison, compare

NOTHING_LOST = np.zeros(6)


def compared(*overheads: list[float]) -> Comparison:
    return compare(np.array(overheads), NOTHING_LOST)


def test_a_margin_by_hand():
    # Differences 1, 2, 3 %: mean 2, standard deviation 1, t(2, 0.975) = 4.302653 (tables).
    found = compared([0.11, 0.22, 0.33], [0.10, 0.20, 0.30])

    assert (found.best, found.runner_up, found.tied, found.verdict) == (1, 0, (0,), "tied")
    assert found.margin == pytest.approx(0.02)
    assert found.high - found.margin == pytest.approx(0.01 * 4.302653 / math.sqrt(3))
    assert found.margin - found.low == pytest.approx(found.high - found.margin)


def test_what_a_timeline_does_to_all_cancels():
    # The same differences of 1.9, 2, 2.1 % beside timelines that differ by factors.
    found = compared([0.119, 10.02, 0.521], [0.1, 10.0, 0.5])

    assert found.verdict == "clear"
    assert found.high - found.low < 0.01


@pytest.mark.parametrize("others", [1, 2, 5])
def test_margins_beside_scipys_paired_t_test(others):
    rng = np.random.default_rng(others)
    common = rng.gamma(2.0, 0.05, 40)
    overheads = common + rng.normal(0.0, 0.02, (others + 1, 40)) + 0.01 * np.arange(others + 1)[
        ::-1, None
    ]  # fmt: skip
    found = compare(overheads, NOTHING_LOST)
    tests = {
        j: stats.ttest_rel(overheads[j], overheads[found.best])
        for j in range(others + 1)
        if j != found.best
    }
    assert found.best == overheads.mean(axis=1).argmin()
    assert found.runner_up is not None
    interval = tests[found.runner_up].confidence_interval(1 - 0.05 / others)
    assert (found.low, found.high) == pytest.approx(tuple(interval))
    assert set(found.tied) == {j for j, test in tests.items() if test.pvalue >= 0.05 / others}


def test_tied_ones_come_nearest_first():
    found = compared([1.0, 3.0, 2.0], [1.3, 2.1, 3.2], [1.1, 2.0, 3.0])

    assert (found.best, found.tied, found.runner_up) == (0, (2, 1), 2)


def test_one_candidate_is_the_only_one():
    found = compared([0.1, 0.2])

    assert found == Comparison(0)
    assert (found.verdict, math.isnan(found.margin)) == ("only", True)


def test_candidates_that_never_differ_are_the_same_and_not_tied():
    found = compared([0.1, 0.2], [0.1 + 1e-12, 0.2])  # rounding of ledgers is no difference

    assert (found.verdict, found.best, found.same, found.runner_up) == ("same", 0, (1,), None)


def test_of_those_that_are_the_same_the_one_that_loses_least_is_the_best():
    overheads = np.array([[0.5, 0.6], [0.1, 0.2], [0.1, 0.2], [0.1, 0.2]])
    found = compare(overheads, np.array([0.0, 0.09, 0.02, 0.02]))

    assert (found.best, found.same, found.runner_up) == (2, (1, 3), 0)
    assert found.verdict == "clear"
    assert (found.low, found.high) == pytest.approx((0.4, 0.4))  # the difference is constant


def test_twins_of_the_best_widen_no_interval():
    rng = np.random.default_rng(1)
    two = rng.normal(0, 1, (2, 20)) + np.array([[0.0], [1.0]])

    alone, with_twins = compare(two, NOTHING_LOST), compare(two[[0, 0, 0, 1]], NOTHING_LOST)

    assert (alone.low, alone.high) == (with_twins.low, with_twins.high)


def test_one_replication_tells_nothing():
    found = compared([0.3], [0.1], [0.2])

    assert (found.verdict, found.best, found.runner_up, found.tied) == ("unknown", 1, 2, (2, 0))
    assert found.margin == pytest.approx(0.1)
    assert math.isnan(found.low)


# How often verdicts go wrong. Spreads and what candidates share differ; 40 replications.

TRIALS = 2000
SLACK = 3 * math.sqrt(0.05 * 0.95 / TRIALS)  # three standard errors of a rate of 5 %
SPREADS = np.array([1.0, 0.3, 2.0, 0.1, 1.0, 0.5])


def drawn(candidates: int, spreads: np.ndarray, seed: int) -> list[Comparison]:
    """Comparisons of candidates with one and the same mean."""
    rng = np.random.default_rng(seed)
    return [
        compare(rng.normal(0, 1, 40) + spreads[:candidates, None] * noise, NOTHING_LOST)
        for noise in rng.normal(0, 1, (TRIALS, candidates, 40))
    ]


@pytest.mark.parametrize("candidates", [2, 3, 6])
def test_equals_are_called_clear_in_5_percent_at_most(candidates):
    clear = np.mean([each.verdict == "clear" for each in drawn(candidates, SPREADS, candidates)])

    assert clear <= 0.05 + SLACK
    if candidates == 2:  # one comparison of normal differences: just 5 %
        assert clear >= 0.05 - SLACK


@pytest.mark.parametrize("spreads", [np.ones(6), SPREADS], ids=["alike", "unlike"])
def test_the_true_best_is_hardly_ever_left_out(spreads):
    # All are equally good: each may be the true best, and none may be left out. Tests at 5 % each
    # don't hold that.
    found = drawn(6, spreads, 7)
    left_out = [sum(i not in (each.best, *each.tied) for each in found) / TRIALS for i in range(6)]

    assert max(left_out) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / TRIALS)


@pytest.mark.parametrize("step", [0.0, 0.1, 0.5])
def test_the_interval_of_the_margin_holds_the_true_one_though_both_were_picked(step):
    rng = np.random.default_rng(int(10 * step))
    means = step * np.arange(6)
    held = 0
    for noise in rng.normal(0, 1, (TRIALS, 6, 40)):
        found = compare(means[:, None] + SPREADS[:, None] * noise, NOTHING_LOST)
        assert found.runner_up is not None
        held += found.low <= means[found.runner_up] - means[found.best] <= found.high

    assert held / TRIALS >= 0.95 - SLACK


def test_a_large_difference_is_clear():
    rng = np.random.default_rng(3)
    overheads = rng.normal(0, 0.01, (4, 20)) + np.array([[0.3], [0.1], [0.2], [0.4]])

    assert compare(overheads, NOTHING_LOST).verdict == "clear"
