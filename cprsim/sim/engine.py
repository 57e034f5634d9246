"""Replications of a scenario: one failure timeline each, played under every policy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, CohortDraws, Draws
from cprsim.contract.ledger import Ledger
from cprsim.errors import CprsimError, RunError, told
from cprsim.failures.timeline import Timeline
from cprsim.job.start import StartDraws, Starts
from cprsim.scenario import Scenario
from cprsim.sim.driver import Player
from cprsim.sim.observer import Observer
from cprsim.sim.plan_costs import PlanCosts

#: Columns of one replication under one policy, in the order of `simulate`'s last axis.
COLUMNS: tuple[str, ...] = tuple(Ledger.__dataclass_fields__)
_COUNTS = ("failures", "absorbed", "saves", "corrupt")
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
    players = [_player(scenario, name) for name in policies]
    numbers = list(replications)
    timelines = scenario.failure_model.timelines(seed, numbers)
    waits = zip(_delays(scenario, seed, numbers), _starts(scenario, seed, numbers), strict=True)
    rows = [
        [_played(each, timeline, seed, number, *wait) for each in players]
        for number, timeline, wait in zip(numbers, timelines, waits, strict=True)
    ]
    return np.asarray(rows, dtype=np.float64).reshape(-1, len(players), len(COLUMNS))


def play(
    scenario: Scenario, policy: str, seed: int, replication: int, observer: Observer | None = None
) -> Ledger:
    """One replication under one policy, watched by `observer`."""
    timeline = scenario.failure_model.timeline(seed, replication)
    waits = (each(scenario, seed, [replication]) for each in (_delays, _starts))
    delays, starts = map(next, waits)
    player = _player(scenario, policy)
    return _ledger(_played(player, timeline, seed, replication, delays, starts, observer))


def play_against(
    scenario: Scenario, policy: str, timeline: Timeline, observer: Observer | None = None
) -> Ledger:
    """One run under one policy against a timeline of the caller's.

    Replacements take the mean rescheduling delay; saves and loads fail, and starts take as long, as
    in replication 0 of seed 0.
    """
    mean_s = scenario.cost_model.reschedule_mean_s
    starts = next(_starts(scenario, 0, [0]))
    player = _player(scenario, policy)
    return _ledger(_played(player, timeline, 0, 0, lambda _: mean_s, starts, observer))


def _player(scenario: Scenario, policy: str) -> Player:
    return Player(PlanCosts(scenario, policy), scenario.failure_model.nodes)


def _played(player: Player, *run: Any) -> list[float]:
    try:
        return player.play(*run)
    except (CprsimError, MemoryError, AssertionError):
        raise
    except Exception as error:  # of a controller or a rule for losses that somebody wrote
        policy = player.plan_costs.policy
        raise RunError(f"policy {policy!r}: playing it raised {told(error)}") from error


def _ledger(columns: list[float]) -> Ledger:
    values: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    return Ledger(**values | {name: int(values[name]) for name in _COUNTS})


def _delays(
    scenario: Scenario, seed: int, replications: Iterable[int]
) -> Iterator[Callable[[int], float] | None]:
    """Rescheduling delays of replications by number, where they are drawn."""
    delay, known = scenario.costs.reschedule, None
    for replication in replications:
        if not isinstance(delay, Distribution):
            yield None
            continue
        number, row = divmod(replication, COHORT)
        if known is None or known[0] != number:
            known = number, CohortDraws(delay.sample, seed, number, Cause.RESCHEDULE)
        yield Draws(known[1], row).__getitem__


def _starts(scenario: Scenario, seed: int, replications: Iterable[int]) -> Iterator[Starts]:
    """What starts and ends take, of replications by number."""
    draws = StartDraws(scenario.costs, seed, -1)
    for replication in replications:
        number, row = divmod(replication, COHORT)
        if draws.cohort != number:
            draws = StartDraws(scenario.costs, seed, number)
        yield draws.row(row)
