"""Scenarios and policies that the compiled engine can play, known without loading it."""

from collections.abc import Iterable

from cprsim.contract.plan import user_code
from cprsim.machine import codes
from cprsim.scenario import Scenario
from cprsim.sim.draws import source_of


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Return why a policy can't be played, or None."""
    return refusals(scenario, [policy])[policy]


def refusals(scenario: Scenario, policies: Iterable[str]) -> dict[str, str | None]:
    """Return why each policy can't be played, or None."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    if source_of(cohort) == codes.OTHER:
        kind = type(cohort).__name__
        return dict.fromkeys(policies, f"the compiled engine does not know failures of kind {kind}")
    return {name: user_code(scenario.plan(name)) for name in policies}
