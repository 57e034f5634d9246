"""Checkpoints in several places: what a rollback returns to, and what each of them then holds."""

from types import SimpleNamespace

import pytest

from cprsim.contract import Mirror, Save, Schedule
from cprsim.machine.attempts import take_spares
from cprsim.machine.plan_rows import PlanRow
from cprsim.machine.run_rows import RunRow
from tests.sim.learned import State

NEAR, FAR = Save("near"), Save("far")
TWO = (Schedule(10.0, NEAR), Schedule(30.0, FAR))


def state(schedules=TWO, mirror=None, servers=4) -> State:
    """A job of 100 s."""
    return State(useful_time_s=100.0, servers=servers, schedules=schedules, mirror=mirror)


def train(job: State, to_s: float, save: Save | None = None) -> None:
    """Up to that progress, 1.5 times as slow as it should be, and then perhaps save."""
    job.train_to(to_s, 0.5 * (to_s - job.progress_s))
    if save is not None:
        job.usable(job.taken(save), save)


# --- What the tiers hold ---


def test_each_tier_returns_the_job_to_its_own_checkpoint():
    for tier, back_s in (("near", 40.0), ("far", 30.0)):
        job = state()
        for to_s, save in ((10.0, NEAR), (20.0, NEAR), (30.0, FAR), (40.0, NEAR), (47.0, None)):
            train(job, to_s, save)
        job.roll_back(tier)

        assert job.progress_s == back_s
        assert job.slowdown_s == back_s / 2
        assert job.lost_s == pytest.approx(1.5 * (47 - back_s))


def test_a_blocking_save_serves_the_nearer_tiers_and_one_in_the_background_does_not():
    background = FAR._replace(blocking=False)
    for save, near_s in ((FAR, 30.0), (background, 10.0)):
        job = state((Schedule(10.0, NEAR), Schedule(30.0, save)))
        train(job, 10.0, NEAR)
        train(job, 30.0, save)

        assert job.saved("near").progress_s == near_s
        assert job.saved("far").progress_s == 30.0


def test_what_is_loaded_from_a_far_tier_is_in_the_nearer_ones_too():
    job = state()
    train(job, 30.0, FAR)
    train(job, 50.0, NEAR)
    job.roll_back("far")  # the memory that held 50 s is gone

    assert job.saved("near").progress_s == 30.0
    train(job, 35.0)
    job.roll_back("near")
    assert job.progress_s == 30.0


def test_a_checkpoint_ahead_of_what_the_job_returned_to_is_forgotten():
    job = state()
    train(job, 10.0, NEAR)
    job.usable(job.taken(FAR)._replace(progress_s=30.0), FAR._replace(blocking=False))
    job.roll_back("near")

    assert job.saved("far").progress_s == 10.0


def test_a_tier_that_nothing_was_saved_to_holds_the_initial_state():
    job = state()
    train(job, 10.0, NEAR)
    train(job, 15.0)
    job.roll_back("store")

    assert (job.progress_s, job.lost_s) == (0.0, 22.5)


def test_a_shard_that_nothing_was_saved_of_loses_all():
    job = state()
    train(job, 15.0, NEAR)
    job.lose([0], "store")

    assert job.pls == job.updates_lost == pytest.approx(15.0 / 4 / 100)


def test_how_much_a_checkpoint_reads_goes_with_it():
    job = state()
    train(job, 10.0, NEAR._replace(reads=1.25))

    assert job.saved("near").reads == 1.25
    job.roll_back("near")
    assert job.saved("near").reads == 1.25


def test_learning_lost_after_a_checkpoint_is_made_again_after_a_return_to_it():
    job = state()
    train(job, 30.0, FAR)
    train(job, 34.0)
    job.lose([0], "far")  # 4 s of one shard of four
    train(job, 40.0, NEAR)
    assert job.updates_lost == pytest.approx(0.01)

    job.roll_back("near")  # which has never learned it
    assert job.updates_lost == pytest.approx(0.01)
    job.roll_back("far")
    assert job.updates_lost == 0.0


# --- Portions under a rollback of all ---


def rotating(tier: str, unsaved_s: float, portion: float = 0.25) -> Schedule:
    """Every 10 s; what a save leaves, but for what it holds."""
    return Schedule(10.0 / portion, Save(tier, portion=portion, unsaved_s=(unsaved_s,)))


def test_rows_that_the_last_save_left_return_to_older_ones():
    job = state((rotating("far", 15.0),))
    save = job_save(job, "far", 10.0, 20.0)
    train(job, 24.0)
    job.roll_back("far")

    assert (job.progress_s, job.lost_s) == (20.0, 6.0)  # 4 s, half as long again
    assert job.updates_lost == pytest.approx(0.15)
    train(job, 23.0)
    job.roll_back("far")  # nothing was learned since that has not been lost already
    assert job.updates_lost == pytest.approx(0.15)
    train(job, 30.0, save)
    job.roll_back("far")
    assert job.updates_lost == pytest.approx(0.30)


def job_save(job: State, tier: str, *at_s: float) -> Save:
    save = rotating(tier, 15.0).save
    for each_s in at_s:
        train(job, each_s, save)
    return save


def test_nodes_that_are_up_return_to_fresher_rows():
    schedules = (rotating("host", 5.0, 0.5), rotating("far", 15.0))
    job = state(schedules)
    train(job, 10.0)
    for each in schedules:
        job.usable(job.taken(each.save), each.save._replace(blocking=False))
    train(job, 12.0)
    job.roll_back("far", lost=frozenset({2}), healthy="host")

    assert job.updates_lost == pytest.approx((15.0 + 3 * 5.0) / 4 / 100)


def test_a_shard_that_was_down_has_missed_what_was_trained():
    job = state()
    train(job, 30.0, FAR)
    train(job, 34.0)
    job.lose([0], "far")
    train(job, 40.0, FAR)  # without that shard
    train(job, 42.0)
    job.refill([0])
    assert job.updates_lost == pytest.approx((4 + 8) / 4 / 100)

    train(job, 45.0)
    job.lose([0], "far")  # 3 s since it was filled, though the save is 5 s ago
    assert job.updates_lost == pytest.approx((4 + 8 + 3) / 4 / 100)


# --- Mirrors ---


@pytest.mark.parametrize(
    ("behind", "at_s", "back_s"),
    [(0, 7.5, 6.0), (1, 7.5, 3.0), (0, 2.9, 0.0), (1, 5.9, 0.0), (2, 20.0, 12.0), (0, 9.0, 9.0)],
)
def test_a_mirror_returns_the_job_to_the_end_of_a_step(behind, at_s, back_s):
    job = state((), Mirror("memory", 3.0, behind))
    train(job, at_s)
    job.roll_back("memory")

    assert job.progress_s == pytest.approx(back_s)
    assert job.slowdown_s == pytest.approx(back_s / 2)
    assert job.lost_s == pytest.approx(1.5 * (at_s - back_s))


def test_steps_count_from_where_the_job_returned_to():
    job = state((Schedule(10.0, FAR),), Mirror("memory", 3.0))
    train(job, 10.0, FAR)
    train(job, 14.0)
    job.roll_back("memory")
    assert job.progress_s == 12.0
    train(job, 16.0)
    job.roll_back("far")
    assert job.progress_s == 10.0
    train(job, 15.0)
    job.roll_back("memory")
    assert job.progress_s == 13.0


# --- Spares ---


class Spares:
    """A pool of machines."""

    def __init__(self, count: int) -> None:
        plan = PlanRow(spares=count)
        self._it = SimpleNamespace(plan=plan, run=RunRow(), ready_s=[0.0] * count)

    def wait_s(self, nodes: int, now_s: float, delay_s: float) -> float:
        self._it.run.now = now_s
        return take_spares(self._it, nodes, delay_s)


def test_the_first_machines_to_be_ready_take_over():
    pool = Spares(2)
    assert pool.wait_s(1, now_s=0.0, delay_s=50.0) == 0.0  # ready: one, and one at 50
    assert pool.wait_s(2, now_s=10.0, delay_s=100.0) == 40.0  # one now, one at 50
    assert pool.wait_s(1, now_s=60.0, delay_s=5.0) == 5.0  # its own, before those of 110
    assert pool.wait_s(3, now_s=200.0, delay_s=30.0) == 30.0
    assert pool.wait_s(0, now_s=300.0, delay_s=30.0) == 0.0
