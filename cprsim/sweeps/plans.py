"""What is planned of a point: each policy's plan and engine, and which policies have none."""

import json
import math
from dataclasses import dataclass
from functools import lru_cache

from cprsim.analytic.expected import loses_nothing
from cprsim.errors import CprsimError, LogError, PlanError, PolicyError, UsageError
from cprsim.runs.engines import Engine, chosen
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario


@dataclass(frozen=True)
class PointPlan:
    """A policy's plan at a point, as it is stored.

    `unmet_s`: as in `Plan`. `lossless`: whether no failure takes any learning for good. `basis`:
    what measures rest on.
    """

    policy: str
    system: str
    recovery: str
    interval_s: float
    unmet_s: float
    lossless: bool
    basis: Basis


@dataclass(frozen=True)
class Planned:
    """The scenario of a point: the plans of its policies, and which engine plays which.

    `rows`: of all policies. `errors`: why those without an engine are not played.
    """

    scenario: Scenario
    rows: tuple[PointPlan, ...]
    engines: dict[str, Engine]
    errors: dict[str, str]


@lru_cache(maxsize=8)  # blocks of one point come one after the other
def planned(text: str, policies: tuple[str, ...], engine: str) -> Planned:
    """Of a point's scenario, as JSON.

    What may pass (a file that can't be read, an error in code of the user's) is raised.
    """
    scenario = Scenario.read(json.loads(text))
    errors = _unplanned(scenario)
    rows = tuple(_row(scenario, name, is_planned=name not in errors) for name in policies)
    engines: dict[str, Engine] = {}
    for name in policies:
        try:
            engines |= {} if name in errors else chosen(scenario, [name], engine)
        except UsageError as error:
            errors[name] = str(error)
    return Planned(scenario, rows, engines, errors)


def _unplanned(scenario: Scenario) -> dict[str, str]:
    """Why policies have no plan."""
    faults = scenario.plan_faults()
    for fault in faults.values():
        if fault.error is not None and _may_pass(fault.error):
            raise fault.error
    return {name: str(PlanError(*fault.texts)) for name, fault in faults.items()}


def _may_pass(error: Exception) -> bool:
    """Whether a file is at fault, or what code of the user's raised that is no answer."""
    raised = error.__cause__ if isinstance(error, PolicyError) else error
    is_answer = raised is None or isinstance(raised, (CprsimError, ValueError))
    return isinstance(raised, LogError) or not is_answer


def _row(scenario: Scenario, policy: str, *, is_planned: bool) -> PointPlan:
    system = scenario.policies[policy].system
    if not is_planned:
        unknown = Basis(*[math.nan] * 6)
        return PointPlan(policy, system, "", math.nan, math.nan, lossless=False, basis=unknown)
    plan = scenario.plan(policy)
    return PointPlan(
        policy,
        system,
        plan.recovery,
        float(plan.interval_s),
        float(plan.unmet_s),
        loses_nothing(plan, scenario.context),
        Basis.of(scenario, policy),
    )
