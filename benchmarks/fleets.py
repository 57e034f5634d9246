"""Processor time to resolve a job of a fleet: draw, validate and plan it under each policy."""

import time
from collections.abc import Callable

from cprsim.basics.streams import COHORT
from cprsim.failures.shared import SharedDraws
from cprsim.runs.fleet import Fleet, load_fleet
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of

_JOBS, _ROUNDS = 1_024, 5


def rows() -> list[tuple[str, ...]]:
    """Measure jobs of scenarios/production-fleet.toml under its three policies."""
    fleet = load_fleet("scenarios/production-fleet.toml")
    names = fleet.select(None)
    jobs = list(fleet.jobs(0, range(_JOBS)))
    work: dict[str, Callable[[], object]] = {
        "values drawn": lambda: list(fleet.draws(0, range(_JOBS))),
        "resolved: drawn, validated, planned": lambda: _resolve(fleet, names),
        "its first failures, drawn for it alone": lambda: _draw(jobs, None),
        "its first failures, of draws that jobs share": lambda: _draw(jobs, SharedDraws()),
    }
    return [(what, f"{_best_us(done):,.0f}") for what, done in work.items()]


def _resolve(fleet: Fleet, names: list[str]) -> None:
    for job in fleet.jobs(0, range(_JOBS)):
        for name in names:
            Basis.of(job, name)


def _draw(jobs: list[Scenario], shared: SharedDraws | None) -> None:
    for number, job in enumerate(jobs):
        cohort, row = divmod(number, COHORT)
        failures = job.failure_model.process.cohort(0, cohort, shared)
        cursor_of(failures.timeline(row)).strike()


def _best_us(work: Callable[[], object]) -> float:
    """Return microseconds a job, the best of several rounds."""
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e6 * min(times) / _JOBS
