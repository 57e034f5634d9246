"""Speed of the batch engine compared with the simulator, its draws and a bare compiled loop.

In processor time of this process, so that other work on the machine matters little; each round
measures all of them in turn, and ratios are those of a round. Nothing is compiled within a round.
"""

import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

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
Row = tuple[str, ...]


def rows() -> Iterator[Row]:
    """Yield each policy of `criteo-kaggle` and all together, the same of others, in microseconds.

    The draws of failures are measured alone for `criteo-kaggle`: time without them, the whole over
    them, and for full recovery the rest over that of a bare loop that plays the same runs.
    """
    scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
    every = list(scenario.policies)
    for policies in (*([name] for name in every), every):
        yield _with_draws("criteo-kaggle", scenario, policies)
    scenario = cprsim.load_scenario("scenarios/all-systems.toml")
    for policy in scenario.policies:
        yield *_compared("all-systems", scenario, [policy], _FEWER, 20)[0], "", "", ""
    for name, few in _OTHERS.items():
        scenario = cprsim.load_scenario(f"scenarios/{name}.toml")
        yield *_compared(name, scenario, list(scenario.policies), _FEWER, few)[0], "", "", ""


def many_nodes() -> Iterator[Row]:
    """Yield both engines on `airesim`: a job of 4,096 nodes, some of which fail every hour."""
    scenario = cprsim.load_scenario("scenarios/airesim.toml")
    (policy,) = scenario.policies
    for engine, simulate, runs in (
        ("sim", sim.simulate, 4),
        ("batch", _warm(scenario, [policy]), _FEW),
    ):

        def play(simulate: Callable[..., np.ndarray] = simulate, runs: int = runs) -> np.ndarray:
            return simulate(scenario, [policy], range(runs), 0)

        failures = float(play()[:, 0, COLUMNS.index("failures")].mean())
        us = statistics.median(_us(play, runs) for _ in range(_ROUNDS))
        per_s = failures / us * 1e6
        yield engine, str(runs), f"{us / 1e3:,.1f}", f"{failures:,.0f}", f"{per_s:,.0f}"


def _compared(
    name: str,
    scenario: cprsim.Scenario,
    policies: list[str],
    many: int,
    few: int,
    *others: Callable[[], object],
) -> tuple[Row, list[tuple[float, ...]]]:
    """Return the cells of both engines; times of the batch engine and of `others`, by round."""
    played = _warm(scenario, policies)
    rounds = [
        (
            _us(lambda: sim.simulate(scenario, policies, range(few), 0), few),
            _us(lambda: played(scenario, policies, range(many), 0), many),
            *(_us(each, many) for each in others),
        )
        for _ in range(_ROUNDS)
    ]
    sims, *times = zip(*rounds, strict=True)
    cells = (
        name,
        policies[0] if len(policies) == 1 else f"{len(policies)} together",
        f"{statistics.median(sims):,.0f}",
        f"{statistics.median(times[0]):,.2f}",
        _ratios(sims, times[0]),
    )
    return cells, times


def _with_draws(name: str, scenario: cprsim.Scenario, policies: list[str]) -> Row:
    """Compare the engines on failures of `exactly`, and measure the draws of them in turn."""
    loop = _bare(scenario, policies, _MANY)
    others = [lambda: _drawn(scenario, _MANY), *([] if loop is None else [loop])]
    cells, (batches, draws, *bares) = _compared(name, scenario, policies, _MANY, 100, *others)
    undrawn = [whole - part for whole, part in zip(batches, draws, strict=True)]
    return (
        *cells,
        f"{statistics.median(undrawn):,.2f}",
        _ratios(batches, draws),
        _ratios(undrawn, bares[0]) if bares else "",
    )


def _drawn(scenario: cprsim.Scenario, many: int) -> list[np.ndarray]:
    """Return failure times of so many replications; the nodes hit are drawn as well."""
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
    """Return the bare loop on the same failures, where it plays the policy and Numba is there."""
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
    """Return the batch engine, compiled for these policies."""
    batch.simulate(scenario, policies, range(2), 0)
    return batch.simulate


def _ratios(ones: Sequence[float], others: Sequence[float]) -> str:
    """Return the median ratio, with the least and the greatest."""
    found = [one / other for one, other in zip(ones, others, strict=True)]
    return f"{statistics.median(found):,.3g} ({min(found):,.3g} to {max(found):,.3g})"


def _us(run: Callable[[], object], count: int) -> float:
    start = time.process_time()
    run()
    return 1e6 * (time.process_time() - start) / count
