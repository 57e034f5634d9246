"""Starts and ends of jobs: how long they take under each policy, and in the mean."""

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate

PARTS = {"schedule": "100 s", "initialise": "20 s", "compile": "60 s", "compile_warm": "5 s"}


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
