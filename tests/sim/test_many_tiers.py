"""Plans may save to any number of tiers."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cprsim.batch.engine import simulate as compiled
from cprsim.contract import Answers, Case, Clock, Recover, Save, Schedule, Train
from cprsim.contract.plan import Plan
from cprsim.job.tiers import Tier
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play, simulate

TABLES = {
    "job": {"useful_time": "3000 s"},
    "cluster": {"parameter_servers": 4},
    "costs": {"save": "5 s", "load": "10 s", "reschedule": "30 s"},
    "failures": {"distribution": "exponential", "mean": "400 s"},
    "policies": {"it": {"system": "partial", "interval": "100 s"}},
}


def scenario(tiers: int) -> Scenario:
    """Save to the nearest tier often, to the farthest, which lost shards return to, sometimes."""
    names = [f"tier {number}" for number in range(tiers)]
    intervals_s = [100.0] + [math.inf] * (tiers - 2) + [300.0]
    saves = zip(intervals_s, map(Save, names), strict=True)
    answer = Recover("lost", source=names[-1])
    made = Scenario(**TABLES)
    made.plans["it"] = replace(
        made.plan("it"),
        schedules=tuple(Schedule(*each) for each in saves),
        tiers=tuple(Tier(name, "store", 5.0, 10.0) for name in names),
        recover=Answers((Case(answer),)),
    )
    assert type(made.plan("it")) is Plan
    return made


@pytest.mark.parametrize("played", [simulate, compiled])
def test_tiers_without_saves_change_nothing(played) -> None:
    two = simulate(scenario(2), ["it"], range(20), 0)

    assert two.sum() > 0
    for tiers in (3, 8, 9, 20):
        assert np.array_equal(played(scenario(tiers), ["it"], range(20), 0), two)


@pytest.mark.parametrize("tiers", [3, 9, 20])
def test_a_save_may_be_under_way_in_each_of_many_tiers(tiers: int) -> None:
    names = [f"tier {number}" for number in range(tiers)]
    made = scenario(tiers)
    made.plans["it"] = replace(
        made.plan("it"),
        schedules=tuple(
            Schedule(100.0 + number, Save(name, blocking=False))
            for number, name in enumerate(names)
        ),
        tiers=tuple(Tier(name, "store", 1500.0, 10.0, snapshot_s=1.0) for name in names),
    )

    found = simulate(made, ["it"], range(5), 0)

    assert np.all(found[..., COLUMNS.index("train")] == pytest.approx(3000.0, rel=1e-12))
    assert np.array_equal(compiled(made, ["it"], range(5), 0), found)


class Twenty:
    """Begins twenty saves in the background at once."""

    def __init__(self) -> None:
        self.left = 20

    def tell(self, _event: object) -> None:
        pass

    def ask(self, now: Clock) -> Train | Save:
        if now.progress_s < 100.0:
            return Train(100.0)
        self.left -= 1
        return Save(blocking=False) if self.left >= 0 else Train(math.inf)


def test_a_controller_may_begin_many_saves_at_once() -> None:
    class Own(Plan):
        def start(self) -> Twenty:  # type: ignore[override]
            return Twenty()

    made = Scenario(**TABLES | {"failures": {"exactly": 0}})
    plan = made.plan("it")
    made.plans["it"] = Own(plan.recovery, plan.schedules, plan.recover)

    ledger = play(made, "it", 0, 0)

    assert ledger.saves == 20
    assert ledger.wall == 3000.0
