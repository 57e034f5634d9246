"""What a simulation on this machine's costs predicts of real runs.

Calibrated are the time of a step and what saves and recoveries take (`calibration`). Steps,
intervals, failures and rows are the scenario's own.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cprsim.contract import Plan
from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES, Ledger
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import play_against
from cprsim.trainer.data import Data
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.validation.appended import of_scenario
from cprsim.trainer.validation.calibration import Calibration, averaged
from cprsim.trainer.validation.directions import gradient_directions
from cprsim.trainer.validation.modelled import (
    calibrated,
    check_predictable,
    hits_of,
    period_of,
    waits,
)
from cprsim.trainer.validation.pinned import Kill, pinned
from cprsim.trainer.validation.rehearsal import lost, trains_beside
from cprsim.trainer.validation.stretches import StretchTimes

#: What stores append and merge takes nothing in the simulation: it is counted beside.
_COUNTED: dict[str, Any] = dict.fromkeys(("appended_s", "append_s", "append_row_s", "merge_s"), 0.0)


class Prediction(NamedTuple):
    """What is to come of one policy's run.

    `period`: steps from one save to the next; None if there are none. `kills`: the failures that
    it meets. `lost_steps`: those that are trained again.
    """

    system: str
    period: int | None
    kills: Sequence[Kill]
    ledger: Ledger
    lost_steps: int

    @property
    def overhead_s(self) -> float:
        """All that is no training, s."""
        return math.fsum(getattr(self.ledger, cause) for cause in OVERHEAD_CAUSES)

    def counts(self) -> dict[str, float]:
        """What is no time."""
        return {
            "pls": self.ledger.pls,
            "updates_lost": self.ledger.updates_lost,
            "failures": self.ledger.failures,
            "lost_steps": self.lost_steps,
        }

    def document(self) -> dict[str, Any]:
        """What is written down of it before anything is trained."""
        return {
            "system": self.system,
            "period_steps": self.period,
            "kills": [
                {"step": kill.executed, "servers": kill.hit.servers, "trainers": kill.hit.trainers}
                for kill in self.kills
            ],
            "predicted": {cause: getattr(self.ledger, cause) for cause in CAUSES},
            "overhead_s": self.overhead_s,
            **self.counts(),
        }


class Predicted(NamedTuple):
    """What is to come of some policies' runs, by name; `scenario` is what was simulated.

    `calibrations`: of each, those that were rehearsed alike share one.
    """

    scenario: Scenario
    seed: int
    calibrations: Mapping[str, Calibration]
    of: Mapping[str, Prediction]

    def shared(self) -> list[tuple[Calibration, list[str]]]:
        """Each calibration, and whose it is."""
        found: dict[int, tuple[Calibration, list[str]]] = {}
        for name, each in self.calibrations.items():
            found.setdefault(id(each), (each, []))[1].append(name)
        return list(found.values())

    def content(self) -> bytes:
        """All of it as canonical JSON (keys in order, no spaces): what is hashed."""
        document = {
            "scenario": self.scenario.title,
            "seed": self.seed,
            "calibrations": {name: vars(each) for name, each in self.calibrations.items()},
            "policies": {name: each.document() for name, each in self.of.items()},
        }
        told = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return told.encode()

    @property
    def sha256(self) -> str:
        """The hash of its content."""
        return hashlib.sha256(self.content()).hexdigest()


def predict(
    scenario: Scenario,
    section: TrainerSection,
    policies: Sequence[str],
    calibrations: Mapping[str, Calibration],
    seed: int = 0,
) -> Predicted:
    """Simulate what `train` would do of each policy, at costs that were measured.

    Raises
    ------
    ScenarioError
        Where a policy can't be predicted.
    """
    plans = scenario.plans_of(policies)
    check_predictable(section, scenario.cluster.trainers, plans, hits_of(scenario, seed))
    data = section.data(scenario, seed)
    by_change = any(plan.tracking and plan.tracking.tracker == "scar" for plan in plans.values())
    directions = gradient_directions(data, section) if by_change else None
    found = {}
    for name, plan in plans.items():
        own = calibrations[name]
        played = calibrated(
            *(scenario, {name: plan}, data),
            *(replace(own, **_COUNTED), directions),
        )
        found[name] = _prediction(scenario, played, name, plan, own, data, seed)
    together = _of_all(scenario, plans, data, calibrations, directions)
    return Predicted(together, seed, calibrations, found)


def _of_all(
    scenario: Scenario,
    plans: Mapping[str, Plan],
    data: Data,
    calibrations: Mapping[str, Calibration],
    directions: int | None,
) -> Scenario:
    """One scenario of all policies: of what waits for saves, if anything does."""
    waiting = {name: plan for name, plan in plans.items() if not trains_beside(plan)} or plans
    of_all = averaged([calibrations[name] for name in waiting])
    told = replace(of_all, step_s=of_all.usual_step_s)  # who runs it knows of no stretches
    return calibrated(scenario, plans, data, told, directions)


def _prediction(
    scenario: Scenario,
    modelled: Scenario,
    name: str,
    plan: Plan,
    calibration: Calibration,
    data: Data,
    seed: int,
) -> Prediction:
    step_s, nominal_s = calibration.step_s, scenario.job.useful_time_s / data.steps
    period = period_of(plan, nominal_s)
    cursor = cursor_of(scenario.failure_model.timeline(seed, 0))
    met = pinned(modelled, name, step_s, cursor, nominal_s)
    times = StretchTimes(calibration, scenario.cluster.parameter_servers)
    ledger = play_against(modelled, name, met.timeline, times)
    told = replace(ledger, train=times.kept_s, lost=times.lost_s, save=ledger.save + times.saved_s)
    if plan.tracking is not None and period is not None:
        found = of_scenario(
            scenario, plan.tracking, data, period, data.steps, kills=met.kills, seed=seed
        )
        told = replace(
            told,
            save=told.save + found.merging_s(calibration.merge_s, calibration.reading),
            load=told.load + found.reading_s(calibration.reading),
        )
    alone = sum(not kill.hit.servers for kill in met.kills)
    if trains_beside(plan) and not waits(plan):  # pinned to steps, it waits all the same
        count = ledger.failures
        load_s = (count - alone) * calibration.beside_s
        told = replace(told, reschedule=count * calibration.reschedule_s, load=load_s)
    if plan.recover(lost(0, 1)).rollback != "all":  # then only the trainer loads, its dense part
        told = replace(told, load=told.load + alone * calibration.load_trainer_s)
    return Prediction(
        system=modelled.policies[name].system,
        period=period,
        kills=met.kills,
        ledger=told,
        lost_steps=round(ledger.lost / step_s),
    )
