"""Deltas that another machine merges: the suite of all policies, cases by hand, other programs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from cprsim.contract.expected import expected
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.sim.engine import play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import DIFFERENCES, JOB, job_of, log_of


class TestDelta(PolicyConformance):
    policy: ClassVar = {"system": "delta", "interval": "20 min", "merge": "2 h", "tracking": 0.01}


# A save of everything 8 s, a load 16 s; a base is all of it, a delta half.
CHAIN = {
    "system": "delta",
    "interval": "100 s",
    "snapshot": "2 s",
    "merge": "300 s",
    "modified": 0.5,
    "growth": 0.0,
    "tracking": 0.0,
}


def scenario(policy: dict[str, Any], failures: dict[str, Any], **tables: Any) -> Scenario:
    return job_of(policy, **DIFFERENCES | {"failures": failures} | tables)


def struck(folder: Path, strikes: Iterable[float]) -> dict[str, Any]:
    return log_of(folder, " ".join(f"{at!r},0" for at in strikes))


def test_merging_costs_the_job_nothing():
    merged, chained = (
        play(scenario(CHAIN | {"merge": merge}, {"exactly": 0}), "p", 0, 0)
        for merge in ("300 s", "1 d")
    )

    assert merged == chained
    assert (merged.saves, merged.stored, merged.wall) == (9, 1 + 8 * 0.5, 1018)


def test_never_merged_it_is_consecutive_differences_to_the_last_digit():
    rough = {"distribution": "weibull", "shape": 0.7, "mean": "300 s"}
    keys = {key: value for key, value in CHAIN.items() if key not in {"system", "merge"}}
    policies = {
        "delta": {"system": "delta", "merge": "1 d"} | keys,
        "chain": {"system": "check-n-run", "variant": "consecutive", "bits": 32} | keys,
    }
    one = Scenario(**JOB | DIFFERENCES | {"failures": rough}, policies=policies)
    found = simulate(one, ["delta", "chain"], range(30), 4)

    assert found[:, 0].tobytes() == found[:, 1].tobytes()


def by_another_program(strikes: list[float], every: int, merge: int, share: float) -> list[float]:
    """Wall-clock time, loads and lost training, s, of a job of 1,000 s second by second.

    Saves of no snapshot land at once; a failure of instant t strikes before what is due at t.
    """
    wall = progress = 0
    loads = lost = 0.0
    chain: list[int] = []  # progress at the base and at each delta after it
    saved = 0
    waiting = sorted(strikes)
    while progress < 1000:
        if waiting and wall == waiting[0]:
            del waiting[0]
            size = 1.0 + share * (len(chain) - 1) if chain else 1.0
            lost, progress = lost + progress - saved, saved
            loads += 16 * size
            wall += 50 + int(16 * size)
            continue
        if progress and progress - saved == every:
            if chain and progress // merge > saved // merge:
                chain = [saved]
            chain.append(progress)
            saved = progress
        wall, progress = wall + 1, progress + 1
    return [float(wall), loads, lost]


@pytest.mark.parametrize("seed", range(40))
def test_like_another_program(seed, tmp_path):
    rng = np.random.default_rng(seed)
    every = int(rng.integers(5, 60))
    merge = int(rng.integers(5, 10 * every))
    share = float(rng.choice([0.25, 0.5, 0.75]))
    # No failure during a recovery: a load takes 16 (1 + 0.75 x 10) s at most.
    strikes = np.cumsum(rng.integers(200, 400, 5)).astype(float).tolist()
    keys = {"interval": f"{every} s", "merge": f"{merge} s", "modified": share, "snapshot": "0 s"}
    costs = {"save": "1e-9 s", "load": "16 s", "reschedule": "50 s"}
    one = scenario(CHAIN | keys, struck(tmp_path, strikes), costs=costs)
    run = play(one, "p", 0, 0)

    found = [run.wall, run.load, run.lost]
    assert found == pytest.approx(by_another_program(strikes, every, merge, share), abs=1e-4)


def test_expectation_is_that_of_the_mean_save():
    # 33 saves 30 s apart, merged every 90 s: a base, and reads of 1.5, then 1.5, 2, 2.5 in turn.
    mtbf = {"distribution": "exponential", "mean": "500 s"}
    one = scenario(CHAIN | {"interval": "30 s", "merge": "90 s"}, mtbf)
    save = one.plan("p").schedules[0].save
    reads = [1.0, 1.5, 2.0] + [1.5, 2.0, 2.5] * 10

    assert save.writes == pytest.approx((1 + 32 * 0.5) / 33, rel=1e-12)
    assert save.reads == pytest.approx(sum(reads) / 33, rel=1e-12)
    assert expected(one.plan("p"), one.context).load == pytest.approx(16 * save.reads / 500)


def test_it_has_to_know_how_many_rows_change():
    keys = {key: value for key, value in CHAIN.items() if key not in {"modified", "growth"}}
    with pytest.raises(ScenarioError, match="'delta' has to know how many rows change"):
        scenario(keys, {"exactly": 0}).plan("p")
