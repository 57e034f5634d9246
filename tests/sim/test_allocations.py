"""Jobs that hold their nodes for so long at a stretch: planned stops, and what goes on after."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.contract.ledger import Ledger
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play, simulate
from tests.formulas.forms import allocated_goodput, allocated_makespan_s

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


def log(folder: Path, lines: str) -> dict[str, Any]:
    (folder / "log.csv").write_text(f"time_s,node,severity\n{lines}", encoding="utf-8")
    return {"trace": str(folder / "log.csv")}


def played(scenario: Scenario) -> Ledger:
    """Its run, which both engines agree on."""
    ledger = play(scenario, "it", 0, 0)
    found = batch.simulate(scenario, ["it"], [0], 0)[0, 0]
    assert found.tolist() == [getattr(ledger, column) for column in COLUMNS]
    return ledger


def test_allocations_by_hand():
    ledger = played(scenario(1000, 400))

    # The first: 80 s of start, 3 intervals and saves, 5 s more, the last save, the end: 400 s.
    # The second: 25 s of start and 10 s of load leave 356 s: 3 intervals and saves, 50 s more.
    # The third does the rest, 345 s, with 3 saves.
    assert ledger.start == (100 + 80) + 2 * (100 + 25)
    assert (ledger.load, ledger.shutdown, ledger.save) == (20, 21, 2 * (4 + 4 + 3))
    assert (ledger.saves, ledger.lost) == (11, 0)
    assert ledger.wall == 500 + 500 + 100 + 25 + 10 + 345 + 3 * 2 + 7


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
    walls_s = []
    runs = 2000
    for useful_s in (20_000, 40_000):
        costs = {"save": f"{save_s} s", "load": f"{load_s} s", "reschedule": f"{wait_s} s"}
        costs |= {"start": {"schedule": "200 s", "initialise": "50 s"}, "shutdown": "20 s"}
        failures = {"distribution": "exponential", "mean": f"{mtbf_s} s", "during_recovery": False}
        keys = {"costs": costs, "failures": failures, "interval": f"{interval_s} s"}
        it = scenario(useful_s, allocation_s, **keys)
        walls_s.append(batch.simulate(it, ["it"], range(runs), 1)[:, 0, COLUMNS.index("wall")])
    more_s = walls_s[1] - walls_s[0]

    recovery_s = wait_s + 50.0 + load_s
    rates = interval_s, allocation_s, save_s, mtbf_s
    goodput = allocated_goodput(*rates, recovery_s, 50.0 + load_s, 20.0, 200.0)
    error_s = more_s.std(ddof=1) / math.sqrt(runs)
    assert error_s < 0.002 * more_s.mean()
    assert abs(more_s.mean() - 20_000 / goodput) < 3 * error_s


def test_a_stop_within_a_recovery_follows_it(tmp_path):
    failures = log(tmp_path, "480,0,node\n")  # 11 s before the first stop
    ledger = played(scenario(1000, 400, failures=failures))

    # Trained 300 s and saved; 480 - 180 - 306 < 0: the third save began at 484. It had 96 s, which
    # are lost; then 30 s, a warm start and a load go beyond the stop, and there is nothing to save.
    assert ledger.lost == 480 - 180 - 2 * 102
    assert ledger.reschedule == 30
    assert ledger.start == (100 + 80) + 25 + 2 * 125 + (100 + 25)
    assert ledger.shutdown == 4 * 7


def test_a_failure_in_the_last_save_takes_the_job_back(tmp_path):
    ledger = played(scenario(1000, 400, failures=log(tmp_path, "492,0,node\n")))

    # The stop is at 491 s, 5 s after the third save.
    assert ledger.lost == 5
    assert ledger.failures == 1


def test_nobody_fails_from_the_stop_until_the_next_has_loaded(tmp_path):
    ledger = played(scenario(1000, 400, failures=log(tmp_path, "495,0,node\n634,1,node\n")))

    assert (ledger.failures, ledger.absorbed) == (0, 2)
    assert ledger.wall == played(scenario(1000, 400)).wall


@pytest.mark.parametrize(("cache", "second_s"), [("store", 25), ("node", 80)])
def test_what_lies_on_nodes_goes_with_them(cache, second_s):
    it = scenario(500, 400, costs={"start": PARTS | {"cache": cache}})

    assert played(it).start == 180 + 100 + second_s


def test_saves_in_the_background_are_waited_for():
    it = scenario(1000, 400, system="async", snapshot="1 s")
    ledger = played(it)

    assert ledger.lost == 0
    # The stop is 2 s + 1 s + 7 s before the end: 3 intervals of 101 s, 7 s, a snapshot, a save.
    assert ledger.wall > 1000
    assert ledger.save == 2 * 2.0  # while nothing is trained


def test_the_next_allocation_has_no_server_that_is_down(tmp_path):
    """One that is rebuilt beside training when the job stops has missed some, and is back."""
    costs = {"reschedule": "300 s"}
    failures = log(tmp_path, "450,0,node\n")
    ledger = played(scenario(800, 400, system="accepted-loss", failures=failures, costs=costs))

    # The stop is at 491 s, after 311 s of training, of which 200 s had been saved at 450 s.
    assert ledger.updates_lost == pytest.approx((311 - 200) / 4 / 800)


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


def test_allocations_in_which_nothing_is_trained_are_given_up():
    """Each meets a failure after 200 s, before its only save, and is over by the recovery."""
    failures = {"distribution": "deterministic", "mean": "200 s", "ages": "new"}
    costs = {"reschedule": "3000 s"}
    it = scenario(1e4, 400, interval="1000 s", failures=failures, costs=costs)
    for engine in (simulate, batch.simulate):
        with pytest.raises(RunError, match=r"the job gets nowhere: 167 times .* with 500 failures"):
            engine(it, ["it"], [0], 0)
