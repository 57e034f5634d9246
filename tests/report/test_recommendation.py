"""Oracles: differences worked by hand, with Student's t from printed tables."""

import pytest

from cprsim import Scenario, run
from cprsim.basics.units import format_percent
from cprsim.report.recommendation import certified, recommendation
from cprsim.report.report import reference_policy
from tests.report.results import result


def test_pairing_tells_apart_what_two_intervals_do_not():
    # One policy takes 100 s more in each replication, whose overheads differ far more.
    found = result({"a": [1000.0, 9000.0, 5000.0], "b": [1100.0, 9100.0, 5100.0]}, times=10)
    told = certified(found)

    assert (told.verdict, told.best) == ("best", 0)
    assert (told.rivals[0].low, told.rivals[0].high) == pytest.approx((0.001, 0.001))
    assert found.summary.loc["a", "overhead_high"] > found.summary.loc["b", "overhead_low"]


def test_the_recommendation_in_words():
    # b - a: 600 and -200 s, 20 times each: mean 200, standard deviation 400 sqrt(40 / 39) = 405.1;
    # t(39) = 2.331 for two comparisons with 5 % together (tables): 149.3 s.
    found = result(
        {"b": [1600.0, 1800.0], "a": [1000.0, 2000.0], "c": [6000.0, 7001.0]}, {"a": 0.02}, times=20
    )

    assert recommendation(found) == [
        "Least time of these policies: a, 1.50 % overhead; a is best with at least 95 % certainty.",
        "On the same failures b, the next, takes 0.2 points (0.0507 to 0.349) more of the useful "
        "time (95 % interval for all comparisons together, 40 paired differences).",
        "a pays in learning: 2.00 % of all updates are lost for good (PLS 2.00 %), and what that "
        "does to accuracy is not simulated. Of the policies that lose none, b takes the least "
        "time: 1.70 % overhead, 0.2 points (0.0507 to 0.349) more.",
        # a: 1.5 + 2 %; b, c: 1.7 % and 6.5 %.
        "If every lost update were trained again, b would take the least time: 1.70 % overhead, "
        "where a would take 3.50 %. The order would be b, a and c; by overhead it is a, b and c.",
    ]
    assert [each.candidate for each in certified(found).rivals] == [0, 2]


def test_what_is_undecided_is_said_to_be():
    found = result({"a": [1000.0, 2000.0], "b": [1600.0, 1800.0]}, times=10)

    # 20 replications: 400 sqrt(20 / 19) t(19) / sqrt(20) = 192 s: now 95 % and one comparison.
    assert recommendation(found)[0] == (
        "Least time of these policies: a, 1.50 % overhead; a is best with at least 95 % certainty."
    )
    found = result({"a": [1000.0, 2600.0], "b": [1800.0, 2000.0]}, times=10)
    assert recommendation(found)[0] == (
        "Least time of these policies: a, 1.80 % overhead; undecided: b may be better by up to "
        "0.236 points; more replications may tell."
    )
    few = result({"a": [1000.0, 2000.0], "b": [1100.0, 2100.0]})
    assert recommendation(few)[0] == (
        "Least time of these policies: a, 1.50 % overhead; undecided: 2 of 2 replications met a "
        "failure that makes a difference, too few to tell; it takes at least 20."
    )


def test_a_single_policy_and_a_single_replication():
    assert recommendation(result({"a": [1000.0, 2000.0]})) == [
        "a is the only policy that was run; its overhead is 1.50 %."
    ]
    assert recommendation(result({"a": [1000.0], "b": [2000.0]})) == [
        "Least time of these policies: a, 1.00 % overhead; undecided: one replication tells "
        "nothing of chance.",
        "On the same failures b, the next, takes 1 points more of the useful time (1 paired "
        "differences).",
    ]


def test_all_policies_that_lose_learning_leave_nothing_safe_to_name():
    said = recommendation(
        result({"a": [1.0, 2.0], "b": [5.0, 9.0]}, {"a": 0.1, "b": 0.2}, times=10)
    )

    assert said[-2].endswith("what that does to accuracy is not simulated.")
    assert said[-1] == (
        "If every lost update were trained again, a would take the least time: 10.00 % overhead."
    )


def test_the_order_turns_below_a_best_that_loses_nothing():
    # 1, 2 and 3 %; what b loses is worth 2 % more.
    found = result({"a": [1e3], "b": [2e3], "c": [3e3]}, {"b": 0.02}, times=20)

    assert recommendation(found)[-1] == (
        "If every lost update were trained again, a would take the least time: 1.00 % overhead. "
        "The order would be a, c and b; by overhead it is a, b and c."
    )
    assert not any("again" in said for said in recommendation(result({"a": [1.0], "b": [2.0]})))
    only = recommendation(result({"a": [1000.0]}, {"a": 0.5}))
    assert only[-1] == ("If every lost update were trained again, its overhead would be 51.00 %.")


def test_lost_updates_are_paired_with_what_they_would_take_again():
    # b - a: 0.1 % of the useful time, less the 2 % that a alone loses, in each replication.
    found = result({"a": [1000.0, 9000.0], "b": [1100.0, 9100.0]}, {"a": 0.02}, times=10)
    told = certified(found, "overhead_retrained")

    assert (told.best, told.rivals[0].margin) == (1, pytest.approx(0.02 - 0.001))
    assert (told.rivals[0].low, told.rivals[0].high) == pytest.approx((0.019, 0.019))


def test_the_replication_that_is_shown_is_the_median():
    found = result({"a": [40.0, 10.0, 30.0, 20.0], "b": [1.0, 2.0, 3.0, 4.0]})

    assert reference_policy(found) == "a"
    assert found.kept.median("a") == 3  # of 20 and 30 in the middle the lower
    assert found.kept.median("b") == 1


def test_two_policies_that_do_the_same_are_told_to():
    found = result({"a": [1000.0, 2000.0], "b": [1000.0, 2000.0 + 1e-9]}, {}, times=10)

    assert recommendation(found) == [
        "Least time of these policies: a, 1.50 % overhead; no other differs."
    ]


def test_who_ends_with_a_silent_fault_is_told_before_what_is_lost():
    silent = {"distribution": "deterministic", "mean": "90 h"}
    scenario = Scenario(
        job={"useful_time": "100 h"},
        cluster={"parameter_servers": 4},
        costs={"save": "1 min", "load": "1 min", "verify": "6 min"},
        failures={"exactly": 0, "silent": silent},
        policies={
            "never": {"system": "full", "interval": "10 h"},
            "looks": {"system": "full", "interval": "10 h", "verify_every": 1},
        },
    )
    found = run(scenario, replications=20)

    # All of its runs have the fault of 90 h; who looks finds it before the save of 90 h, or at the
    # end, and verifies 10 times at 6 min, and once again: 1.1 h, with 10 h or less done again.
    assert recommendation(found)[1].startswith("On the same failures looks, the next, takes ")
    ends = [each for each in recommendation(found) if each.startswith("never ends")]
    overhead = format_percent(found.summary.loc["looks", "overhead"])
    assert ends == [
        "never ends with a silent fault in what was trained in 100.00 % of the replications, and "
        "nobody knows; of the policies that never did, looks takes the least time: "
        f"{overhead}."
    ]
    assert found.document()["policies"]["never"]["corrupt"] == 1.0
    assert found.document()["policies"]["looks"]["corrupt"] == 0.0
    alone = recommendation(run(scenario, ["never"], replications=2))
    assert any(each.endswith("verify_every of a policy has it looked for.") for each in alone)
