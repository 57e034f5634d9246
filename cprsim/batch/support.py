"""Scenarios and policies that the compiled engine can play, known without loading it."""

from collections.abc import Iterable

from cprsim.contract.plan import user_code
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort, ReplayCohort
from cprsim.machine import codes
from cprsim.scenario import Scenario


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Return why a policy can't be played, or None."""
    return refusals(scenario, [policy])[policy]


def refusals(scenario: Scenario, policies: Iterable[str]) -> dict[str, str | None]:
    """Return why each policy can't be played, or None."""
    if source_of(scenario) is None:
        kind = type(scenario.failure_model.process.cohort(0, 0)).__name__
        return dict.fromkeys(policies, f"the compiled engine does not know failures of kind {kind}")
    return {name: user_code(scenario.plan(name)) for name in policies}


def source_of(scenario: Scenario) -> int | None:
    """Return the source of failures of a scenario, or None for one that the engine lacks."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    if isinstance(cohort, RenewalCohort):
        return codes.RENEWAL
    if isinstance(cohort, InstantCohort | ReplayCohort):
        return codes.ABSOLUTE
    if not isinstance(cohort, NodeCohort):
        return None
    shared = cohort.bursts is not None or cohort.severities is not None
    return codes.SHARED if shared else codes.LIVES
