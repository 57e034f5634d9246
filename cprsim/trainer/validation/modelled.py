"""The scenario that predicts a real run: this machine's costs, and saves where that has them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Plan, Tracking
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.trainer.coordinator.running_job import steps_to
from cprsim.trainer.data import Data
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.store import MOST_DELTAS
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.support import TRAINER
from cprsim.trainer.validation.calibration import Calibration

#: Batches in which it is counted where updates go.
_LOOKED_AT = 100


def is_predictable(plan: Plan) -> bool:
    """Whether what a rehearsal measures is all that the runs of this plan cost."""
    one = len(plan.schedules) == 1 and plan.schedules[0].save.blocking
    return one and plan.copies is None


def check_predictable(section: TrainerSection, trainers: int, plans: Mapping[str, Plan]) -> None:
    """Raise `ScenarioError` with all that stands against predicting real runs of these plans."""
    found = []
    if section.failures != "at-step":
        found.append(
            f"trainer.failures: {section.failures!r} strikes at other steps than a simulation "
            'does; write failures = "at-step" to validate'
        )
    for manner in ("hangs", "saving", "loading"):
        share = getattr(section, manner)
        if share:
            found.append(f"trainer.{manner}: {share:g} is in no simulation; write 0 to validate")
    if trainers != 1:
        found.append(f"cluster.trainers: {trainers} can't be validated yet; give 1")
    for name, plan in plans.items():
        TRAINER.check_plan(name, plan, lambda: plans)
        if not is_predictable(plan):
            found.append(
                f"policies.{name}: can't be validated yet; choose a policy with one schedule of "
                "saves that training waits for, and no copies"
            )
    if found:
        raise ScenarioError(*found)


def tracking_of(plans: Mapping[str, Plan]) -> Tracking | None:
    """The tracker to calibrate with: that of the first plan that has one."""
    return next((plan.tracking for plan in plans.values() if plan.tracking is not None), None)


def period_of(plan: Plan, nominal_step_s: float) -> int | None:
    """Steps from one save to the next, as the real trainer has it; None if there are no saves."""
    period_s = plan.schedules[0].period_s
    return None if period_s == math.inf else steps_to(period_s, nominal_step_s)


def updates_by_server(data: Data, servers: int) -> list[float]:
    """Share of the updates of rows that each server gets, counted in the first samples."""
    placement = Placement(tuple(table.rows for table in data.tables), servers)
    counts = np.zeros(servers)
    for step in range(min(_LOOKED_AT, data.steps)):
        on = placement.ids(data.batch(step).sparse).ravel() % servers
        counts += np.bincount(on, minlength=servers)
    shares: list[float] = (counts / counts.sum()).tolist()
    return shares


def calibrated(
    scenario: Scenario,
    plans: Mapping[str, Plan],
    steps: int,
    calibration: Calibration,
    updates: Sequence[float],
) -> Scenario:
    """The scenario on this machine: its costs, the time its steps take, saves on whole steps.

    `updates`: how those of rows spread over the servers (`updates_by_server`). Failures are left
    out; simulations of it are given those that the real run meets.
    """
    step_s = calibration.step_s
    nominal_s = scenario.job.useful_time_s / steps
    never = steps + 1
    mapping = scenario.mapping()
    mapping["job"]["useful_time"] = format_exact(steps * step_s, SECONDS)
    mapping["job"].pop("network", None)  # the measured step has it
    mapping["cluster"] |= {"spares": 0, "updates": list(updates)}
    mapping["costs"] = calibration.costs
    mapping["failures"] = {"exactly": 0, "while_waiting": False}
    given = mapping["policies"]
    mapping["policies"] = {
        name: _resolved(given[name], plan, period_of(plan, nominal_s) or never, step_s)
        | _of_tracking(scenario, plan)
        for name, plan in plans.items()
    }
    return Scenario(**mapping)


def _resolved(policy: Mapping[str, Any], plan: Plan, period: int, step_s: float) -> dict[str, Any]:
    """The policy at the interval that its plan comes to in whole steps."""
    interval = format_exact(period * step_s / plan.schedules[0].save.portion, SECONDS)
    if plan.recovery == "full":  # what CPR decides for where partial recovery doesn't pay
        return {"system": "full", "interval": interval}
    return {**policy, "interval": interval}


def _of_tracking(scenario: Scenario, plan: Plan) -> dict[str, Any]:
    """What is to be said of a plan whose saves are of chosen rows."""
    if plan.tracking is None:
        return {}
    merge_after = _merge_after(scenario, plan, plan.tracking)
    return {"slowdown": 0.0, "merge_after": merge_after}  # the measured step has the slowdown


def _merge_after(scenario: Scenario, plan: Plan, tracking: Tracking) -> int:
    """How many saves the store appends until it merges them; rows that nobody used are in none."""
    model, samples = scenario.model, scenario.job.samples
    assert model is not None
    assert model.rows is not None
    assert samples is not None
    period = plan.schedules[0].period_s / scenario.job.useful_time_s
    seen = np.array([samples * period / tracking.subsample])
    chosen = min(float(model.rows.modified_share(seen)[0]), tracking.fraction)
    return math.floor(MOST_DELTAS / model.saved_share(chosen)) + 1
