"""What it takes to resolve a job of a fleet: drawn, validated, planned under each policy."""

import time
from collections.abc import Callable
from typing import NamedTuple

from cprsim.basics.streams import COHORT
from cprsim.failures.shared import SharedDraws
from cprsim.runs.fleet import Fleet, load_fleet
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.sim.plan_costs import PlanCosts

_JOBS, _ROUNDS = 1_024, 5


class Cost(NamedTuple):
    """Processor time of a job."""

    what: str
    job_us: float


def production() -> list[Cost]:
    """Of scenarios/production-fleet.toml, under its three policies; the best of several."""
    fleet = load_fleet("scenarios/production-fleet.toml")
    names = fleet.select(None)
    jobs = list(fleet.jobs(0, range(_JOBS)))
    return [
        Cost("values drawn", _best(lambda: list(fleet.draws(0, range(_JOBS))))),
        Cost("resolved: drawn, validated, planned", _best(lambda: _resolve(fleet, names))),
        Cost("its first failures, drawn for it alone", _best(lambda: _draw(jobs, None))),
        Cost(
            "its first failures, of draws that jobs share",
            _best(lambda: _draw(jobs, SharedDraws())),
        ),
    ]


def _resolve(fleet: Fleet, names: list[str]) -> None:
    for job in fleet.jobs(0, range(_JOBS)):
        for name in names:
            Basis.of(job, name)
            PlanCosts(job, name)


def _draw(jobs: list[Scenario], shared: SharedDraws | None) -> None:
    more = () if shared is None else (shared,)
    for number, job in enumerate(jobs):
        cohort, row = divmod(number, COHORT)
        failures = job.failure_model.process.cohort(0, cohort, *more)
        cursor_of(failures.timeline(row)).strike()


def _best(work: Callable[[], object]) -> float:
    """Microseconds a job."""
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e6 * min(times) / _JOBS
