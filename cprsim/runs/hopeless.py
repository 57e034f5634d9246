"""Jobs that make no progress, noticed on their first part, before anything else is played."""

from collections.abc import Iterator, Mapping

from cprsim.basics.units import format_duration
from cprsim.errors import NowhereError
from cprsim.runs.engines import Engine, simulate
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

#: Failures of a job that may be one too many.
_OFTEN = 20.0
#: And of the part of it that is tried. A run is given up after 100 times its useful time, so this
#: takes 10,000 failures, half a second.
_PART = 100.0
#: Saves of that part at most, a second.
_SAVES = 100_000.0


def without_hope(
    scenario: Scenario, engines: Mapping[str, Engine], seed: int
) -> Iterator[NowhereError]:
    """Yield the errors of policies under which the first part of a job makes no progress.

    Each takes a second at most, where runs of the job may take minutes until they are given up.
    `engines`: which plays which policy.
    """
    for name, engine in engines.items():
        try:
            first_part(scenario, name, seed, engine)
        except NowhereError as error:
            yield error


def first_part(scenario: Scenario, policy: str, seed: int, engine: Engine = "sim") -> float:
    """Return the wall time of the first part of a job, in its useful times; 1 where none is tried.

    A part is easier than the whole: no interval is longer, no failure more frequent. So a policy
    that can't end it doesn't end the job.

    Raises
    ------
    NowhereError
        If it makes no progress.
    """
    mtbf_s, useful_s = scenario.failure_model.mtbf_s, scenario.job.useful_time_s
    part_s = min(useful_s, _PART * mtbf_s)
    plan = scenario.plan(policy)
    saves = sum(each.saves_in(part_s) for each in plan.schedules)
    if useful_s < _OFTEN * mtbf_s or saves > _SAVES:
        return 1.0
    job = scenario.job.model_copy(update={"useful_time_s": part_s})
    part = scenario.model_copy(update={"job": job})
    part.plans[policy] = plan
    try:
        ledger = simulate(part, {policy: engine}, [0], seed)[0, 0]
    except NowhereError as error:
        if part_s == useful_s:
            raise
        own = f"the job gets nowhere, nor would one of {format_duration(part_s)}:"
        raise NowhereError(str(error).replace("the job gets nowhere:", own), policy) from None
    return float(ledger[COLUMNS.index("wall")] / part_s)
