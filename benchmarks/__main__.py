"""`make bench`: every row is measured in this run, and so is its yardstick."""

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
import simpy
from numpy.typing import NDArray

import cprsim
from benchmarks import clusters, derived, page, rows
from benchmarks.minimal_simpy import replicate
from cprsim.failures.logs.log import FailureLog
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import COLUMNS, simulate

_ROUNDS = 9


def main() -> None:
    print(f"{'what':<58} {'measured':>12} {'yardstick':>12} {'ratio':>7}   target")
    for row in _ROWS:
        print(row())
    rows.main()
    if importlib.util.find_spec("torch") is not None:
        derived.main()
    clusters.main()
    print(page.measured(page.SECTIONS))


def job() -> str:
    """One replication of criteo-kaggle under `full`, against a minimal hand-written loop."""
    scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
    plan, costs = scenario.plan("full"), scenario.costs
    fixed = (56 * 3600.0, plan.interval_s, costs.save_s, costs.load_s, costs.reschedule, 2)
    ours, theirs = _alternate(
        lambda: simulate(scenario, ["full"], range(200), 0),
        lambda: [replicate(seed, *fixed) for seed in range(200)],
    )
    return _row("replication, criteo-kaggle full (hand-written loop)", ours, theirs, 200, "<= 3")


def save_of_many_servers() -> str:
    """A job with derived, symmetric saves over 1,000 servers, against the same over 8."""

    def over(servers: int) -> cprsim.Scenario:
        return cprsim.Scenario(
            job={"useful_time": "56 h"},
            model={"embedding": "2 TB"},
            cluster={"parameter_servers": servers, "nic": "25 Gbit/s"},
            storage={"write": "5 GB/s", "read": "5 GB/s"},
            failures={"exactly": 2},
            policies={"full": {"system": "full", "interval": "1 h"}},
        )

    many, few = over(1000), over(8)
    ours, theirs = _alternate(
        lambda: simulate(many, ["full"], range(100), 0),
        lambda: simulate(few, ["full"], range(100), 0),
    )
    return _row("symmetric saves over 1,000 servers (over 8)", ours, theirs, 100, "<= 2")


_NODES: dict[str, Any] = {
    "job": {"useful_time": "1000 d"},
    "cluster": {"parameter_servers": 2048, "trainers": 2048},
    "costs": {"save": "1 s", "load": "1 s", "reschedule": "1 s"},
    "failures": {"distribution": "weibull", "shape": 1.5, "mean": "200 d", "per": "node"},
    "policies": {"partial": {"system": "partial", "interval": "100 d"}},
}


def node_failures() -> str:
    """Failures a second of 4,096 nodes with ages, drawn and replaced, no job around them."""
    scenario = cprsim.Scenario(**_NODES)

    def play() -> int:
        cursor, failures = cursor_of(scenario.failure_model.timeline(0, 0)), 0
        while cursor.next_s < scenario.job.useful_time_s:
            now_s = cursor.next_s
            cursor.replace(cursor.strike(), now_s)
            cursor.resume(now_s)
            failures += 1
        return failures

    return _per_second("failures/s, 4,096 nodes with ages", play, ">= 50,000 /s")


def simulated_node_failures() -> str:
    """The same with a whole job simulated around them: struck, rescheduled, loaded."""
    scenario = cprsim.Scenario(**_NODES)
    failures = COLUMNS.index("failures")

    def play() -> int:
        return int(simulate(scenario, ["partial"], [0], 0)[0, 0, failures])

    return _per_second("the same, simulated with the job", play, "")


def _per_second(what: str, play: Callable[[], int], target: str) -> str:
    counts: list[int] = []
    ours, theirs = _alternate(lambda: counts.append(play()), lambda: _timeouts(20_000))
    failures, timeouts = counts[0] / ours, 20_000 / theirs
    return (
        f"{what + ' (bare SimPy timeouts/s)':<58} {failures:>12,.0f} {timeouts:>12,.0f} "
        f"{failures / timeouts:>7.3f}   {target}"
    )


def fit_of_gaps() -> str:
    """Four laws with intervals, their distances and a verdict, against SciPy's bare fits."""
    gaps = np.random.default_rng(0).gamma(0.7, 1000.0, 5000)
    log = _log_of(gaps)
    ours, theirs = _alternate(lambda: cprsim.fit(log), lambda: _scipy_fits(gaps / gaps.mean()))
    return _row("fit of 5,000 gaps (scipy.stats fits of three laws)", ours, theirs, 1, "<= 5 s")


def fit_of_a_long_log() -> str:
    """Fit as many failures as all LANL systems had, from the file on."""
    gaps = np.random.default_rng(0).gamma(0.7, 1000.0, 23_739)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "failures.csv"
        rows = (f"{at!r},{number % 4750}\n" for number, at in enumerate(np.cumsum(gaps).tolist()))
        path.write_text("time_s,node\n" + "".join(rows))
        ours, theirs = _alternate(lambda: cprsim.fit(path), lambda: pd.read_csv(path))
    return _row("fit of a log of 23,739 failures (pandas.read_csv)", ours, theirs, 1, "<= 10 s")


def _log_of(gaps: NDArray[np.float64]) -> FailureLog:
    times = np.cumsum(gaps)
    return FailureLog(times, np.arange(len(times)) % 512, 0.0, float(times[-1]), population=512)


def _scipy_fits(gaps: NDArray[np.float64]) -> None:
    for law in (scipy.stats.gamma, scipy.stats.weibull_min, scipy.stats.lognorm):
        law.fit(gaps, floc=0)


def _alternate(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Return median seconds of both, in turns, so that a drift of the machine's speed hits both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for run, seconds in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def _row(what: str, ours: float, theirs: float, count: int, target: str) -> str:
    return (
        f"{what:<58} {1e6 * ours / count:>9,.0f} us {1e6 * theirs / count:>9,.0f} us "
        f"{ours / theirs:>7.2f}   {target}"
    )


def _timeouts(count: int) -> None:
    env = simpy.Environment()

    def process():
        for _ in range(count):
            yield env.timeout(1.0)

    env.run(until=env.process(process()))


_ROWS = (
    job,
    save_of_many_servers,
    node_failures,
    simulated_node_failures,
    fit_of_gaps,
    fit_of_a_long_log,
)

if __name__ == "__main__":
    main()
