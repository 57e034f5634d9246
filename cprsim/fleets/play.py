"""Play the jobs of a fleet under its policies."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial

import numpy as np

from cprsim.basics.machine import check_memory
from cprsim.errors import RunError, UsageError
from cprsim.fleets.fleet import Fleet
from cprsim.fleets.result import FleetResult
from cprsim.runs.measures import Basis
from cprsim.runs.runner import Progress, Values, check_arguments, map_tasks
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate

#: Of a job under a policy, beside what the simulation tells.
OF_THE_JOB = ("interval_s", "fell_back", *Basis._fields)
_BLOCK = 64  # jobs of a task


def run_fleet(
    fleet: Fleet,
    policies: Sequence[str] | None = None,
    replications: int = 1000,
    seed: int = 0,
    engine: str = "auto",
    workers: int = 1,
    progress: Progress | None = None,
) -> FleetResult:
    """Play jobs of a fleet, each once, all policies of a job on the same failure timeline.

    Parameters are those of `cprsim.run`; `replications` is the number of jobs, and job i is the
    same whatever their number. A job that gets nowhere under some policy is left out under all of
    them, and counted (`FleetResult.given_up`).

    Raises
    ------
    ScenarioError
        For a policy that the fleet doesn't have, and for a job that can't be.
    UsageError
        For arguments that make no sense.
    RunError
        If every job gets nowhere under some policy, or a worker process dies.
    """
    names = fleet.select(policies)
    check_arguments(replications, seed, workers)
    if engine not in ("auto", "sim"):
        raise UsageError(f"engine {engine!r}: jobs of a fleet are played by auto or sim")
    columns = len(names) * (len(COLUMNS) + len(OF_THE_JOB))
    check_memory(replications * columns * 8, f"replications {replications:,}: rows of so many jobs")
    values = np.empty((replications, len(names), len(COLUMNS) + len(OF_THE_JOB)))
    blocks = [range(i, min(i + _BLOCK, replications)) for i in range(0, replications, _BLOCK)]
    done = 0
    with closing(map_tasks(partial(play, fleet, names, seed=seed), blocks, workers)) as results:
        for block, found in results:
            values[block.start : block.stop] = found
            done += len(block)
            if progress is not None:
                progress(done, replications)
    return FleetResult.of_jobs(fleet, names, values, (*COLUMNS, *OF_THE_JOB), seed=seed)


def play(fleet: Fleet, policies: Sequence[str], jobs: Iterable[int], seed: int) -> Values:
    """Play jobs, given by number, under the named policies.

    Returns an array of shape (jobs, policies, len(COLUMNS) + len(OF_THE_JOB)); not a number where
    a job gets nowhere.
    """
    jobs = list(jobs)
    pairs = zip(jobs, fleet.jobs(seed, jobs), strict=True)
    return np.array([_job(scenario, policies, job, seed) for job, scenario in pairs])


def _job(scenario: Scenario, policies: Sequence[str], job: int, seed: int) -> Values:
    try:
        values = simulate(scenario, policies, [job], seed)[0]
    except RunError:  # under one of them
        values = np.array([_alone(scenario, policy, job, seed) for policy in policies])
    plans = [(name, scenario.plan(name)) for name in policies]
    beside = [
        [plan.interval_s, plan.note is not None, *Basis.of(scenario, name)] for name, plan in plans
    ]
    return np.hstack([values, beside])


def _alone(scenario: Scenario, policy: str, job: int, seed: int) -> Values:
    try:
        values: Values = simulate(scenario, [policy], [job], seed)[0, 0]
    except RunError:
        return np.full(len(COLUMNS), np.nan)
    return values
