"""Replications of a scenario: one failure timeline each, simulated under every policy."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.ledger import Ledger
from cprsim.errors import CprsimError, RunError, told
from cprsim.failures.timeline import Timeline
from cprsim.scenario import Scenario
from cprsim.sim.draws import ScenarioDraws
from cprsim.sim.driver import Player
from cprsim.sim.observer import Observer
from cprsim.sim.run_draws import MANY, RunDraws

#: Columns of one replication under one policy, in the order of `simulate`'s last axis.
COLUMNS: tuple[str, ...] = tuple(Ledger.__dataclass_fields__)
_COUNTS = ("failures", "absorbed", "saves", "corrupt")
#: Version of the results for a scenario and a seed. Raise it with a change of simulation, plans,
#: costs, streams or `COLUMNS` that changes any result: sweeps stored under another version can't be
#: resumed (`sweeps`).
MODEL_VERSION = 10


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Iterable[int], seed: int
) -> NDArray[np.float64]:
    """Simulate replications (by number) under policies (by name).

    Returns an array of shape (replications, policies, len(COLUMNS)). A replication depends on the
    seed and its number only: not on the other replications, nor on the policies.
    """
    players = [Player(scenario, name) for name in policies]
    runs = map(ScenarioDraws(scenario, seed).of_run, replications)
    rows = [[_played(player, run) for player in players] for run in runs]
    for player in players:
        player.end()
    return np.asarray(rows, dtype=np.float64).reshape(-1, len(players), len(COLUMNS))


def play(
    scenario: Scenario, policy: str, seed: int, replication: int, observer: Observer | None = None
) -> Ledger:
    """Simulate one replication under one policy, watched by `observer`; return its ledger."""
    player = Player(scenario, policy)  # first: what is drawn depends on its plan
    timeline = scenario.failure_model.timeline(seed, replication)
    draws = ScenarioDraws(scenario, seed).of_run(replication, timeline)
    return _ledger(_played(player, draws, observer))


def play_against(
    scenario: Scenario, policy: str, timeline: Timeline, observer: Observer | None = None
) -> Ledger:
    """Simulate one run under one policy against the caller's timeline; return its ledger.

    Replacements take the mean rescheduling delay. Failed saves and loads, and durations of starts,
    are those of replication 0 of seed 0.
    """
    player = Player(scenario, policy)
    draws = ScenarioDraws(scenario, 0).of_run(0, timeline)
    mean_s = scenario.cost_model.reschedule_mean_s
    draws.put(delays=draws.numbers.add(lambda _: mean_s), delay_count=MANY)
    return _ledger(_played(player, draws, observer))


def _played(player: Player, draws: RunDraws, observer: Observer | None = None) -> list[float]:
    try:
        return player.play(draws, observer)
    except (CprsimError, MemoryError, AssertionError):
        raise
    except Exception as error:  # in a user's controller or rule for losses
        policy = player.rows.policy
        raise RunError(f"policy {policy!r}: playing it raised {told(error)}") from error


def _ledger(columns: list[float]) -> Ledger:
    values: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    return Ledger(**values | {name: int(values[name]) for name in _COUNTS})
