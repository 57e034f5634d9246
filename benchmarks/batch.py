"""The batch engine beside the simulator, beside its draws alone, and beside a bare compiled loop.

In processor time of this process, so that what else the machine does matters little; each round
measures all of them in turn, and the ratios are those of a round. Nothing is compiled within a
round.
"""

import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

import cprsim
from benchmarks import bare
from cprsim.basics.streams import COHORT
from cprsim.batch import engine as batch
from cprsim.failures.cohorts import InstantCohort
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS

_ROUNDS = 3
#: Replications of the engine: of `criteo-kaggle`, of other scenarios, of one of many nodes.
_MANY, _FEWER, _FEW = 100_000, 4_096, 64
#: Shipped scenarios with other failures, and replications of the simulator that take no minutes.
_OTHERS = {"quickstart": 20, "production": 20, "ecrm": 20, "replication": 5}


class Spread(NamedTuple):
    """Median, least and greatest of some ratios."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of these."""
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:,.3g} ({self.least:,.3g} to {self.most:,.3g})"


class Speed(NamedTuple):
    """Microseconds a replication (medians), and ratios.

    Where the draws of the failures are measured alone: `drawn` is what the engine takes beside
    them, `undrawn_us` what it takes without them, and `bare` that beside a bare loop that plays the
    same runs.
    """

    scenario: str
    policies: str
    sim_us: float
    batch_us: float
    faster: Spread
    drawn: Spread | None = None
    undrawn_us: float = math.nan
    bare: Spread | None = None


class ManyNodes(NamedTuple):
    """Milliseconds a run of `airesim`, failures in it, and those in a second of processor time."""

    engine: str
    runs: int
    run_ms: float
    failures: float
    failures_per_s: float


def kaggle() -> Iterator[Speed]:
    """`criteo-kaggle`: each of its policies, and all of them together."""
    scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
    every = list(scenario.policies)
    for policies in (*([name] for name in every), every):
        yield _beside_draws("criteo-kaggle", scenario, policies, _MANY, 100)


def all_systems() -> Iterator[Speed]:
    """`all-systems`: each of its policies."""
    scenario = cprsim.load_scenario("scenarios/all-systems.toml")
    for policy in scenario.policies:
        yield _beside_sim("all-systems", scenario, [policy], _FEWER, 20)


def others() -> Iterator[Speed]:
    """Other scenarios, all policies together."""
    for name, few in _OTHERS.items():
        scenario = cprsim.load_scenario(f"scenarios/{name}.toml")
        yield _beside_sim(name, scenario, list(scenario.policies), _FEWER, few)


def many_nodes() -> Iterator[ManyNodes]:
    """`airesim`: a job of 4,096 nodes, some of which fail every hour."""
    scenario = cprsim.load_scenario("scenarios/airesim.toml")
    (policy,) = scenario.policies
    yield _of_nodes("sim", sim.simulate, scenario, policy, 4)
    yield _of_nodes("batch", _warm(scenario, [policy]), scenario, policy, _FEW)


def _of_nodes(
    engine: str,
    simulate: Callable[..., np.ndarray],
    scenario: cprsim.Scenario,
    policy: str,
    runs: int,
) -> ManyNodes:
    def play() -> np.ndarray:
        return simulate(scenario, [policy], range(runs), 0)

    failures = float(play()[:, 0, COLUMNS.index("failures")].mean())
    us = statistics.median(_us(play, runs) for _ in range(_ROUNDS))
    return ManyNodes(engine, runs, us / 1e3, failures, failures / us * 1e6)


def _beside_sim(
    name: str, scenario: cprsim.Scenario, policies: list[str], many: int, few: int
) -> Speed:
    played = _warm(scenario, policies)
    rounds = [
        (
            _us(lambda: sim.simulate(scenario, policies, range(few), 0), few),
            _us(lambda: played(scenario, policies, range(many), 0), many),
        )
        for _ in range(_ROUNDS)
    ]
    sims, batches = zip(*rounds, strict=True)
    return Speed(
        name,
        policies[0] if len(policies) == 1 else f"{len(policies)} together",
        statistics.median(sims),
        statistics.median(batches),
        Spread.of(_ratios(sims, batches)),
    )


def _beside_draws(
    name: str, scenario: cprsim.Scenario, policies: list[str], many: int, few: int
) -> Speed:
    """The same for failures that `exactly` says, and the draws of them measured in turn."""
    played, loop = _warm(scenario, policies), _bare(scenario, policies, many)
    rounds = [
        (
            _us(lambda: sim.simulate(scenario, policies, range(few), 0), few),
            _us(lambda: played(scenario, policies, range(many), 0), many),
            _us(lambda: _drawn(scenario, many), many),
            math.nan if loop is None else _us(loop, many),
        )
        for _ in range(_ROUNDS)
    ]
    sims, batches, draws, bares = zip(*rounds, strict=True)
    undrawn = [whole - part for whole, part in zip(batches, draws, strict=True)]
    return Speed(
        name,
        policies[0] if len(policies) == 1 else f"{len(policies)} together",
        statistics.median(sims),
        statistics.median(batches),
        Spread.of(_ratios(sims, batches)),
        Spread.of(_ratios(batches, draws)),
        statistics.median(undrawn),
        None if loop is None else Spread.of(_ratios(undrawn, bares)),
    )


def _drawn(scenario: cprsim.Scenario, many: int) -> list[np.ndarray]:
    """When so many replications fail; which nodes that hits is drawn as well."""
    times_s = []
    for number in range(-(-many // COHORT)):
        cohort = scenario.failure_model.process.cohort(0, number)
        assert isinstance(cohort, InstantCohort)
        cohort.victims.upto(cohort.times_s.shape[1])
        times_s.append(cohort.times_s)
    return times_s


def _bare(
    scenario: cprsim.Scenario, policies: Sequence[str], many: int
) -> Callable[[], object] | None:
    """The bare loop on the same failures, where it plays the policy and there is a compiler."""
    if [scenario.policies[name].system for name in policies] != ["full"]:
        return None
    if importlib.util.find_spec("numba") is None:
        return None
    times_s = np.concatenate(_drawn(scenario, many))[:many]
    job = bare.Job.of(scenario, policies[0])
    mean_s = float(bare.walls(times_s, job).mean())
    walls_s = batch.simulate(scenario, policies, range(many), 0)[:, 0, COLUMNS.index("wall")]
    if not math.isclose(mean_s, float(walls_s.mean()), rel_tol=1e-12):
        raise AssertionError(f"the bare loop takes {mean_s} s, the engine {walls_s.mean()} s")
    return lambda: bare.walls(times_s, job)


def _warm(scenario: cprsim.Scenario, policies: Sequence[str]) -> Callable[..., np.ndarray]:
    """The batch engine, compiled for these policies."""
    batch.simulate(scenario, policies, range(2), 0)
    return batch.simulate


def _ratios(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ones, others, strict=True)]


def _us(run: Callable[[], object], count: int) -> float:
    start = time.process_time()
    run()
    return 1e6 * (time.process_time() - start) / count
