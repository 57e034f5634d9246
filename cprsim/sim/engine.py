"""Replications of a scenario: one failure timeline each, simulated under every policy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.errors import CprsimError, RunError, told
from cprsim.basics.streams import COHORT, Cause, CohortDraws, Draws
from cprsim.contract.ledger import Ledger
from cprsim.failures.timeline import Timeline
from cprsim.job.start import StartDraws, Starts
from cprsim.scenario import Scenario
from cprsim.sim.driver import Player
from cprsim.sim.observer import Observer
from cprsim.sim.plan_costs import PlanCosts

#: Columns of one replication under one policy, in the order of `simulate`'s last axis.
COLUMNS: tuple[str, ...] = tuple(Ledger.__dataclass_fields__)
_COUNTS = ("failures", "absorbed", "saves", "corrupt")
#: Version of the results for a scenario and a seed. Raise it with a change of simulation, plans,
#: costs, streams or `COLUMNS` that changes any result: sweeps stored under another version can't be
#: resumed (`sweeps`).
MODEL_VERSION = 7


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Iterable[int], seed: int
) -> NDArray[np.float64]:
    """Simulate replications (by number) under policies (by name).

    Returns an array of shape (replications, policies, len(COLUMNS)). A replication depends on the
    seed and its number only: not on the other replications, nor on the policies.
    """
    players = [_player(scenario, name) for name in policies]
    numbers = list(replications)
    timelines = scenario.failure_model.timelines(seed, numbers)
    rows = [
        [_played(each, timeline, seed, number, *wait) for each in players]
        for number, timeline, wait in zip(
            numbers, timelines, waits(scenario, seed, numbers), strict=True
        )
    ]
    return np.asarray(rows, dtype=np.float64).reshape(-1, len(players), len(COLUMNS))


def play(
    scenario: Scenario, policy: str, seed: int, replication: int, observer: Observer | None = None
) -> Ledger:
    """Simulate one replication under one policy, watched by `observer`; return its ledger."""
    timeline = scenario.failure_model.timeline(seed, replication)
    delays, starts = next(waits(scenario, seed, [replication]))
    player = _player(scenario, policy)
    return _ledger(_played(player, timeline, seed, replication, delays, starts, observer))


def play_against(
    scenario: Scenario, policy: str, timeline: Timeline, observer: Observer | None = None
) -> Ledger:
    """Simulate one run under one policy against the caller's timeline; return its ledger.

    Replacements take the mean rescheduling delay. Failed saves and loads, and durations of starts,
    are those of replication 0 of seed 0.
    """
    mean_s = scenario.cost_model.reschedule_mean_s
    starts = next(_starts(scenario, 0, [0]))
    player = _player(scenario, policy)
    return _ledger(_played(player, timeline, 0, 0, lambda _: mean_s, starts, observer))


def waits(
    scenario: Scenario, seed: int, replications: Sequence[int]
) -> Iterator[tuple[Callable[[int], float] | None, Starts]]:
    """Yield rescheduling delays, and durations of starts, of each replication by number."""
    return zip(
        _delays(scenario, seed, replications), _starts(scenario, seed, replications), strict=True
    )


def _player(scenario: Scenario, policy: str) -> Player:
    return Player(PlanCosts(scenario, policy), scenario.failure_model.nodes)


def _played(player: Player, *run: Any) -> list[float]:
    try:
        return player.play(*run)
    except (CprsimError, MemoryError, AssertionError):
        raise
    except Exception as error:  # in a user's controller or rule for losses
        policy = player.plan_costs.policy
        raise RunError(f"policy {policy!r}: playing it raised {told(error)}") from error


def _ledger(columns: list[float]) -> Ledger:
    values: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    return Ledger(**values | {name: int(values[name]) for name in _COUNTS})


def _delays(
    scenario: Scenario, seed: int, replications: Iterable[int]
) -> Iterator[Callable[[int], float] | None]:
    """Yield rescheduling delays of each replication by number, or None where they are constant."""
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
    """Yield durations of starts and shutdowns of each replication."""
    draws = StartDraws(scenario.costs, seed, -1)
    for replication in replications:
        number, row = divmod(replication, COHORT)
        if draws.cohort != number:
            draws = StartDraws(scenario.costs, seed, number)
        yield draws.row(row)
