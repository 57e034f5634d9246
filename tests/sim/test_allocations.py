"""Jobs that hold their nodes for so long at a stretch: planned stops, and what goes on after."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.contract.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play
from tests.formulas.forms import allocated_goodput, allocated_makespan_s
from tests.sim.means import assert_mean, more_s

PARTS = {"schedule": "100 s", "initialise": "20 s", "compile": "60 s", "compile_warm": "5 s"}


def scenario(useful_s: float, allocation_s: float, **more: Any) -> Scenario:
    """A job that saves for 2 s each 100 s, loads for 10 s, and ends for 7 s."""
    costs = {"save": "2 s", "load": "10 s", "reschedule": "30 s", "start": PARTS, "shutdown": "7 s"}
    job = {"useful_time": f"{useful_s} s", "allocation": f"{allocation_s} s"}
    return Scenario(
        job=job | more.pop("job", {}),
        cluster={"parameter_servers": 4},
        costs=costs | more.pop("costs", {}),
        failures=more.pop("failures", {"exactly": 0}),
        **({"storage": more.pop("storage")} if "storage" in more else {}),
        policies={"it": {"system": "full", "interval": "100 s"} | more},
    )


def played(scenario: Scenario) -> Ledger:
    """Its run, which both engines agree on."""
    ledger = play(scenario, "it", 0, 0)
    found = batch.simulate(scenario, ["it"], [0], 0)[0, 0]
    assert found.tolist() == [getattr(ledger, column) for column in COLUMNS]
    return ledger


@pytest.mark.parametrize("useful_s", [300, 305, 306, 1000, 12_345])
@pytest.mark.parametrize("allocation_s", [150, 389, 391, 400, 491, 492.5, 1e5])
def test_the_makespan_is_that_of_the_closed_form(useful_s: float, allocation_s: float) -> None:
    """Stops in training, in a save, and at the end of either; the job may end at a stop."""
    parts = {"load_s": 10.0, "schedule_s": 100.0, "cold_s": 80.0, "warm_s": 25.0, "shutdown_s": 7.0}
    exact_s = allocated_makespan_s(useful_s, 100.0, allocation_s, 2.0, **parts)

    assert played(scenario(useful_s, allocation_s)).wall == pytest.approx(exact_s, rel=1e-12)


def test_stops_in_runs_that_fail_come_at_the_rate_of_the_renewal_equations():
    """What 20,000 s more of training take, of jobs whose first part is the same."""
    interval_s, allocation_s, save_s, load_s, wait_s, mtbf_s = 300.0, 3600.0, 30.0, 60.0, 40.0, 1500
    costs = {"save": f"{save_s} s", "load": f"{load_s} s", "reschedule": f"{wait_s} s"}
    costs |= {"start": {"schedule": "200 s", "initialise": "50 s"}, "shutdown": "20 s"}
    failures = {"distribution": "exponential", "mean": f"{mtbf_s} s", "during_recovery": False}
    keys = {"costs": costs, "failures": failures, "interval": f"{interval_s} s"}
    it = partial(scenario, 20_000, allocation_s, **keys)

    recovery_s = wait_s + 50.0 + load_s
    rates = interval_s, allocation_s, save_s, mtbf_s
    goodput = allocated_goodput(*rates, recovery_s, 50.0 + load_s, 20.0, 200.0)
    assert_mean(more_s(it, (20_000, 40_000), 2000, 1), 20_000 / goodput, within=0.002)


def test_a_torn_last_save_costs_the_allocation(tmp_path):
    it = scenario(1000, 400, storage={"torn": 0.5}, keep=5)
    ledger = played(it)

    assert ledger.lost > 0
    assert ledger.load > 20


def test_estimates_have_what_stops_cost():
    it = scenario(1e5, 4000)
    exact_s = allocated_makespan_s(
        1e5, 100, 4000, 2, load_s=10, schedule_s=100, cold_s=80, warm_s=25, shutdown_s=7
    )
    found = expected(it.plan("it"), it.context)
    assert found.overhead == pytest.approx(exact_s / 1e5 - 1, rel=0.02)


@pytest.mark.parametrize("system", ["full", "partial"])
def test_one_allocation_that_is_long_enough_changes_nothing_but_rounding(system):
    failures = {"distribution": "exponential", "mean": "500 s"}
    it = scenario(3000, 1e6, system=system, failures=failures)
    tables = it.mapping()
    del tables["job"]["allocation"]

    found, alone = (batch.simulate(each, ["it"], range(50), 2) for each in (it, Scenario(**tables)))
    assert np.allclose(found, alone, rtol=1e-12, atol=1e-9)
