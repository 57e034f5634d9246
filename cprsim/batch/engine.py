"""Replications of scenarios, compiled: the same ledgers as those of `cprsim.sim`."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT
from cprsim.batch import resolved as plans
from cprsim.batch.draws import Draws, Drawn, source_of
from cprsim.batch.node_lists import FIRST, FIXED
from cprsim.batch.play import play
from cprsim.batch.resolved import Tables
from cprsim.batch.rows import (
    COMING_ROW,
    DONE,
    FLOW_ROW,
    GIVEN_UP,
    MORE_ROOM,
    NODE_ROW,
    LINK_ROW,
    RUN_ROW,
    SHARD_ROW,
    TIER_ROW,
    TIERS,
    TRANSFER,
)
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS
from cprsim.sim.resolved import ResolvedPlan

#: Replications at once: more take memory and gain nothing.
_MOST = 64 * COHORT
#: How many numbers they may draw for their nodes, and for the failures that useful time brings.
_NUMBERS = 4_000_000
_FLOWS = 8


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Why a policy can't be played here, or None."""
    return plans.why_unsupported(scenario.plan(policy))


def simulate(
    scenario: Scenario,
    policies: Sequence[str],
    replications: Sequence[int],
    seed: int,
    threads: int = 1,
) -> NDArray[np.float64]:
    """As `cprsim.sim.engine.simulate`, for policies that `why_unsupported` has nothing against."""
    tables, source = Tables(), source_of(scenario)
    nodes = scenario.failure_model.nodes
    for name in policies:
        tables.add(ResolvedPlan.from_scenario(scenario, name), nodes, source)
    arrays = tables.arrays()
    values = np.empty((len(replications), len(policies), len(COLUMNS)))
    numbers = np.asarray(replications, np.intp)
    size = _chunk(scenario)
    draws = Draws(scenario, seed)
    for start in range(0, len(numbers), size):
        own = numbers[start : start + size]
        played = _Played(arrays, len(policies), own, draws, threads)
        values[start : start + size] = played.ledgers
        for place, policy in played.given_up:
            values[start + place, policy] = sim.simulate(
                scenario, [policies[policy]], [int(own[place])], seed
            )[0, 0]
    return values


def _chunk(scenario: Scenario) -> int:
    failures, job = scenario.failure_model, scenario.job
    drawn = 1 + failures.servers_hit + failures.trainers_hit
    numbers = failures.nodes + job.useful_time_s / failures.mtbf_s * drawn
    return max(min(_MOST, int(_NUMBERS / numbers) // COHORT * COHORT), COHORT)


class _Played:
    """Some replications under every policy."""

    def __init__(
        self,
        arrays: tuple[NDArray[Any], ...],
        policies: int,
        replications: NDArray[np.intp],
        draws: Draws,
        threads: int,
    ) -> None:
        self._arrays, self._threads = arrays, threads
        self.ledgers = np.empty((len(replications), policies, len(COLUMNS)))
        self._statuses = np.zeros(self.ledgers.shape[:2], np.int64)
        order = np.argsort(replications // COHORT, kind="stable")
        lacking, room = order, _FLOWS
        while len(lacking):
            self._play(lacking, draws.of(replications[lacking]), room)
            found = self._statuses[lacking]
            for status in np.unique(found).tolist():
                if status == MORE_ROOM:
                    room *= 2
                elif status not in (DONE, GIVEN_UP):
                    draws.more(status)
            lacking = lacking[((found != DONE) & (found != GIVEN_UP)).any(axis=1)]

    @property
    def given_up(self) -> Iterator[tuple[int, int]]:
        """Replications and policies by place."""
        for place, policy in np.argwhere(self._statuses == GIVEN_UP).tolist():
            yield place, policy

    def _play(self, places: NDArray[np.intp], drawn: Drawn, room: int) -> None:
        policies = self.ledgers.shape[1]
        runs = np.empty((policies, len(places), 3), np.int64)
        runs[..., 0] = np.arange(policies)[:, np.newaxis]
        runs[..., 1] = np.arange(len(places))
        runs[..., 2] = places * policies + runs[..., 0]
        runs = runs.reshape(-1, 3)
        bounds = np.linspace(0, len(runs), self._threads + 1).astype(int).tolist()
        pairs = list(zip(bounds, bounds[1:], strict=False))

        def some(bounds: tuple[int, int]) -> None:
            play(
                runs,
                *bounds,
                self._arrays,
                tuple(drawn),
                _room(self._arrays[0], room),
                self.ledgers.reshape(-1, len(COLUMNS)),
                self._statuses.reshape(-1),
            )

        if len(pairs) == 1:
            some(pairs[0])
            return
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(some, pairs))


def _room(plans: Any, flows: int) -> tuple[NDArray[Any], ...]:
    """Where one thread keeps a run."""
    nodes = int(plans.nodes.max())
    lists = np.zeros((FIXED + 4 * flows, FIRST + 4 * nodes + flows), np.int32)
    rows = (
        (RUN_ROW, 1),
        (TIER_ROW, TIERS),
        (LINK_ROW, 3),
        (FLOW_ROW, flows + 1),
        (FLOW_ROW, flows + 1),
        (COMING_ROW, flows + 1),
    )
    state, tiers, links, *flowing = (
        np.zeros(count, dtype).view(np.recarray) for dtype, count in rows
    )
    return (
        state,
        tiers,
        links,
        np.zeros(6),
        *flowing,
        lists,
        np.zeros(nodes, NODE_ROW).view(np.recarray),
        np.zeros(nodes * TIERS, SHARD_ROW).view(np.recarray),
        np.zeros(2 * int(plans.leaves.max())),
        np.zeros(int(plans.spares.max()) + 1),
        np.zeros(2, TRANSFER).view(np.recarray),
    )
