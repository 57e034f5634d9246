"""Replications of a scenario: one failure timeline each, played under every policy."""

from collections.abc import Iterable, Sequence

import numpy as np
import simpy
from numpy.typing import NDArray

from cprsim.distributions import Distribution
from cprsim.failures.timeline import Cursor, Draws
from cprsim.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.job import JobRun
from cprsim.sim.observer import Observer
from cprsim.sim.recovery import Delays
from cprsim.sim.setting import Setting
from cprsim.streams import Cause

#: Columns of one replication under one policy, in the order of `simulate`'s last axis.
COLUMNS: tuple[str, ...] = tuple(Ledger.__dataclass_fields__)
#: Which numbers the same scenario and seed give. A change of the simulation, of plans, costs or
#: streams that moves any raises it: what is stored under another version can't go on (`sweeps`).
MODEL_VERSION = 1


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Iterable[int], seed: int
) -> NDArray[np.float64]:
    """Play the given replications (by number) under the named policies.

    Returns an array of shape (replications, policies, len(COLUMNS)). What a replication gives
    depends on the seed and its number alone: not on the other replications, nor on the policies.
    """
    settings = [Setting.of(scenario, name) for name in policies]
    rows = []
    for number in replications:
        timeline = scenario.failure_model.timeline(seed, number)
        delays = _delays(scenario, seed, number)
        for each in settings:
            ledger = _run(each, timeline.cursor(), delays)
            rows.append([getattr(ledger, column) for column in COLUMNS])
    return np.asarray(rows, dtype=np.float64).reshape(-1, len(settings), len(COLUMNS))


def play(
    scenario: Scenario, policy: str, seed: int, replication: int, observer: Observer | None = None
) -> Ledger:
    """One replication under one policy, watched by `observer`."""
    cursor = scenario.failure_model.timeline(seed, replication).cursor()
    return _run(
        Setting.of(scenario, policy), cursor, _delays(scenario, seed, replication), observer
    )


def _run(each: Setting, cursor: Cursor, delays: Delays, observer: Observer | None = None) -> Ledger:
    env = simpy.Environment()
    run = JobRun(env, each, cursor, delays, observer)
    env.run(until=env.process(run.process()))
    return run.ledger()


def _delays(scenario: Scenario, seed: int, replication: int) -> Delays:
    delay = scenario.costs.reschedule
    if isinstance(delay, Distribution):
        return Draws(delay, seed, replication, Cause.RESCHEDULE)
    return _Always(delay)


class _Always:
    """The same delay after every failure."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    def __getitem__(self, _index: int) -> float:
        return self._delay_s
