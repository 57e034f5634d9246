"""Predictions of real runs by a simulation with this machine's costs.

Calibrated are the time of a step and what saves and recoveries take (`calibration`). Steps,
intervals, failures and rows are the scenario's own.

Failures are pinned to steps, on a clock on which only training takes time (`Strikes`). A
simulator strikes on the wall clock, on which saves, loads and replacements take time too, other
times under each policy. So each failure is put at the instant at which the simulated job has
trained as many steps.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Plan
from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES
from cprsim.errors import ScenarioError
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline, Cursor
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import play_against
from cprsim.sim.observer import Observer
from cprsim.trainer.data import Data
from cprsim.trainer.lab.model import Placement
from cprsim.trainer.lab.strikes import step_of
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.support import LAB
from cprsim.trainer.validation.calibration import (
    ONE_SERVER,
    Calibration,
    at_interval,
    kinds,
    lost,
    of_job,
    period_of,
)
from cprsim.trainer.validation.in_process import gradient_directions

OVERHEAD = "overhead"
#: What a ledger and a real run count alike.
COUNTS = ("pls", "updates_lost", "failures")
#: Batches in which it is counted where updates go.
_LOOKED_AT = 100


class Kill(NamedTuple):
    """A failure that strikes once `executed` steps have been trained, rolled back or not."""

    executed: int
    hit: Hit


def pinned(
    scenario: Scenario, policy: str, step_s: float, cursor: Cursor, cursor_step_s: float
) -> tuple[list[Kill], AbsoluteTimeline]:
    """Return the failures of a policy's job by steps, and the timeline of its simulation.

    `scenario`, `policy`: the simulated job, which saves on whole steps. `step_s`: useful time of a
    step in that scenario, s. `cursor`: of the failures, on a clock of training alone; it is used
    up. `cursor_step_s`: time of a step on that clock, s.
    """
    executed = 0
    kills: list[Kill] = []
    timeline = AbsoluteTimeline([], [])
    while cursor.next_s < math.inf:
        due = max(step_of(cursor.next_s, cursor_step_s), executed)
        spans = _Spans()
        play_against(scenario, policy, timeline, spans)
        at_s = spans.instant(due, step_s, timeline.times_s[-1] if kills else 0.0)
        if at_s is None:
            break
        executed = due
        now_s = max(executed * cursor_step_s, cursor.next_s)
        kills.append(Kill(executed, cursor.strike()))
        timeline = AbsoluteTimeline([*timeline.times_s, at_s], [each.hit for each in kills])
        cursor.replace(kills[-1].hit, now_s)
        cursor.resume(now_s)
    return kills, timeline


class _Spans(Observer):
    """The spans of a simulated job."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, float, float]] = []

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        self._spans.append((cause, start_s, end_s))

    def instant(self, steps: int, step_s: float, since_s: float) -> float | None:
        """Return when training continues after so many steps, not before `since_s`.

        None if the job ends first. A save after these steps is stored by then. It is the very
        number that a span begins with, so that both fall on the same instant.
        """
        done = 0
        found = None
        for cause, start_s, end_s in self._spans:
            trained = round((end_s - start_s) / step_s) if cause == "train" else 0
            if found is None and start_s >= since_s and done <= steps < done + trained:
                found = start_s + (steps - done) * step_s
            done += trained
        return found if steps < done else None


def quantities(
    seconds: Mapping[str, float], counts: Mapping[str, Any], lost_steps: float
) -> dict[str, float]:
    """Return all that is compared of a run, predicted or measured.

    Seconds by cause and of all overhead, then counts: pls, updates_lost, failures, and
    `lost_steps`, the steps that were trained again.
    """
    found = {cause: seconds[cause] for cause in CAUSES}
    found[OVERHEAD] = math.fsum(seconds[cause] for cause in OVERHEAD_CAUSES)
    return found | {what: counts[what] for what in COUNTS} | {"lost_steps": lost_steps}


class Prediction(NamedTuple):
    """The prediction of one policy's run.

    `period`: steps from one save to the next; None if there are none. `kills`: the failures that
    it meets. `quantities`: as the function of that name has them.
    """

    system: str
    period: int | None
    kills: Sequence[Kill]
    quantities: Mapping[str, float]

    def document(self) -> dict[str, Any]:
        """Return what is written down of it before anything is trained."""
        of = dict(self.quantities)
        return {
            "system": self.system,
            "period_steps": self.period,
            "kills": [
                {"step": kill.executed, "servers": kill.hit.servers, "trainers": kill.hit.trainers}
                for kill in self.kills
            ],
            "predicted": {cause: of.pop(cause) for cause in CAUSES},
            "overhead_s": of.pop(OVERHEAD),
            **of,
        }


class Predicted(NamedTuple):
    """The predictions of some policies' runs, by name; `scenario` is the simulated one."""

    scenario: Scenario
    seed: int
    calibrations: Mapping[str, Calibration]
    of: Mapping[str, Prediction]

    def content(self) -> bytes:
        """Return all of it as canonical JSON (keys in order, no spaces), which is hashed."""
        document = {
            "scenario": self.scenario.title,
            "seed": self.seed,
            "calibrations": {name: vars(each) for name, each in self.calibrations.items()},
            "policies": {name: each.document() for name, each in self.of.items()},
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return text.encode()

    @property
    def sha256(self) -> str:
        """The hash of its content."""
        return hashlib.sha256(self.content()).hexdigest()


def is_predictable(plan: Plan, hits: Sequence[Hit] = (ONE_SERVER,)) -> bool:
    """Return whether a rehearsal measures all costs of runs of this plan.

    `hits`: who fails at once.
    """
    if LAB.lacks(plan) or len(plan.schedules) != 1:
        return False
    if plan.schedules[0].save.blocking:
        return True
    # A lost trainer is always waited for.
    answers = [plan.recover(lost(servers)) for servers in (1, *filter(None, kinds(hits)))]
    alike = len({each.rollback for each in answers}) == 1
    return plan.sequence is None and plan.schedules[0].max_pending == 1 and alike


def check_predictable(
    section: TrainerSection, plans: Mapping[str, Plan], hits: Sequence[Hit] = (ONE_SERVER,)
) -> None:
    """Raise `ScenarioError` with all reasons why real runs of these plans can't be predicted."""
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
    for name, plan in plans.items():
        LAB.check_plan(name, plan, lambda: plans)
        if not is_predictable(plan, hits):
            found.append(
                f"policies.{name}: can't be validated yet; choose a policy with one schedule, all "
                "of whose saves are alike, at most one under way at a time, and with one answer to "
                "all failures of servers"
            )
    if found:
        raise ScenarioError(*found)


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
    check_predictable(section, plans, of_job(scenario, seed))
    data = section.data(scenario, seed)
    by_change = any(plan.tracking and plan.tracking.tracker == "scar" for plan in plans.values())
    directions = gradient_directions(data, section) if by_change else None
    found = {}
    nominal_s = scenario.job.useful_time_s / data.steps
    for name, plan in plans.items():
        calibration = calibrations[name]
        played = calibrated(scenario, {name: plan}, data, calibrations, directions)
        cursor = cursor_of(scenario.failure_model.timeline(seed, 0))
        kills, timeline = pinned(played, name, calibration.step_s, cursor, nominal_s)
        ledger = play_against(played, name, timeline)
        seconds = {cause: getattr(ledger, cause) for cause in CAUSES}
        if plan.recover(lost(1)).rollback != "all":  # then only the trainer loads, its dense part
            alone = sum(not kill.hit.servers for kill in kills)
            seconds["load"] += alone * calibration.load_trainer_s
        counts = {what: getattr(ledger, what) for what in COUNTS}
        found[name] = Prediction(
            system=played.policies[name].system,
            period=period_of(plan, nominal_s),
            kills=kills,
            quantities=quantities(seconds, counts, round(ledger.lost / calibration.step_s)),
        )
    together = calibrated(scenario, plans, data, calibrations, directions)
    return Predicted(together, seed, calibrations, found)


def calibrated(
    scenario: Scenario,
    plans: Mapping[str, Plan],
    data: Data,
    calibrations: Mapping[str, Calibration],
    directions: int | None = None,
) -> Scenario:
    """The scenario on this machine: its costs, the time its steps take, saves on whole steps.

    Costs that policies share are means of what their rehearsals measured. Failures are left out;
    simulations of it are given those that the real run meets. `directions`: those of a row's
    gradients, if SCAR is to choose by them.
    """
    of = {name: calibrations[name] for name in plans}
    step_s, steps = fmean(each.step_s for each in of.values()), data.steps
    nominal_s = scenario.job.useful_time_s / steps
    servers = scenario.cluster.parameter_servers
    mapping = scenario.mapping()
    mapping["job"]["useful_time"] = format_exact(steps * step_s, SECONDS)
    mapping["job"].pop("network", None)  # the measured step has it
    updates = Placement.of(data, servers).updates(data, min(_LOOKED_AT, steps))
    shares = updates.sum(axis=0) / updates.sum()
    mapping["cluster"] |= {"spares": 0, "updates": shares.tolist()}
    if scenario.model is not None and scenario.model.tables is not None:
        mapping["model"] |= {"optimizer_rule": "adagrad", "batch": len(data.batch(0).labels)}
        if directions is not None:
            mapping["model"]["gradient_directions"] = directions
        for table, of_table in zip(mapping["model"]["tables"], updates, strict=True):
            table["updates"] = np.maximum(of_table, 1.0).tolist()  # some have had none yet
    costs_s = _costs(plans, of)
    mapping["costs"] = {name: format_exact(cost_s, SECONDS) for name, cost_s in costs_s.items()}
    mapping["failures"] = {"exactly": 0, "while_waiting": False}
    each_rows = sum(table.rows for table in data.tables) / servers
    given = mapping["policies"]
    mapping["policies"] = {
        name: at_interval(given[name], plan, (period_of(plan, nominal_s) or steps + 1) * step_s)
        | _of_saves(scenario, plan, of[name], costs_s["save"], each_rows)
        for name, plan in plans.items()
    }
    return Scenario(**mapping)


def _costs(plans: Mapping[str, Plan], of: Mapping[str, Calibration]) -> dict[str, float]:
    """The block `[costs]`, s."""
    saves: list[float] = []
    loads: dict[str, list[float]] = {"load_full": [], "load_partial": []}
    for name, plan in plans.items():
        if plan.schedules[0].save.blocking and plan.tracking is None:
            saves.append(of[name].save_s)
        full = plan.recover(lost(1)).rollback == "all"
        loads["load_full" if full else "load_partial"].append(of[name].load_s)
    every = [load_s for each in loads.values() for load_s in each]
    return {
        "save": fmean(saves) if saves else 0.0,
        **{name: fmean(loads_s or every) for name, loads_s in loads.items()},
        "reschedule": fmean(each.reschedule_s for each in of.values()),
        "detect": fmean(each.detect_s for each in of.values()),
    }


def _of_saves(
    scenario: Scenario, plan: Plan, calibration: Calibration, whole_s: float, rows: float
) -> dict[str, Any]:
    """Return the policy's keys of its saves; `rows`: of a server."""
    if not plan.schedules[0].save.blocking:
        return {"snapshot": format_exact(calibration.save_s, SECONDS)}
    tracking = plan.tracking
    if tracking is None:
        return {}
    assert scenario.model is not None
    saved = scenario.model.saved_share(tracking.fraction)
    writes = min((calibration.rows or rows) / rows / saved, 1.0)
    select_s = max(calibration.save_s - whole_s * saved * writes, 0.0)
    return {
        "slowdown": 0.0,  # the measured step has it
        "writes": writes,
        "select": format_exact(select_s, SECONDS),
    }
