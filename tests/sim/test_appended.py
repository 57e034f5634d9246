"""Saves that are appended until they are merged, and shards that are not updated alike: by hand."""

import pytest

import cprsim
from cprsim.contract import Save, every
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.sim.engine import play_against
from tests.sim.learned import State


def scenario(cluster=None, **keys) -> cprsim.Scenario:
    """A save of a quarter every 10 s takes 2 s; a load takes 4 s, and 1 s for each appended."""
    return cprsim.Scenario(
        job={"useful_time": "100 s", "samples": 1000},
        model={"tables": [{"rows": 1000, "dim": 4, "skew": {"zipf": 1.0}}]},
        cluster={"parameter_servers": 2, "trainers": 1} | (cluster or {}),
        costs={"save": "8 s", "load": "4 s", "append": "1 s"},
        failures={"exactly": 0},
        policies={"mfu": {"system": "cpr-mfu", "interval": "40 s", "fraction": 0.25, **keys}},
    )


def failing(*times_s: float) -> AbsoluteTimeline:
    return AbsoluteTimeline(times_s, [Hit((0,), ())] * len(times_s))


def test_each_third_save_reads_and_writes_everything():
    ledger = play_against(scenario(merge_after=3), "mfu", failing())

    # Nine saves of 2 s; three of them also load what was appended, 4 s + 3 s, and save all, 8 s.
    assert ledger.saves == 9
    assert ledger.save == 9 * 2 + 3 * (7 + 8)


def test_a_load_reads_what_was_appended():
    # After two saves and 5 s; and after the third, 17 s long, has merged them.
    ledger = play_against(scenario(merge_after=3), "mfu", failing(29.0, 58.0))

    assert ledger.load == (4 + 2) + 4


def test_a_save_takes_as_long_as_what_it_writes_and_choosing():
    # 0.6 of 2 s, and 0.5 s; to merge them takes as long as before.
    ledger = play_against(scenario(writes=0.6, select="0.5 s"), "mfu", failing())
    merged = play_against(scenario(writes=0.6, select="0.5 s", merge_after=3), "mfu", failing())

    assert ledger.save == pytest.approx(9 * 1.7)
    assert merged.save == pytest.approx(9 * 1.7 + 3 * (7 + 8))


def test_rows_that_are_not_written_are_not_collected():
    given = scenario(writes=0.6).mapping()
    given["costs"]["gather"] = "8000 s"  # a million rows; a server collects 125 at most
    ledger = play_against(cprsim.Scenario(**given), "mfu", failing())

    assert ledger.save == pytest.approx(9 * 0.6 * (2 + 1))


def test_merging_takes_what_is_said():
    given = scenario(merge_after=3).mapping()
    given["costs"]["merge"] = "0.25 s"

    assert play_against(cprsim.Scenario(**given), "mfu", failing()).save == 9 * 2 + 3 * 0.25


def test_saves_in_their_places_add_nothing_to_a_load():
    assert play_against(scenario(), "mfu", failing(29.0)).load == 4


def test_saves_that_are_all_merged_add_nothing_to_a_load():
    ledger = play_against(scenario(merge_after=1), "mfu", failing(45.0))

    assert ledger.load == 4
    assert ledger.save == 9 * (2 + (4 + 1) + 8)


def test_a_shard_loses_as_many_updates_as_it_gets():
    state = State(100.0, 2, every(1000.0), update_shares=(0.25, 0.75))
    state.train_to(10.0)
    state.lose([0], "remote")
    assert (state.updates_lost, state.pls) == pytest.approx((0.025, 0.05))

    state.lose([1], "remote")
    assert (state.updates_lost, state.pls) == pytest.approx((0.1, 0.1))

    state.train_to(20.0)
    state.refill([1])  # what it missed while it was down
    assert state.updates_lost == pytest.approx(0.175)


def test_what_saves_of_chosen_rows_leave_is_alike_on_all_shards():
    (half,) = every(20.0, Save(portion=0.5, unsaved_s=(2.0,)))
    state = State(100.0, 2, (half,), update_shares=(0.25, 0.75))
    state.train_to(10.0)
    state.usable(state.taken(half.save), half.save)
    state.train_to(14.0)
    state.lose([1], "remote")

    # 4 s since the save, of which this shard has three quarters; 2 s that were left, half of them.
    assert state.updates_lost == pytest.approx(0.04 * 0.75 + 0.02 * 0.5)


def test_what_saves_of_chosen_rows_leave_can_lie_on_one_shard():
    (half,) = every(20.0, Save(portion=0.5, unsaved_s=(2.0,)))
    state = State(100.0, 2, (half,), left_shares=(0.1, 0.9))
    state.train_to(10.0)
    state.usable(state.taken(half.save), half.save)
    state.train_to(14.0)
    state.lose([0], "remote")
    assert state.updates_lost == pytest.approx(0.04 * 0.5 + 0.02 * 0.1)

    state.lose([1], "remote")
    assert state.updates_lost == pytest.approx(0.04 + 0.02)


def test_only_the_ratio_of_updates_counts():
    cluster = {"updates": [3, 1]}
    hot = play_against(scenario(cluster), "mfu", failing(5.0))
    even = play_against(scenario(), "mfu", failing(5.0))

    assert hot.updates_lost == pytest.approx(even.updates_lost * 1.5)
    assert (hot.pls, hot.wall) == (even.pls, even.wall)
