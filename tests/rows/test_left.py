"""Where what saves leave lies: on servers that get many of a table's updates, or on all alike."""

import numpy as np
import pytest

from cprsim.rows.lost import Lost, slope
from cprsim.rows.meanfield import MeanField
from cprsim.scenario import Scenario
from tests.rows.exact import zipf_by_class


def test_the_slope_is_1_in_proportion_and_0_where_none_of_the_updates_are():
    rows, accesses = np.array([3.0, 5.0, 9.0]), np.array([4.0, 2.0, 0.0])

    assert slope(rows, accesses, 0.1 * accesses) == pytest.approx(1)
    assert slope(rows, accesses, np.array([0.0, 0.0, 1.0])) == 0
    assert slope(rows, accesses, np.zeros(3)) == 0


def test_the_slope_is_the_regression_over_rows_that_are_dealt_to_two_servers():
    """Of 4,000 deals: an oracle that shares no code; its own error is worked out, four of them."""
    rng = np.random.default_rng(5)
    accesses = rng.pareto(2.5, 200)
    left = np.sqrt(accesses)
    dealt = rng.random((4000, 200)) < 0.5
    updates, lies = (dealt @ each / each.sum() - 0.5 for each in (accesses, left))
    found = (updates @ lies) / (updates @ updates)
    error = np.std(lies - found * updates) / np.sqrt(updates @ updates)

    assert slope(np.ones(200), accesses, left) == pytest.approx(found, abs=4 * error)


def test_tables_count_by_what_is_left_of_them():
    parts = [
        Lost(0.5, np.array([1.0, 1.0]), left=(0.9, 0.1)),
        Lost(0.5, np.array([2.0, 4.0])),
        Lost(0.5, np.zeros(2), left=(0.0, 1.0)),
    ]
    # 3 x 2 of the first, 1 x 6 of the second.
    assert Lost.together(parts, [3, 1, 1]).left == pytest.approx((0.7, 0.3))
    assert Lost.together(parts[1:2], [1]).left is None


def field(**keys):
    return MeanField(zipf_by_class(4000), 16 * 3000.0, 1 / 16, servers=(0.7, 0.3), **keys)


def test_on_a_walk_under_adagrad_popular_rows_wait_as_long_as_others():
    """s updates after n lead sqrt(log((n + s) / n)) away, which is the same for all rows that have
    had many: so updates are left in proportion, but for the few of rows that have had few."""
    on = field(rule="adagrad", directions=2).lost("scar", 3).left

    assert on == pytest.approx((0.7, 0.3), abs=0.02)


def test_mfu_leaves_rows_of_which_all_servers_have_alike():
    assert field().lost("mfu", 3).left == (0.5, 0.5)


@pytest.mark.parametrize("tracker", ["random", "round-robin"])
def test_trackers_that_know_nothing_of_rows_leave_updates_in_proportion(tracker):
    assert field().lost(tracker, 3).left == pytest.approx((0.7, 0.3))


def test_ssu_leaves_more_of_hot_rows_the_longer_its_batches_are():
    singly = field().lost("ssu", 3).left
    batches = field(batches=16 * 2.0).lost("ssu", 3).left

    assert 0.5 <= singly[0] < batches[0] < 0.7
    assert sum(batches) == pytest.approx(1)


@pytest.mark.parametrize("system", ["cpr-scar", "cpr-mfu", "cpr-ssu"])
@pytest.mark.parametrize("updates", [None, [3, 1]])
def test_plans_say_where_it_lies(system, updates):
    table = {"rows": 4000, "dim": 4, "skew": {"zipf": 1.1}} | (
        {} if updates is None else {"updates": updates}
    )
    scenario = Scenario(
        job={"useful_time": "10 h", "samples": 200_000},
        model={"tables": [table], "optimizer_rule": "adagrad", "gradient_directions": 2},
        cluster={"parameter_servers": 2} | ({} if updates is None else {"updates": updates}),
        costs={"save": "1 s", "load_full": "1 s", "load_partial": "1 s"},
        failures={"exactly": 2},
        policies={"it": {"system": system, "interval": "1 h"}},
    )
    left = scenario.plan("it").tracking.left

    if updates is None:
        assert left is None
    else:
        assert left[0] >= 0.5
        assert sum(left) == pytest.approx(1)
