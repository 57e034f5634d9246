"""Rules that every interpreter keeps: the same in all of them, on floats and on arrays."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from inspect import isfunction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.contract.actions import Recover, Save, Train
from cprsim.contract.answers import Always
from cprsim.contract.controller import ScheduledController
from cprsim.contract.plan import Plan, Tracking, every
from cprsim.contract.policy import Policy
from cprsim.errors import RunError
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.machine import rules
from cprsim.runs.engines import chosen
from cprsim.sim.engine import play, play_against

HALF = Save(portion=0.5, unsaved_s=(4.0, 5.0))


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


class Again(ScheduledController):
    """Trains for 20 s, saves so often, and so on."""

    def __init__(self, plan: Plan, saves: int) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._most, self._saves = saves, saves

    def ask(self, now):
        if self._saves == self._most:
            self._saves = 0
            return Train(now.progress_s + 20.0)
        self._saves += 1
        return Save()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainPlan(Plan):
    saves: int

    def start(self):
        return Again(self, self.saves)


class SavesAgain(Policy):
    system: Literal["saves-again"] = "saves-again"
    saves: int

    def plan(self, context):
        return AgainPlan("full", every(20.0), Always(Recover("all")), saves=self.saves)


# One of two servers fails at 34 of 40 s: everything was last saved at 20, since then a half.
PLS = (34 - 20) / (40 * 2)


def test_half_all_half_in_the_simulator():
    ledger = play_against(mixed_scenario(), "mixed", AbsoluteTimeline((34.0,), (Hit((0,), ()),)))

    assert ledger.saves == 3
    assert ledger.pls == pytest.approx(PLS, rel=1e-12)


def test_a_thousand_saves_may_follow_each_other_and_no_more():
    scenarios = [mixed_scenario().with_policies({"it": SavesAgain(saves=n)}) for n in (1000, 1001)]
    assert play(scenarios[0], "it", 0, 0).saves == 1000
    with pytest.raises(RunError, match="it only saves"):
        play(scenarios[1], "it", 0, 0)


def test_half_all_half_is_not_for_batches():
    assert chosen(mixed_scenario(), ["mixed"], "auto") == {"mixed": "sim"}


@pytest.mark.slow
def test_half_all_half_on_real_servers():
    runs = pytest.importorskip("tests.trainer.runs", reason="needs torch")
    keys = {"batch": 32}
    recovered = runs.ran("mixed", [(34.0, runs.servers_hit(0))], of=mixed_scenario(), **keys)

    assert recovered.pls == pytest.approx(PLS, rel=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_half_all_half_by_hooks(tmp_path: Path):
    loops = pytest.importorskip("tests.trainer.loops", reason="needs torch")
    hooks = loops.begun("mixed", tmp_path, 34, scenario=mixed_scenario()).hooks
    hooks.on_failure({0})

    assert hooks.summary.pls == pytest.approx(PLS, rel=1e-12)


# --- By hand -------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=8), st.floats(0.0, 12.0))
def test_what_saves_leave(left_s, saves):
    # Nothing is left before the first; in between it is interpolated, and the last holds on.
    expected = np.interp(saves, np.arange(len(left_s) + 1), [0.0, *left_s])

    assert rules.updates_unsaved_s(left_s, saves) == pytest.approx(expected, rel=1e-9, abs=1e-9)


NONE, LOST, ALL = (rules.DEPTH[each] for each in ("none", "lost", "all"))
#: By function: arguments, and what they give by hand.
BY_HAND: dict[Callable[..., Any], list[tuple[tuple[Any, ...], Any]]] = {
    # From 10,000 failures on, with less than a ten-millionth of the training by each of them.
    rules.fails_too_often: [
        ((0.0, 1000.0, 9_999), False),
        ((0.999, 1000.0, 10_000), True),
        ((1.0, 1000.0, 10_000), False),
        ((1.999, 1000.0, 20_000), True),
    ],
    rules.makes_no_progress: [
        ((990.0, 10.0, 5000), False),
        ((1010.0, 10.0, 999), False),
        ((1010.0, 10.0, 1000), True),
    ],
    rules.hopeless_s: [((10.0,), 1000.0)],
    rules.held_save_is_lost: [((NONE,), False), ((LOST,), False), ((ALL,), True)],
    # It lacks the parts of lost servers.
    rules.background_save_is_lost: [
        ((NONE, 0), False),
        ((NONE, 2), False),
        ((LOST, 0), False),
        ((LOST, 2), True),
        ((ALL, 0), True),
        ((ALL, 2), True),
    ],
    # A restart of the whole job waits for everybody.
    rules.trains_on: [
        ((True, NONE), True),
        ((True, LOST), True),
        ((True, ALL), False),
        ((False, NONE), False),
        ((False, LOST), False),
        ((False, ALL), False),
    ],
    rules.is_over: [((False, 3, 4), True), ((True, 3, 4), False), ((True, 4, 4), True)],
    rules.lost_samples: [((34.0, 20.0), 14.0)],
    rules.all_samples: [((40.0, 2), 80.0)],
    # Three shards are read for a lost one; a chain of differences reads half as much again.
    rules.bytes_read: [
        ((3.0, True, 1.5), 3.0),
        ((1.0, False, 1.5), 1.5),
        ((3.0, False, 1.5), 4.5),
    ],
}


@pytest.mark.parametrize("function", BY_HAND, ids=lambda function: function.__name__)
def test_a_rule_by_hand(function: Callable[..., Any]) -> None:
    for arguments, by_hand in BY_HAND[function]:
        assert function(*arguments) == by_hand, arguments


def test_four_tenths_three_times_are_a_round_and_two_tenths_more():
    complete, portions = False, 0.0
    for number in (1, 2, 3):
        assert not complete, number
        complete, portions = rules.next_round(portions, 0.4)

    assert complete
    assert portions == pytest.approx(0.2)
    assert rules.next_round(0.9, 1.0) == (True, 0.0)


def test_each_function_names_its_rule_of_the_page():
    page = (Path(__file__).parents[2] / "docs/semantics.md").read_text()
    functions = [each for each in vars(rules).values() if isfunction(each)]

    assert len(functions) > 15
    for function in functions:
        (number,) = re.findall(r"\(rule (\d+)\)", function.__doc__)
        assert re.search(rf"^{number}\. ", page, re.MULTILINE), function
