"""Rules that every interpreter keeps: the same in all of them, on floats and on arrays."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.batch.lanes import Lanes
from cprsim.batch.state import Shards
from cprsim.contract import Always, Plan, Policy, Recover, Save, Tracking, every, rules
from cprsim.contract.schedules import ScheduledController
from cprsim.failures.hit import Hit
from cprsim.failures.timeline import Absolute
from cprsim.runs.engines import chosen
from cprsim.sim.engine import meet
from cprsim.sim.state import State

HALF = Save(portion=0.5, left_s=(4.0, 5.0))


class HalfAllHalf(ScheduledController):
    """Saves every 10 s of training: a half, all, a half, all ..."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._saves = 0

    def ask(self, now):
        action = super().ask(now)
        if not isinstance(action, Save):
            return action
        self._saves += 1
        return HALF if self._saves % 2 else Save()


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPlan(Plan):
    def start(self):
        return HalfAllHalf(self)


class Mixed(Policy):
    system: Literal["mixed"] = "mixed"

    def plan(self, context):
        lost = Always(Recover("lost"))
        tracking = Tracking("mfu", 0.5)
        return MixedPlan("partial", every(20.0, HALF), lost, tracking=tracking)


def mixed_scenario() -> cprsim.Scenario:
    """40 s on two servers; costs that take no time, so that progress is the clock."""
    return cprsim.Scenario(
        job={"useful_time": "40 s", "samples": 40 * 32},
        model={"tables": [{"rows": each, "dim": 8} for each in (300, 100, 20)]},
        cluster={"parameter_servers": 2, "trainers": 1},
        costs={"save": "0 s", "load": "0 s", "reschedule": "0 s"},
        failures={"exactly": 0},
        policies={"mixed": Mixed()},
    )


# One of two servers fails at 34 of 40 s: everything was last saved at 20, since then a half.
PLS = (34 - 20) / (40 * 2)


def test_half_all_half_in_the_simulator():
    ledger = meet(mixed_scenario(), "mixed", Absolute((34.0,), (Hit((0,), ()),)))

    assert ledger.saves == 3
    assert ledger.pls == pytest.approx(PLS, rel=1e-12)


def test_half_all_half_is_not_for_batches():
    assert chosen(mixed_scenario(), ["mixed"], "auto") == {"mixed": "sim"}


def test_portions_in_batches_are_those_of_the_simulator():
    """Static portions, which are all that a batch plays; 0.4 leaves a part of a round over."""
    schedule = every(25.0, Save(portion=0.4, left_s=(1.0, 2.0, 2.5)))[0]
    for saves in range(1, 12):
        state = State(1000.0, 2, [schedule])
        lanes = Lanes.start(1)
        shards = Shards(1, 2, 1000.0, schedule)
        for number in range(1, saves + 1):
            state.progress_s = number * schedule.period_s
            state.usable(state.taken(schedule.save), schedule.save)
        lanes.saved_s[:] = lanes.progress_s[:] = saves * schedule.period_s
        lanes.round[:] = saves
        lanes.progress_s += 3.0
        state.progress_s += 3.0
        state.lose([1], "remote")
        shards.lose(lanes, np.array([1]))

        assert lanes.pls[0] == state.pls
        assert lanes.updates_lost[0] == pytest.approx(state.updates_lost, rel=1e-12)


@pytest.mark.slow
def test_half_all_half_on_real_servers(tmp_path: Path):
    runs = pytest.importorskip("tests.trainer.runs", reason="needs torch")
    plan = Mixed().plan(mixed_scenario().context)
    recovered = runs.ran(plan, [(34.0, runs.servers_hit(0))], tmp_path)

    assert recovered.pls == pytest.approx(PLS, rel=1e-12)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_half_all_half_by_hooks(tmp_path: Path):
    loops = pytest.importorskip("tests.trainer.loops", reason="needs torch")
    loop = loops.Loop()
    hooks = loops.hooked(loop, "mixed", tmp_path, scenario=mixed_scenario())
    hooks.restore()
    loops.train(loop, hooks, 0, 34)
    hooks.on_failure({0})

    assert hooks.summary.pls == pytest.approx(PLS, rel=1e-12)


# --- Floats and arrays ---------------------------------------------------------------------------

seconds = st.floats(0.0, 1e6)
positive = st.floats(1e-3, 1e6)


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=8), st.lists(st.floats(0.0, 12.0)))
def test_what_saves_leave(left_s, saves):
    left = rules.r25_left_s(left_s, np.array(saves, dtype=np.float64))

    alone = [rules.r25_left_s(left_s, each) for each in saves]
    assert left == pytest.approx(np.array(alone), rel=1e-9, abs=1e-9)


@given(seconds, seconds, positive)
def test_when_a_save_is_due_again(due_s, progress_s, period_s):
    (found,) = rules.r3_due_s(np.array([due_s]), np.array([progress_s]), period_s)

    assert found == rules.r3_due_s(due_s, progress_s, period_s)
    assert found <= max(due_s, progress_s + period_s)


def test_a_save_due_at_the_end_is_none():
    found = rules.r4_saves(np.array([0.1, 0.2, 0.3, 0.31]), 0.3, 0.1)

    assert found.tolist() == [2.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("trained_on", [False, True])
@pytest.mark.parametrize("rollback", ["none", "lost", "all"])
@pytest.mark.parametrize("servers", [0, 2])
def test_what_a_failure_does_to_a_save(rollback, servers, trained_on):
    depth = rules.DEPTH[rollback]
    void = rules.r9_is_void(depth, servers, trained_on)

    assert void == (rollback == "all" or (rollback == "lost" and servers > 0 and trained_on))
    assert rules.r9_is_void(np.array([depth]), np.array([servers]), trained_on).tolist() == [void]


@given(st.floats(0.0, 0.999), st.floats(0.01, 0.999))
def test_rounds_lose_no_portion(saved, portion):
    complete, rest = rules.r25_round(saved, portion)

    assert complete == (saved + portion >= 1 - 1e-9)
    assert rest == pytest.approx(max(saved + portion - complete, 0.0), abs=2e-9)
    assert rules.r25_round(saved, 1.0) == (True, 0.0)


def test_samples_of_arrays_are_those_of_floats():
    now, last = np.array([34.0, 20.0]), np.array([20.0, 20.0])

    assert rules.r23_pls(now, last, 40.0, 2).tolist() == [rules.r23_pls(34.0, 20.0, 40.0, 2), 0.0]
