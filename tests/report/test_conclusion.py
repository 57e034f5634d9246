"""Oracles: differences worked by hand, with Student's t from printed tables."""

import pytest

from cprsim import Scenario, load_scenario, run
from cprsim.report.conclusion import certified, conclusion, findings
from cprsim.report.report import reference_policy
from tests.report.results import result


def test_pairing_tells_apart_what_two_intervals_do_not():
    # One policy takes 100 s more in each replication, whose overheads differ far more.
    found = result({"a": [1000.0, 9000.0, 5000.0], "b": [1100.0, 9100.0, 5100.0]}, times=10)
    told = certified(found)

    assert (told.verdict, told.best) == ("best", 0)
    assert (told.rivals[0].low, told.rivals[0].high) == pytest.approx((0.001, 0.001))
    assert found.summary.loc["a", "overhead_high"] > found.summary.loc["b", "overhead_low"]


def test_the_conclusion_names_the_fastest_that_loses_nothing():
    # c - b: 4,800.5 s and far apart; a takes less and loses 2 % of the updates.
    found = result(
        {"b": [1600.0, 1800.0], "a": [1000.0, 2000.0], "c": [6000.0, 7001.0]}, {"a": 0.02}, times=20
    )

    assert conclusion(found) == (
        "Of 3 policies, b is the fastest that loses no updates: 1.70 % overhead; best at 95 % over "
        "simulation noise; a takes 1.50 % and loses 2.00 % of the updates."
    )
    assert findings(found) == [
        "What lost updates do to accuracy isn't known: a.",
        # a: 1.5 + 2 %; b, c: 1.7 % and 6.5 %.
        "Counting the time to train lost updates again, the order is b, a and c (b: 1.70 %); by "
        "overhead it is a, b and c.",
    ]
    # a is the first of all, by 600 and -200 s, 20 times each: mean 200, standard deviation
    # 400 sqrt(40 / 39) = 405.1; t(39) = 2.331 for two comparisons with 5 % together: 149.3 s.
    told = certified(found)
    assert [each.candidate for each in told.rivals] == [0, 2]
    assert told.rivals[0].low == pytest.approx(0.000507, abs=1e-6)


def test_what_is_undecided_is_said_to_be():
    found = result({"a": [1000.0, 2600.0], "b": [1800.0, 2000.0]}, times=10)
    assert conclusion(found) == (
        "Of 2 policies, a is the fastest: 1.80 % overhead; undecided: b may be better by up to "
        "0.236 points; more replications may decide."
    )
    few = result({"a": [1000.0, 2000.0], "b": [1100.0, 2100.0]})
    assert conclusion(few) == (
        "Of 2 policies, a is the fastest: 1.50 % overhead; undecided: only 2 of 2 replications met "
        "a failure that makes a difference; increase --replications to at least 20."
    )


def test_a_single_policy_and_a_single_replication():
    assert conclusion(result({"a": [1000.0, 2000.0]})) == (
        "a: 1.50 % overhead; no other policy was run."
    )
    assert conclusion(result({"a": [1000.0]}, {"a": 0.5})) == (
        "a: 1.00 % overhead, 50.00 % of the updates lost; no other policy was run."
    )
    assert conclusion(result({"a": [1000.0], "b": [2000.0]})) == (
        "Of 2 policies, a is the fastest: 1.00 % overhead; undecided: one replication shows no "
        "simulation noise."
    )


def test_policies_that_do_the_same_and_hopeless_ones_are_told():
    alike = result({"a": [1000.0, 2000.0], "b": [1000.0, 2000.0 + 1e-9]}, {}, times=10)
    hopeless = result({"a": [80_000.0], "b": [90_000.0]}, times=20)

    assert conclusion(alike) == (
        "Of 2 policies, a is the fastest: 1.50 % overhead; no other differs."
    )
    assert conclusion(hopeless).startswith(
        "This job is hopeless under these policies. Of 2 policies, a is "
    )


def test_all_policies_that_lose_learning_leave_nothing_safe_to_name():
    found = result({"a": [1.0, 2.0], "b": [5.0, 9.0]}, {"a": 0.1, "b": 0.2}, times=10)

    assert conclusion(found).endswith("; it loses 10.00 % of the updates.")
    assert findings(found) == ["What lost updates do to accuracy isn't known: a and b."]


def test_the_order_turns_below_a_best_that_loses_nothing():
    # 1, 2 and 3 %; what b loses is worth 2 % more.
    found = result({"a": [1e3], "b": [2e3], "c": [3e3]}, {"b": 0.02}, times=20)

    assert findings(found)[-1] == (
        "Counting the time to train lost updates again, the order is a, c and b (a: 1.00 %); by "
        "overhead it is a, b and c."
    )
    assert findings(result({"a": [1.0], "b": [2.0]})) == []


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
    assert conclusion(found).startswith("Of 2 policies, looks is the fastest that ends without")
    assert findings(found) == [
        "Replications that end with a silent fault in the model: never in 100.00 %. Set "
        "verify_every to find them."
    ]
    assert found.document()["policies"]["never"]["corrupt"] == 1.0
    assert found.document()["policies"]["looks"]["corrupt"] == 0.0


def test_intervals_of_a_run_allow_for_a_loss_that_no_replication_met():
    """Two copies are hardly ever lost together: 0.69 ± 0.15 was said of 50 runs, the truth is 1."""
    mapping = load_scenario("quickstart").mapping()
    copies = {"system": "replication", "copies": 4}
    found = run(Scenario(**mapping | {"policies": {"four": copies}}), replications=40)
    row = found.summary.loc["four"]

    # Rule of three: 3 / 40 of a loss that takes back all of the job.
    assert row["overhead_high"] - row["overhead"] == pytest.approx(
        row["overhead"] - row["overhead_low"] + 3 / 40
    )
    assert found.summary.loc["four", "overhead_p95"] < 0.1
