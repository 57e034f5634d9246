"""What is planned of a point: each policy's plan and engine, and who fails before it is played."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cprsim.analytic.expected import loses_nothing
from cprsim.errors import RunError
from cprsim.runs.engines import Engine, chosen
from cprsim.runs.hopeless import first_part
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.scenario.sections import validated
from cprsim.sweeps.played import PolicyPlan


@dataclass(frozen=True)
class PlanRow(PolicyPlan):
    """A policy's plan as it is stored, with what measures rest on."""

    basis: Basis


@dataclass(frozen=True)
class Planned:
    """The scenario of a point: the plans of its policies, and which engine plays which.

    `rows`: of all policies. `errors`: why those without an engine are not played.
    """

    scenario: Scenario
    rows: tuple[PlanRow, ...]
    engines: dict[str, Engine]
    errors: dict[str, str]


@lru_cache(maxsize=8)  # blocks of one point come one after the other
def planned(text: str, policies: tuple[str, ...], engine: str, seed: int) -> Planned:
    """Of a point's scenario, as JSON; a second at most for each policy that gets nowhere."""
    mapping = json.loads(text)
    own = mapping.pop("policies")
    parts = {name: _validated(name, table) for name, table in mapping.items()}
    parts["policies"] = {
        name: _validated("policies", {name: table})[name] for name, table in own.items()
    }
    scenario, errors = _with_plans(Scenario.read(parts))
    systems = {name: each.system for name, each in parts["policies"].items()}
    rows = tuple(
        _unplanned(name, systems[name]) if name in errors else _row(scenario, name)
        for name in policies
    )
    engines = chosen(scenario, [name for name in policies if name not in errors], engine)
    errors |= _hopeless(scenario, engines, seed)
    hopeful = {name: each for name, each in engines.items() if name not in errors}
    return Planned(scenario, rows, hopeful, errors)


def _with_plans(scenario: Scenario) -> tuple[Scenario, dict[str, str]]:
    """The scenario with those of its policies that have a plan, and why the others have none."""
    if not scenario.plan_faults():
        return scenario, {}
    alone = {n: scenario.with_policies({n: each}) for n, each in scenario.policies.items()}
    errors = {name: "\n".join(each.plan_faults()) for name, each in alone.items()}
    others = {name: each for name, each in scenario.policies.items() if not errors[name]}
    return scenario.with_policies(others), {name: text for name, text in errors.items() if text}


def _hopeless(scenario: Scenario, engines: Mapping[str, Engine], seed: int) -> dict[str, str]:
    """Why those policies get nowhere that don't come to the end of a first part."""
    errors = {}
    for name, engine in engines.items():
        try:
            first_part(scenario, name, seed, engine)
        except RunError as error:
            errors[name] = str(error)
    return errors


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


def _row(scenario: Scenario, policy: str) -> PlanRow:
    plan = scenario.plan(policy)
    return PlanRow(
        policy,
        scenario.policies[policy].system,
        plan.recovery,
        float(plan.interval_s),
        float(plan.unmet_s),
        loses_nothing(plan, scenario.context),
        Basis.of(scenario, policy),
    )


def _unplanned(policy: str, system: str) -> PlanRow:
    """Where there is no plan."""
    unknown = Basis(*[math.nan] * 6)
    return PlanRow(policy, system, "", math.nan, math.nan, lossless=False, basis=unknown)
