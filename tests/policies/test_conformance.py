"""Every shipped policy, and one as a user would write it, through the suite that cprsim ships."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from cprsim.batch import engine as batch
from cprsim.contract import (
    Action,
    Clock,
    Context,
    Controller,
    Event,
    Failed,
    Loss,
    Plan,
    Policy,
    Recover,
    Resumed,
    Save,
    Saved,
    Train,
    every,
    registry,
)
from cprsim.policies import register, systems
from cprsim.policies.full import FULL_ROLLBACK, checkpoint_interval_s, full_plan
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS
from cprsim.testing import PolicyConformance
from tests.drawn import SYSTEMS

# --- Shipped policies ----------------------------------------------------------------------------


NEAR = {"interval": "20 min", "save": "10 s", "load": "10 s", "differential": 0.1, "base_every": 4}
#: A table of each system, and of some two.
POLICIES: list[dict[str, Any]] = [
    {"system": "full"},
    {"system": "partial", "on_notice": "drain"},
    {"system": "cpr-vanilla", "target_pls": 0.05},
    {"system": "cpr-mfu", "target_pls": 0.05, "slowdown": 0.01},
    {"system": "cpr-scar", "interval": "2 h", "fraction": 0.25},
    {"system": "cpr-ssu", "interval": "4 h", "subsample": 3},
    {"system": "async", "snapshot": "20 s", "in_flight": 2, "on_notice": "save"},
    {"system": "replication"},
    {"system": "accepted-loss", "interval": "4 h"},
    {"system": "autopilot", "prior": "20 h", "target_pls": 0.02},
    {"system": "check-n-run", "interval": "40 min", "tracking": 0.01},
    {"system": "delta", "interval": "20 min", "merge": "2 h", "tracking": 0.01},
    {"system": "ecrm"},
    {"system": "elastic", "interval": "1 h", "bound": 0.6, "reshard": "30 s"},
    {"system": "hot-swap", "iteration": "5 s"},
    {"system": "peer-memory", "iteration": "10 min"},
    {"system": "twin-groups", "every": "10 min", "sync": "3 s", "interval": "2 h"},
    {
        "system": "partial-experts",
        "experts": 12,
        "per_save": 2,
        "interval": "30 min",
        "blocking": True,
        "snapshot_experts": 5,
        "dynamic": True,
        "plt_limit": 0.01,
    },
    {
        "system": "tiered",
        "local": NEAR,
        "peer": {"interval": "1 h", "save": "30 s", "load": "40 s"},
        "remote": {"interval": "4 h", "blocking": False},
    },
]
for _policy in POLICIES:
    _name = "Test" + _policy["system"].title().replace("-", "")
    globals()[_name] = type(_name, (PolicyConformance,), {"policy": _policy})


def test_every_shipped_system_is_here() -> None:
    assert set(systems()) == set(SYSTEMS) == {each["system"] for each in POLICIES}


# --- A policy of a user --------------------------------------------------------------------------


class Impatient(Policy):
    """Full recovery that saves the more often the more failures there have been."""

    system: Literal["test-impatient"]

    def plan(self, context: Context) -> Plan:
        interval_s = checkpoint_interval_s("optimal", context.save_s, context.mtbf_s)
        return ImpatientPlan("full", every(interval_s), FULL_ROLLBACK)


@dataclass(frozen=True, slots=True)
class ImpatientPlan(Plan):
    def start(self) -> Controller:
        return ImpatientController(self.interval_s)


class ImpatientController:
    def __init__(self, interval_s: float) -> None:
        self.interval_s, self.failures, self.failed, self.due_s = interval_s, 0, False, interval_s

    def tell(self, event: Event) -> None:
        self.failed = isinstance(event, Failed)
        self.failures += self.failed
        if isinstance(event, Saved | Resumed):
            self.due_s = event.now.progress_s + self.interval_s / (1 + self.failures) ** 0.5

    def ask(self, now: Clock) -> Action:
        if self.failed:
            return Recover("all")
        return Train(self.due_s) if now.progress_s < self.due_s else Save()


class TestImpatient(PolicyConformance):
    policy: ClassVar = {"system": "test-impatient"}

    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Other tests list the known systems: they should not find this one.
        monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
        register(Impatient)


# --- The suite finds what is wrong ---------------------------------------------------------------


class Broken(Policy):
    """Does one thing that a policy must not; `how` says which."""

    system: Literal["test-broken"]
    how: str

    def plan(self, context: Context) -> Plan:
        plan = BrokenPlan("full", every(3600.0), FULL_ROLLBACK, how=self.how)
        if self.how == "impure":
            PLANS.append(plan)
            return full_plan(3600.0 + len(PLANS))
        if self.how == "closure":
            return Plan("full", every(3600.0), lambda loss: Recover("all"))
        if self.how == "negative":
            return Plan("full", every(3600.0), FULL_ROLLBACK, slowdown=-0.1)
        if self.how == "picky":
            return Plan("full", every(3600.0), picky)
        return plan


@dataclass(frozen=True, slots=True)
class BrokenPlan(Plan):
    how: str = ""

    def start(self) -> Controller:
        return BrokenController(self.how)


class BrokenController(ImpatientController):
    def __init__(self, how: str) -> None:
        super().__init__(3600.0)
        self.how = how

    def ask(self, now: Clock) -> Action:
        if self.how == "clock":
            self.due_s += time.perf_counter() * 0
        if self.how == "memory" and not self.failed:
            RUNS.append(now)
            self.interval_s = 3600.0 + len(RUNS)
        if self.how == "greedy" and now.progress_s >= 3600.0 and not self.failed:
            return Save()
        return super().ask(now)


def picky(loss: Loss) -> Recover:
    return Recover("lost") if len(loss.servers) < 8 else Recover("some")  # type: ignore[arg-type]


PLANS: list[Plan] = []
RUNS: list[Clock] = []


@pytest.fixture
def _broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
    register(Broken)
    yield
    PLANS.clear()
    RUNS.clear()


@pytest.mark.usefixtures("_broken")
@pytest.mark.parametrize(
    ("how", "test", "text"),
    [
        ("impure", "plan_is_pure", "schedules of the plan is"),
        ("closure", "plan_pickles", "lambda"),
        ("negative", "plan_has_numbers_in_range", "slowdown is -0.1, no number from 0"),
        ("picky", "plan_answers_every_loss", "whose rollback is 'some', none of all, lost, none"),
        ("clock", "controller_takes_time_from_its_caller_alone", "looked at a clock"),
        ("memory", "controller_takes_time_from_its_caller_alone", "a fresh controller answers"),
        ("memory", "same_seed_gives_the_same_numbers", "then"),
        ("greedy", "time_adds_up", "save after save at progress 3600.0 s and never trains"),
    ],
)
def test_the_suite_names_what_is_broken(how: str, test: str, text: str) -> None:
    class Suite(PolicyConformance):
        policy: ClassVar = {"system": "test-broken", "how": how}

    with pytest.raises(Exception, match=text):
        getattr(Suite(), f"test_{test}")()


def test_the_suite_finds_engines_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    def off(scenario: Scenario, *arguments: Any) -> NDArray[np.float64]:
        values = simulate(scenario, *arguments)
        values[..., COLUMNS.index("wall")] += 1.0
        return values

    simulate = batch.simulate
    monkeypatch.setattr(batch, "simulate", off)

    class Suite(PolicyConformance):
        policy: ClassVar = {"system": "full"}

    text = r"measured costs, replication 0: engine 'batch' and then 'sim' say \{'wall': \("
    with pytest.raises(AssertionError, match=text):
        Suite().test_engines_agree()
