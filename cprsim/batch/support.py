"""Scenarios and policies that the compiled engine can play, known without loading it."""

from collections.abc import Iterable

from cprsim.contract import Answers, Chains, Differences, Growing, Learned, Plan, Rotations
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort, ReplayCohort
from cprsim.machine import codes
from cprsim.scenario import Scenario

_SEQUENCES = (Chains, Growing, Learned, Rotations, Differences)


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Return why a policy can't be played, or None."""
    return refusals(scenario, [policy])[policy]


def refusals(scenario: Scenario, policies: Iterable[str]) -> dict[str, str | None]:
    """Return why each policy can't be played, or None."""
    if source_of(scenario) is None:
        kind = type(scenario.failure_model.process.cohort(0, 0)).__name__
        return dict.fromkeys(policies, f"the compiled engine does not know failures of kind {kind}")
    return {name: _of_plan(scenario.plan(name)) for name in policies}


def _of_plan(plan: Plan) -> str | None:
    if type(plan).start is not Plan.start:
        return "its own controller decides while the job runs"
    if type(plan.recover).__call__ is not Answers.__call__:
        return "its rule for losses is user code"
    if plan.sequence is not None and type(plan.sequence) not in _SEQUENCES:
        return "its sequence of saves is user code"
    if len(plan.schedules) > codes.TIERS:
        return f"it saves to {len(plan.schedules)} tiers, more than {codes.TIERS}"
    return None


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
