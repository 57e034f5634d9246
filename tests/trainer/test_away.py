"""Training goes on while a lost server is replaced and filled."""

from dataclasses import replace

import numpy as np
import pytest

from cprsim.contract import Always, Recover
from cprsim.policies.accepted_loss import nobody_waits
from cprsim.policies.partial import partial_plan
from cprsim.trainer.coordinator.history import ShardAway, ShardFilled, ShardSetBack, losses
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members.placement import Placement
from tests.trainer.runs import DATA, STEPS, behind, filled_late, ran, servers_hit, trainer_hit
from tests.trainer.test_oracle import INTERVAL, KILLS

PLAN = replace(behind(partial_plan(INTERVAL)), recover=nobody_waits(2, 1))
PLACEMENT = Placement(tuple(table.rows for table in DATA.tables), 2)


def passed_by(job):
    """Updates that no row has: of steps since what a shard returned to, and of those it missed."""
    lost, back, since = 0, {}, {}
    for each in job.row_events:
        if isinstance(each, ShardSetBack):
            back[each.server] = each.to
        elif isinstance(each, ShardAway):
            since[each.server] = each.step
        elif isinstance(each, ShardFilled):
            lost += sum(uses(step, each.server) for step in range(back[each.server], each.step))
    return lost / (STEPS * DATA.batch_size * len(DATA.tables))


def uses(step, server):
    """Uses of rows of a server in a step, one by one."""
    offsets = [0, 300, 400]
    return sum(
        (row + offset) % 2 == server
        for sample in DATA.batch(step).sparse.tolist()
        for row, offset in zip(sample, offsets, strict=True)
    )


def check(recovered):
    """Who was lost returns to its last stored snapshot, nobody else changes, all is counted."""
    watched = recovered.watched
    for (loss, before, _), after in watched.recoveries():
        for server in after.keys() & before.keys() - loss.servers:
            assert np.array_equal(after[server], before[server])
    for _, rows, saved in watched.filled:
        assert np.array_equal(rows, saved)
    counted = losses(recovered.job.row_events, STEPS, DATA, PLACEMENT).updates_lost
    assert counted == pytest.approx(passed_by(recovered.job), rel=1e-12)


@pytest.mark.slow
def test_the_rest_trains_on_and_the_lost_shard_returns_to_its_snapshot(tmp_path, monkeypatch):
    filled_late(monkeypatch, 18)
    recovered = ran(PLAN, [(13.0, servers_hit(0))], tmp_path, watch=True, free=True)

    assert recovered.replaced == recovered.struck == 1
    assert recovered.job.executed == STEPS
    ((filled, _, _),) = recovered.watched.filled
    assert filled.server == 0
    assert filled.step >= 18
    check(recovered)


def test_pinned_to_steps_nothing_is_missed(tmp_path):
    recovered = ran(PLAN, KILLS, tmp_path, watch=True)

    assert recovered.job.lost_steps == 3 + 4 + 4 + 10 + 8
    away = [each.step for each in recovered.job.row_events if isinstance(each, ShardAway)]
    filled = [each.step for each in recovered.job.row_events if isinstance(each, ShardFilled)]
    # At 14.5 both are hit, and no server is left: that is waited for.
    assert away == filled == [3, 20, 38]
    again = ran(PLAN, KILLS, tmp_path / "again")
    assert recovered.predictions == again.predictions


def test_who_dies_while_it_is_filled_is_started_again(tmp_path):
    manner = InjectionMode(loading=1.0)
    recovered = ran(PLAN, [(13.0, servers_hit(0))], tmp_path, manner=manner, watch=True, free=True)

    assert recovered.replaced == recovered.struck == 2
    assert recovered.failures == 2
    (back,) = [each for each in recovered.job.row_events if isinstance(each, ShardSetBack)]
    assert recovered.job.lost_steps == 13 - back.to  # once: it has nothing more to lose
    check(recovered)


def test_a_rollback_of_the_whole_job_takes_back_who_was_away(tmp_path):
    def recover(loss):
        return Recover("all") if loss.trainers else Recover("lost", keep_training=True)

    kills = [(12.0, servers_hit(0)), (12.0, trainer_hit())]
    plan = replace(partial_plan(INTERVAL), recover=recover)
    recovered = ran(plan, kills, tmp_path, free=True)

    assert recovered.replaced == recovered.struck == 2
    assert recovered.job.executed == STEPS + 2


def test_saves_that_training_waits_for_wait_for_who_is_away(tmp_path):
    plan = replace(partial_plan(INTERVAL), recover=Always(Recover("lost", keep_training=True)))
    recovered = ran(plan, [(19.0, servers_hit(0))], tmp_path, watch=True, free=True)

    filled = next(each for each in recovered.job.row_events if isinstance(each, ShardFilled))
    assert filled.step <= 20
    assert recovered.job.usable.last.step == 30
    check(recovered)


def test_what_is_missed_at_the_end_is_counted(tmp_path, monkeypatch):
    filled_late(monkeypatch, STEPS)
    recovered = ran(PLAN, [(38.0, servers_hit(1))], tmp_path, watch=True, free=True)

    filled = recovered.job.row_events[-1]
    assert isinstance(filled, ShardFilled)
    assert filled.step == STEPS
    check(recovered)
