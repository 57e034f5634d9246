"""The job that is asked about, of tables that may name no policies."""

from typing import Any

from cprsim.scenario import Scenario
from cprsim.scenario.mapping import scenario_tables

_ANY = {"any": {"system": "full"}}


def job_of(mapping: dict[str, Any]) -> Scenario:
    """The scenario of a file's tables, of which `[policies]` may be left out.

    Raises
    ------
    ScenarioError
        With every fault.
    """
    tables = scenario_tables(mapping)
    if "policies" in tables:
        return Scenario(**tables)
    return Scenario(**tables, policies=_ANY).with_policies({})
