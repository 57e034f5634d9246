"""Oracles: differences worked by hand, with Student's t from printed tables."""

import math

import numpy as np
import pytest

from cprsim.report.recommendation import differences, quickest, recommendation
from cprsim.report.report import reference_policy
from cprsim.runs.summaries import paired_difference
from tests.report.results import result


def test_a_paired_difference_by_hand():
    # Differences 1, 2, 3: mean 2, standard deviation 1, t(2) = 4.303: half = 4.303 / sqrt(3).
    mean, half = paired_difference(np.array([11.0, 2.0, 8.0]), np.array([10.0, 0.0, 5.0]))

    assert mean == pytest.approx(2.0)
    assert half == pytest.approx(4.303 / math.sqrt(3), rel=1e-4)


def test_pairing_tells_apart_what_two_intervals_do_not():
    # One policy takes 100 s more in each replication, whose overheads differ far more.
    found = result({"a": [1000.0, 9000.0, 5000.0], "b": [1100.0, 9100.0, 5100.0]})
    (difference,) = differences(found, "a")

    assert quickest(found) == "a"
    assert difference.is_sure
    assert difference.mean == pytest.approx(0.001)
    assert difference.half == pytest.approx(0.0, abs=1e-12)
    assert found.summary.loc["a", "overhead_high"] > found.summary.loc["b", "overhead_low"]


def test_the_recommendation_in_words():
    # b - a: 100, 300 s: mean 200, standard deviation 141.4; t(1) = 25.452 for two comparisons with
    # 5 % together: half 2545.2 s.
    found = result(
        {"b": [1100.0, 2300.0], "a": [1000.0, 2000.0], "c": [6000.0, 7001.0]}, {"a": 0.02}
    )

    assert recommendation(found) == [
        "Least time: a, 1.50% overhead, though these replications can't tell it apart from b.",
        "On the same failures b, the next, takes 0.20 ± 2.55 points more of the useful time (95 % "
        "interval for all comparisons together, 2 paired differences), which chance may well "
        "explain: more replications may tell.",
        "a pays in learning: 2.00% of all updates are lost for good (PLS 2.00%), and what that "
        "does to accuracy is not simulated. Of the policies that lose none, b takes the least "
        "time: 1.70% overhead, 0.20 ± 2.55 points more.",
        # a: 1.5 + 2 %; b, c: 1.7 % and 6.5 %.
        "If every lost update were trained again, b would take the least time: 1.70% overhead, "
        "where a would take 3.50%, though these replications can't tell it apart from a. The order "
        "would be b, a and c; by overhead it is a, b and c.",
    ]
    assert [each.policy for each in differences(found, "a")] == ["b", "c"]
    assert [each.is_sure for each in differences(found, "a")] == [False, True]


def test_a_single_policy_and_a_single_replication():
    assert recommendation(result({"a": [1000.0, 2000.0]})) == [
        "a is the only policy that was run; its overhead is 1.50%."
    ]
    assert recommendation(result({"a": [1000.0], "b": [2000.0]})) == [
        "Least time: a, 1.00% overhead.",
        "One replication tells nothing of chance; b took 1.00 points more in it. Run more of them.",
    ]


def test_all_policies_that_lose_learning_leave_nothing_safe_to_name():
    said = recommendation(result({"a": [1.0, 2.0], "b": [5.0, 9.0]}, {"a": 0.1, "b": 0.2}))

    assert said[-2].endswith("what that does to accuracy is not simulated.")
    assert said[-1] == (
        "If every lost update were trained again, a would take the least time: 10.00% overhead."
    )


def test_the_order_turns_below_a_best_that_loses_nothing():
    # 1, 2 and 3 %; what b loses is worth 2 % more.
    found = result({"a": [1e3, 1e3], "b": [2e3, 2e3], "c": [3e3, 3e3]}, {"b": 0.02})

    assert recommendation(found)[-1] == (
        "If every lost update were trained again, a would take the least time: 1.00% overhead. The "
        "order would be a, c and b; by overhead it is a, b and c."
    )
    assert not any("again" in said for said in recommendation(result({"a": [1.0], "b": [2.0]})))
    only = recommendation(result({"a": [1000.0]}, {"a": 0.5}))
    assert only[-1] == ("If every lost update were trained again, its overhead would be 51.00%.")


def test_lost_updates_are_paired_with_what_they_would_take_again():
    # b - a: 0.1 % of the useful time, less the 2 % that a alone loses, in each replication.
    found = result({"a": [1000.0, 9000.0], "b": [1100.0, 9100.0]}, {"a": 0.02})
    (difference,) = differences(found, "a", "overhead_retrained")

    assert difference.mean == pytest.approx(0.001 - 0.02)
    assert difference.half == pytest.approx(0.0, abs=1e-12)


def test_the_replication_that_is_shown_is_the_median():
    found = result({"a": [40.0, 10.0, 30.0, 20.0], "b": [1.0, 2.0, 3.0, 4.0]})

    assert reference_policy(found) == "a"
    assert found.kept.median("a") == 3  # of 20 and 30 in the middle the lower
    assert found.kept.median("b") == 1


def test_two_policies_that_do_the_same_are_told_to():
    found = result({"a": [1000.0, 2000.0], "b": [1000.0, 2000.0 + 1e-9]}, {})

    assert recommendation(found)[:2] == [
        "Least time: a, 1.50% overhead.",
        "b takes just as long in every replication.",
    ]
