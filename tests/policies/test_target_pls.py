"""CPR keeps to its target: the interval that it resolves, and what is lost at it."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import cprsim
from cprsim.batch.engine import simulate
from cprsim.sim.engine import COLUMNS

SCENARIOS = 200
RUNS = 15_000  # failures that the replications of a scenario meet, about
LAWS: list[dict[str, Any]] = [
    {"distribution": "exponential"},
    {"distribution": "gamma", "shape": 0.675},
    {"distribution": "weibull", "shape": 0.8},
]


class Drawn(NamedTuple):
    """A scenario, and what its waiting and loading take in MTBFs."""

    scenario: cprsim.Scenario
    recovery: float


def drawn(rng: random.Random) -> Drawn:
    """Any job: MTBFs of 1 to 100 h, 2 to 60 failures, saves from 10 s to half an hour, ..."""

    def seconds(least: float, most: float) -> float:
        return least * (most / least) ** rng.random()

    mtbf_s, save_s = seconds(3600, 360_000), seconds(10, 2000)
    wait_s, load_s = seconds(10, 8000), seconds(3, 1000)
    spares = rng.choice([0, 0, 0, 2])
    scenario = cprsim.Scenario(
        job={"useful_time": f"{mtbf_s * seconds(2, 60)!r} s"},
        cluster={"parameter_servers": rng.choice([2, 4, 8, 16, 32]), "spares": spares},
        costs={"save": f"{save_s!r} s", "load": f"{load_s!r} s", "reschedule": f"{wait_s!r} s"},
        failures=rng.choice(LAWS) | {"mean": f"{mtbf_s!r} s"},
        policies={"it": {"system": "cpr-vanilla", "target_pls": seconds(0.003, 0.2)}},
    )
    return Drawn(scenario, (wait_s * (not spares) + load_s) / mtbf_s)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_what_is_lost_is_the_target(counted: Callable[[str], None]) -> None:
    rng = random.Random(1)
    kept, off, errors = 0, [], []
    while kept < SCENARIOS:
        scenario, recovery = drawn(rng)
        plan, target = scenario.plan("it"), scenario.policies["it"].target_pls
        if plan.recovery == "full" or plan.interval_s >= scenario.job.useful_time_s:
            continue  # it can't be met, or more is not lost whatever one does
        kept += 1
        gaps = scenario.job.useful_time_s / scenario.context.mtbf_s
        runs = simulate(scenario, ["it"], range(int(max(300, RUNS / gaps))), 1)
        lost = runs[:, 0, COLUMNS.index("pls")] / target
        off.append((lost.mean() - 1, recovery))
        errors.append(lost.std(ddof=1) / len(lost) ** 0.5)
    found, recoveries = np.array(off).T
    error = np.array(errors)
    short = recoveries < 0.2
    counted(
        f"PLS over target - 1: {found[short].min():+.3f} to {found[short].max():+.3f} in "
        f"{short.sum()} scenarios whose recoveries take a fifth of the MTBF at most, "
        f"{found[~short].min():+.3f} to {found[~short].max():+.3f} in the others; "
        f"standard errors {error.min():.3f} to {error.max():.3f}"
    )

    assert (np.abs(found[short]) < 0.02 + 3 * error[short]).all()
    assert abs(found[short].mean()) < 0.01
    # Where recoveries last, more nodes are away at once than is counted: it errs on the safe side.
    assert (found[~short] < 0.02 + 3 * error[~short]).all()


JOB: dict[str, Any] = {
    "job": {"useful_time": "1000 h"},
    "cluster": {"parameter_servers": 8},
    "costs": {"save": "6 min", "load": "0 s"},
    "failures": {"distribution": "exponential", "mean": "10 h"},
}


def planned(**keys: Any) -> Any:
    policy = {"system": "cpr-vanilla"} | keys
    return cprsim.Scenario(**JOB, policies={"it": policy}).plan("it")


def test_the_papers_own_interval_leaves_out_the_save() -> None:
    # 2 x 0.01 x 8 x 10 h = 1.6 h; twice the 6 min less, and the end of the job.
    assert planned(target_pls=0.01, pls_interval="E6").interval_s == pytest.approx(1.6 * 3600)
    assert planned(target_pls=0.01).interval_s == pytest.approx(1.4 * 3600, rel=1e-3)


def test_a_target_that_no_interval_meets_is_full_recovery_and_says_so() -> None:
    plan = planned(target_pls=0.001)
    assert plan.recovery == "full"
    assert plan.note == (
        "PLS 0.001 cannot be met: failures in saves, and in recoveries from them, lose 0.00125"
    )


def test_a_target_that_costs_too_much_is_full_recovery_and_says_so() -> None:
    plan = planned(target_pls=0.0015)
    assert plan.recovery == "full"
    assert plan.note == "(E7) partial recovery at PLS 0.0015 is expected to cost no less"
