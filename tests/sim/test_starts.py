"""Starts and ends of jobs: what they take, when they come, and what a failure in one costs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.contract.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play, simulate

PARTS = {"schedule": "100 s", "initialise": "20 s", "compile": "60 s", "compile_warm": "5 s"}


def scenario(folder: Path, log: str, start: dict[str, Any], **more: Any) -> Scenario:
    """A job of 1000 s that saves for 2 s each 100 s, and loads for 10 s."""
    (folder / "log.csv").write_text(f"time_s,node,severity\n{log}", encoding="utf-8")
    failures = {"trace": str(folder / "log.csv")} | more.pop("failures", {})
    costs = {"save": "2 s", "load": "10 s", "reschedule": "30 s", "start": start}
    return Scenario(
        job={"useful_time": "1000 s"},
        cluster={"parameter_servers": 4} | more.pop("cluster", {}),
        costs=costs | more.pop("costs", {}),
        failures=failures,
        policies={"it": {"system": "full", "interval": "100 s"} | more},
    )


def played(scenario: Scenario) -> Ledger:
    """Its run, which both engines agree on."""
    ledger = play(scenario, "it", 0, 0)
    found = batch.simulate(scenario, ["it"], [0], 0)[0, 0]
    assert found.tolist() == [getattr(ledger, column) for column in COLUMNS]
    return ledger


def test_starts_and_ends_by_hand(tmp_path):
    more = {"warmup": "40 s", "warmup_rate": 0.25}
    job = scenario(tmp_path, "500,0,node\n", PARTS | more, costs={"shutdown": "7 s"})
    ledger = played(job)

    # Warming up costs 40 s x 3/4; after the failure nodes aren't scheduled, and the cache is warm.
    assert ledger.start == (100 + 20 + 60 + 30) + (20 + 5 + 30)
    assert ledger.shutdown == 7.0
    assert ledger.load == 10.0
    # Trained until 500 s, of which 210 s were the start, and two saves 4 s: 286 s.
    assert ledger.lost == 86.0
    assert ledger.wall == 1000 + 86 + 9 * 2 + 30 + 10 + 265 + 7


def test_a_failure_in_a_start_starts_again(tmp_path):
    job = scenario(tmp_path, "500,0,node\n540,1,node\n", {"compile": "60 s"})
    ledger = played(job)

    # The first start, then 10 s of one that fails, and another.
    assert ledger.start == 60 + 10 + 60
    assert ledger.reschedule == 2 * 30
    assert ledger.failures == 2


def test_without_failures_in_recoveries_none_strikes_in_a_start(tmp_path):
    failures = {"during_recovery": False}
    ledger = played(scenario(tmp_path, "500,0,node\n540,1,node\n", PARTS, failures=failures))

    assert (ledger.failures, ledger.absorbed) == (1, 1)
    assert ledger.start == 180 + 25


@pytest.mark.parametrize(
    ("severity", "cache", "again_s"),
    [("process", "node", 25), ("node", "node", 80), ("node", "store", 25)],
)
def test_the_compile_cache_goes_with_the_node_that_holds_it(tmp_path, severity, cache, again_s):
    ledger = played(scenario(tmp_path, f"500,0,{severity}\n", PARTS | {"cache": cache}))

    assert ledger.start == 180 + again_s


def test_without_a_cache_each_start_compiles(tmp_path):
    assert played(scenario(tmp_path, "500,0,process\n", {"compile": "60 s"})).start == 120


def test_who_waits_for_lost_shards_starts_no_process_again(tmp_path):
    job = scenario(tmp_path, "500,0,node\n", PARTS, system="partial")

    assert played(job).start == 180
    assert expected(job.plan("it"), job.context).start == 0.18


@pytest.mark.parametrize("system", ["partial", "elastic"])
def test_after_a_failure_of_the_cluster_all_start_again(tmp_path, system):
    keys = {"bound": 1.0} if system == "elastic" else {}
    job = scenario(tmp_path, "500,0,cluster\n", PARTS, system=system, **keys)

    assert played(job).start == 180 + 25


def test_hot_swap_keeps_the_processes_that_are_up(tmp_path):
    keys = {"system": "hot-swap", "iteration": "1 s", "takeover": "5 s"}
    job = scenario(tmp_path, "500,0,node\n", PARTS, costs={"load": "10 s"}, **keys)

    assert played(job).start == 180


def test_nobody_fails_in_the_first_start(tmp_path):
    """A failure of a log is absorbed, and a renewed clock begins with training."""
    ledger = played(scenario(tmp_path, "150,0,node\n900,0,node\n", PARTS))
    assert (ledger.failures, ledger.absorbed) == (1, 1)

    each_300_s = {"distribution": "deterministic", "mean": "300 s", "ages": "new"}
    job = scenario(tmp_path, "1,0,node\n", PARTS)
    renewed = Scenario(**job.mapping() | {"failures": each_300_s})
    # Two intervals are saved in each 300 s, of which later ones hold 25 s of start, 10 s of load.
    ledger = played(renewed)
    assert ledger.failures == 4
    assert ledger.lost == 96 + 3 * 61


def test_starts_that_take_no_time_change_nothing(tmp_path):
    job = scenario(tmp_path, "500,0,node\n", {"initialise": "0 s"})
    tables = job.mapping()
    del tables["costs"]["start"]

    assert play(job, "it", 0, 0) == play(Scenario(**tables), "it", 0, 0)


def test_the_nth_start_takes_as_long_under_every_policy():
    law = {"distribution": "gamma", "mean": "5 min", "shape": 2.0}
    job = Scenario(
        job={"useful_time": "10 h"},
        cluster={"parameter_servers": 4},
        costs={"save": "1 min", "load": "1 min", "start": {"compile": law}, "shutdown": law},
        failures={"exactly": 0},
        policies={"a": {"system": "full", "interval": "1 h"}, "b": {"system": "partial"}},
    )
    ledgers = simulate(job, ["a", "b"], range(300), 3)
    assert np.array_equal(ledgers, batch.simulate(job, ["a", "b"], range(300), 3))
    for cause in ("start", "shutdown"):
        seconds = ledgers[..., COLUMNS.index(cause)]
        assert np.array_equal(seconds[:, 0], seconds[:, 1])
        # Gamma with shape 2: the standard deviation is the mean over the root of 2.
        assert abs(seconds[:, 0].mean() - 300) < 3 * 300 / (2 * 300) ** 0.5


def test_starts_cost_what_they_should_to_first_order():
    job = Scenario(
        job={"useful_time": "1000 h"},
        cluster={"parameter_servers": 4},
        costs={"save": "1 s", "load": "1 s", "start": PARTS, "shutdown": "7 s"},
        failures={"distribution": "exponential", "mean": "10 h"},
        policies={"it": {"system": "full", "interval": "10 min"}},
    )
    useful_s, mtbf_s = 3.6e6, 3.6e4
    told = expected(job.plan("it"), job.context)

    assert told.start == pytest.approx((180 + 25 * useful_s / mtbf_s) / useful_s, rel=1e-12)
    assert told.shutdown == 7 / useful_s
    ledgers = batch.simulate(job, ["it"], range(400), 0)[:, 0]
    started = ledgers[:, COLUMNS.index("start")] / useful_s
    # Failures are Poisson over the wall clock, which is longer than useful time by what is told.
    error = 3 * 25 * 100**0.5 / 400**0.5 / useful_s
    assert abs(started.mean() - told.start * (1 + told.overhead)) < error + told.start * 0.02
