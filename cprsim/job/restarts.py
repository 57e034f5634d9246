"""Restarts in place, as they are drawn: how long each takes, and which fail (rule 40).

And how long the group of processes takes to form again (rule 42).
"""

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, CohortDraws


def restart_tries(seed: int, cohort: int) -> CohortDraws:
    """Return numbers from 0 to 1 that decide which restarts in place of a cohort fail."""
    return CohortDraws(lambda rng, size: rng.random(size), seed, cohort, Cause.RESTART_FAILS)


def restart_times(law: Distribution, seed: int, cohort: int) -> CohortDraws:
    """Return how long the restarts in place of a cohort take, s."""
    return CohortDraws(law.sample, seed, cohort, Cause.RESTART)


def regroup_times(law: Distribution, seed: int, cohort: int) -> CohortDraws:
    """Return how long the group of processes takes to form again, s, by failure of a cohort."""
    return CohortDraws(law.sample, seed, cohort, Cause.REGROUP)
