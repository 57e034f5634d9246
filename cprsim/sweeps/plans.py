"""What is planned of a point: each policy's plan and engine, and which policies have none."""

import json
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cprsim.errors import CprsimError, LogError, PlanError, PolicyError, UsageError
from cprsim.formulas.expected import loses_nothing
from cprsim.runs.engines import Engine, chosen
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.scenario.sections import validated
from cprsim.sweeps.played import PolicyPlan


@dataclass(frozen=True)
class PointPlan(PolicyPlan):
    """A policy's plan as it is stored, with what measures rest on."""

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
    mapping = json.loads(text)
    own = mapping.pop("policies")
    parts = {name: _validated(name, table) for name, table in mapping.items()}
    parts["policies"] = {
        name: _validated("policies", {name: table})[name] for name, table in own.items()
    }
    scenario = Scenario.read(parts)
    errors = _unplanned(scenario)
    rows = tuple(
        _row_without_plan(scenario, name) if name in errors else _row(scenario, name)
        for name in policies
    )
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


@dataclass(frozen=True)
class _Table:
    """A table of a scenario, `text` as it is written in Python, which tells 1 from 1.0."""

    name: str
    text: str
    table: object = field(compare=False)


@lru_cache(maxsize=64)  # most points of a sweep have most of their sections in common
def _section(of: _Table) -> Any:
    return validated({of.name: of.table})[of.name]


def _validated(name: str, table: object) -> Any:
    return _section(_Table(name, repr(table), table))


def _row(scenario: Scenario, policy: str) -> PointPlan:
    plan = scenario.plan(policy)
    return PointPlan(
        policy,
        scenario.policies[policy].system,
        plan.recovery,
        float(plan.interval_s),
        float(plan.unmet_s),
        loses_nothing(plan, scenario.context),
        Basis.of(scenario, policy),
    )


def _row_without_plan(scenario: Scenario, policy: str) -> PointPlan:
    system, unknown = scenario.policies[policy].system, Basis(*[math.nan] * 6)
    return PointPlan(policy, system, "", math.nan, math.nan, lossless=False, basis=unknown)
