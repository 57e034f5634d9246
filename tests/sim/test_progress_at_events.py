"""What a controller is told of the job's progress when a save lands while it trains."""

from dataclasses import dataclass

import cprsim
from cprsim.contract import Clock, Context, Event, Plan, Policy, Save, ScheduledController, Stored
from cprsim.contract import every as schedules
from cprsim.policies.full import FULL_ROLLBACK
from cprsim.sim.engine import play

_told: list[Clock] = []


class Noting(Policy):
    """Saves in the background every 100 s, and notes when they land."""

    system: str = "test-noting"

    def plan(self, context: Context) -> Plan:
        saves = schedules(100.0, Save(blocking=False))
        return NotingPlan("full", saves, FULL_ROLLBACK)


@dataclass(frozen=True, slots=True)
class NotingPlan(Plan):
    def start(self) -> ScheduledController:
        return NotingController(self.schedules, self.recover)


class NotingController(ScheduledController):
    def tell(self, event: Event) -> None:
        if isinstance(event, Stored):
            _told.append(event.now)
        super().tell(event)


def test_progress_is_that_of_the_instant_at_which_a_save_lands() -> None:
    _told.clear()
    scenario = cprsim.Scenario(
        job={"useful_time": "250 s"},
        cluster={"parameter_servers": 2},
        costs={"save": "30 s", "load": "1 s"},
        failures={"exactly": 0},
        policies={"p": Noting()},
    )
    play(scenario, "p", 0, 0)

    told = list(_told)
    assert told == [Clock(130.0, 130.0), Clock(230.0, 230.0)]
