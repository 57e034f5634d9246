"""Shards that are not updated alike, and what saves of chosen rows leave of them: by hand."""

import pytest

import cprsim
from cprsim.contract import Save, every
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.sim.engine import play_against
from tests.sim.learned import State


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
    hot, even = (
        play_against(
            cprsim.Scenario(
                job={"useful_time": "100 s", "samples": 1000},
                model={"tables": [{"rows": 1000, "dim": 4, "skew": {"zipf": 1.0}}]},
                cluster={"parameter_servers": 2, "trainers": 1, "updates": updates},
                costs={"save": "8 s", "load": "4 s"},
                failures={"exactly": 0},
                policies={"mfu": {"system": "cpr-mfu", "interval": "40 s", "fraction": 0.25}},
            ),
            "mfu",
            AbsoluteTimeline([5.0], [Hit((0,), ())]),
        )
        for updates in ([3, 1], None)
    )

    assert hot.updates_lost == pytest.approx(even.updates_lost * 1.5)
    assert (hot.pls, hot.wall) == (even.pls, even.wall)
