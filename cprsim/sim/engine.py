"""Replications of a scenario: one failure timeline each, played under every policy."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import simpy
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, CohortDraws, Draws
from cprsim.contract.ledger import Ledger
from cprsim.errors import CprsimError, RunError, told
from cprsim.failures.timeline import Cursor, Timeline
from cprsim.job.start import StartDraws, Starts
from cprsim.scenario import Scenario
from cprsim.sim.attempts import Attempts
from cprsim.sim.job import JobRun
from cprsim.sim.observer import Observer
from cprsim.sim.recovery import Delays
from cprsim.sim.resolved import ResolvedPlan

#: Columns of one replication under one policy, in the order of `simulate`'s last axis.
COLUMNS: tuple[str, ...] = tuple(Ledger.__dataclass_fields__)
#: Which numbers the same scenario and seed give. A change of the simulation, of plans, costs or
#: streams that moves any raises it, or one of `COLUMNS`: what is stored under another version can't
#: go on (`sweeps`).
MODEL_VERSION = 6


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Iterable[int], seed: int
) -> NDArray[np.float64]:
    """Play the given replications (by number) under the named policies.

    Returns an array of shape (replications, policies, len(COLUMNS)). What a replication gives
    depends on the seed and its number alone: not on the other replications, nor on the policies.
    """
    plans = [ResolvedPlan.from_scenario(scenario, name) for name in policies]
    numbers = list(replications)
    timelines = scenario.failure_model.timelines(seed, numbers)
    rows = []
    waits = zip(_delays(scenario, seed, numbers), _starts(scenario, seed, numbers), strict=True)
    for number, timeline, (delays, starts) in zip(numbers, timelines, waits, strict=True):
        for each in plans:
            attempts = Attempts(each, seed, number)
            ledger = _run(each, timeline.cursor(), attempts, delays, starts)
            rows.append([getattr(ledger, column) for column in COLUMNS])
    return np.asarray(rows, dtype=np.float64).reshape(-1, len(plans), len(COLUMNS))


def play(
    scenario: Scenario, policy: str, seed: int, replication: int, observer: Observer | None = None
) -> Ledger:
    """One replication under one policy, watched by `observer`."""
    cursor = scenario.failure_model.timeline(seed, replication).cursor()
    delays = next(_delays(scenario, seed, [replication]))
    starts = next(_starts(scenario, seed, [replication]))
    resolved = ResolvedPlan.from_scenario(scenario, policy)
    attempts = Attempts(resolved, seed, replication)
    return _run(resolved, cursor, attempts, delays, starts, observer)


def play_against(
    scenario: Scenario, policy: str, timeline: Timeline, observer: Observer | None = None
) -> Ledger:
    """One run under one policy against a timeline of the caller's.

    Replacements take the mean rescheduling delay; saves and loads fail, and starts take as long, as
    in replication 0 of seed 0.
    """
    delays = _ConstantDelay(scenario.cost_model.reschedule_mean_s)
    resolved = ResolvedPlan.from_scenario(scenario, policy)
    starts = next(_starts(scenario, 0, [0]))
    attempts = Attempts(resolved, 0, 0)
    return _run(resolved, timeline.cursor(), attempts, delays, starts, observer)


def _run(
    each: ResolvedPlan,
    cursor: Cursor,
    attempts: Attempts,
    delays: Delays,
    starts: Starts,
    observer: Observer | None = None,
) -> Ledger:
    env = simpy.Environment()
    run = JobRun(env, each, cursor, delays, attempts, starts, observer)
    try:
        env.run(until=env.process(run.process()))
    except (CprsimError, MemoryError, AssertionError):
        raise
    except Exception as error:  # of a controller or a rule for losses that somebody wrote
        raise RunError(f"policy {each.policy!r}: playing it raised {told(error)}") from error
    return run.ledger()


def _delays(scenario: Scenario, seed: int, replications: Iterable[int]) -> Iterator[Delays]:
    """Rescheduling delays of replications by number."""
    delay, known = scenario.costs.reschedule, None
    for replication in replications:
        if not isinstance(delay, Distribution):
            yield _ConstantDelay(delay)
            continue
        number, row = divmod(replication, COHORT)
        if known is None or known[0] != number:
            known = number, CohortDraws(delay.sample, seed, number, Cause.RESCHEDULE)
        yield Draws(known[1], row)


def _starts(scenario: Scenario, seed: int, replications: Iterable[int]) -> Iterator[Starts]:
    """What starts and ends take, of replications by number."""
    draws = StartDraws(scenario.costs, seed, -1)
    for replication in replications:
        number, row = divmod(replication, COHORT)
        if draws.cohort != number:
            draws = StartDraws(scenario.costs, seed, number)
        yield draws.row(row)


class _ConstantDelay:
    """The same delay after every failure."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    def __getitem__(self, _index: int) -> float:
        return self._delay_s
