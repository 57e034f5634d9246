"""Deltas that another machine merges, beside another program."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from tests.policies.by_hand import DIFFERENCES, job_of, log_of

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


def test_it_has_to_know_how_many_rows_change():
    keys = {key: value for key, value in CHAIN.items() if key not in {"modified", "growth"}}
    with pytest.raises(ScenarioError, match="'delta' has to know how many rows change"):
        scenario(keys, {"exactly": 0}).plan("p")
