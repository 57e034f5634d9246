"""Play the jobs of a fleet under its policies."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial

import numpy as np

from cprsim.basics.machine import check_memory
from cprsim.basics.streams import COHORT
from cprsim.runs.engines import Engine, attempt, chosen, prepare
from cprsim.runs.fleet import Fleet
from cprsim.runs.fleet_result import FleetResult
from cprsim.runs.measures import Basis
from cprsim.runs.runner import Progress, Values, check_arguments, map_tasks, updating
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

#: Columns of a job under a policy that the simulation does not have.
OF_THE_JOB = ("interval_s", "fell_back", *Basis._fields)
_BLOCK = COHORT  # jobs of a task: they draw from the same streams


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
    same whatever their number. A job that makes no progress under some policy is left out under all
    of them, and counted (`FleetResult.given_up`).

    Returns
    -------
    FleetResult
        A row a policy and job, and the percentiles of the jobs' overheads.

    Raises
    ------
    ScenarioError
        For a policy that the fleet doesn't have, and for a job that can't be.
    UsageError
        For arguments that make no sense.
    RunError
        If every job makes no progress under some policy, or a worker process dies.

    Examples
    --------
    >>> fleet = cprsim.load_fleet("production-fleet")
    >>> result = cprsim.run_fleet(fleet, ["full"], replications=5, engine="sim")
    >>> len(result.replications)
    5
    """
    names = fleet.select(policies)
    check_arguments(replications, seed, workers)
    engines = chosen(fleet.example, names, engine, replications)
    alike: Engine = "batch" if set(engines.values()) == {"batch"} else "sim"
    prepare([alike], engine)
    columns = len(names) * (len(COLUMNS) + len(OF_THE_JOB))
    check_memory(replications * columns * 8, f"replications {replications:,}: rows of so many jobs")
    values = np.empty((replications, len(names), len(COLUMNS) + len(OF_THE_JOB)))
    blocks = [range(i, min(i + _BLOCK, replications)) for i in range(0, replications, _BLOCK)]
    task = partial(play, fleet, names, seed=seed, engine=alike)
    with closing(map_tasks(task, blocks, workers)) as results:
        for block, found in updating(progress, replications, results, len):
            values[block.start : block.stop] = found
    told = (*COLUMNS, *OF_THE_JOB)
    return FleetResult.of_jobs(fleet, names, values, told, seed=seed, engine=alike)


def play(
    fleet: Fleet, policies: Sequence[str], jobs: Iterable[int], seed: int, engine: Engine = "sim"
) -> Values:
    """Play jobs, given by number, under the named policies.

    Returns an array of shape (jobs, policies, len(COLUMNS) + len(OF_THE_JOB)); not a number where
    a job makes no progress.
    """
    jobs = list(jobs)
    parts = [(each, [job]) for job, each in zip(jobs, fleet.jobs(seed, jobs), strict=True)]
    values = attempt(parts, dict.fromkeys(policies, engine), seed)
    beside = [[_of_the_job(scenario, policy) for policy in policies] for scenario, _ in parts]
    return np.concatenate([values, beside], axis=2)


def _of_the_job(scenario: Scenario, policy: str) -> list[float]:
    plan = scenario.plan(policy)
    return [plan.interval_s, plan.note is not None, *Basis.of(scenario, policy)]
