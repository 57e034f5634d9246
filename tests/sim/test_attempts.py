"""Saves that turn out void, loads that fail and outages; `by_hand.toml` has most of their runs."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.basics.streams import Cause, stream
from cprsim.job.platform import Outages
from cprsim.scenario import Scenario
from cprsim.sim import draws
from cprsim.sim.engine import COLUMNS, play, simulate
from tests.by_hand import ASYNC, FULL, Run, played
from tests.policies.by_hand import seed_of

SKIP = {"after_void": "skip"}


def test_a_save_that_leaves_rows_to_others_is_always_tried_again() -> None:
    tables = {
        "model": {"tables": [{"rows": 1000, "dim": 8, "skew": {"zipf": 1.0}}]},
        "storage": {"write": "1 GB/s", "read": "1 GB/s"},
    }
    mfu = {"system": "cpr-mfu", "interval": "64 s", "fraction": 0.5, "after_void": "skip"}
    experts = {"system": "partial-experts", "experts": 4, "interval": "32 s", "expert_share": 0.5}
    for policy in (mfu, experts, experts | SKIP, experts | SKIP | {"blocking": True}):
        scenario = Scenario(
            job={"useful_time": "128 s", "samples": 10**6},
            cluster={"parameter_servers": 4},
            costs={"save": "4 s", "load": "4 s"},
            failures={"exactly": 0},
            policies={"it": policy},
            **tables | {"storage": tables["storage"] | {"save_fails": 0.5}},
        )
        assert play(scenario, "it", seed_of("xoxxoo"), 0).saves == 3, policy


# --- Outages -------------------------------------------------------------------------------------


class Clockwork:
    """In place of a stream: the store is there for 45 s each time."""

    def __init__(self, *_: object, entity: int = 0) -> None:
        self.random = np.ones

    def exponential(self, _mean_s: float, count: int) -> Any:
        return np.full(count, 45.0)


def test_what_an_outage_falls_into_is_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draws, "stream", Clockwork)

    def job(policy: dict[str, Any], *strikes: tuple[float, int]) -> Run:
        # Away from 45 to 75, from 120 to 150, from 195 to 225.
        away = {"every": "45 s", "lasts": "30 s"}
        return played(tmp_path, policy, strikes, storage={"outages": away})

    # The second save, from 72 to 80, and four tries of the third, from 120 on.
    retried = job(FULL)
    assert [end for _, end in retried.spans("save")] == [40, 80, 88, 128, 136, 144, 152, 160]
    assert (retried.ledger.saves, retried.ledger.wall) == (3, 192)
    # After 72 to 80 the next is due at 112, and is stored as the store goes away.
    skipped = job(FULL | SKIP)
    assert [end for _, end in skipped.spans("save")] == [40, 80, 120]
    assert (skipped.ledger.saves, skipped.ledger.wall) == (2, 152)
    # Stored from 33 to 41, 66 to 74 and 99 to 107.
    assert job(ASYNC).ledger.saves == 2
    # The failure is over at 74, and the store is back at 75.
    assert job(FULL, (71.0, 0)).spans("load") == [(74, 78), (78, 82)]


def test_outages_come_as_often_and_last_as_long_as_they_should() -> None:
    law = {"distribution": "gamma", "shape": 2.0, "mean": "10 s"}
    outages = Outages.model_validate({"every": "30 s", "lasts": law})
    starts_s, ends_s = draws.away_s(outages, 0, 0, 15_000).T
    at_s = np.arange(0.0, 400_000.0, 1.0)
    seen = starts_s[np.searchsorted(ends_s, at_s, side="right")] < at_s + 1e-6

    # A quarter of the time, in 10,000 cycles of 40 s: gaps vary by 30 s, lengths by 7 s.
    assert np.mean(seen) == pytest.approx(0.25, abs=4 * 0.75 * 0.25 * math.sqrt(1.5 / 10_000))
    began = np.count_nonzero(np.diff(np.asarray(seen, int)) == 1)
    assert began == pytest.approx(10_000, rel=0.05)


# --- Draws ---------------------------------------------------------------------------------------


def many(storage: dict[str, float], policies: dict[str, Any], **failures: Any) -> Scenario:
    """56 h, with failures every 6 h or as they are given."""
    return Scenario(
        job={"useful_time": "56 h"},
        cluster={"parameter_servers": 8, "trainers": 2},
        costs={
            "save": "5 min",
            "load": "2 min",
            "reschedule": {"distribution": "exponential", "mean": "4 min"},
        },
        failures=failures or {"distribution": "gamma", "shape": 0.7, "mean": "6 h"},
        storage=storage,
        policies=policies,
    )


def test_every_policy_meets_the_same_void_saves() -> None:
    # No node fails: all of them end as many saves, whatever else they are.
    void = {"save_fails": 0.3}
    hourly = {
        "full": {"system": "full", "interval": "1 h", "after_void": "skip"},
        "partial": {"system": "partial", "interval": "1 h", "after_void": "skip"},
        "async": {"system": "async", "interval": "1 h", "snapshot": "1 min"},
    }
    scenario = many(void, hourly, exactly=0)
    usable = [play(scenario, name, 3, 5).saves for name in hourly]
    rng = stream(3, 5, Cause.SAVE_VOID)

    assert usable == [sum(rng.random(55) >= 0.3)] * 3


def test_saves_and_loads_that_fail_move_no_other_draw() -> None:
    one = {"it": {"system": "partial", "interval": "1 h", "after_void": "skip"}}
    never, void = (
        simulate(many({"save_fails": chance}, one), ["it"], range(20), 0) for chance in (0.0, 0.4)
    )

    # Saves that are left out take their time all the same, so all else stays where it is.
    pls = COLUMNS.index("pls")
    assert np.array_equal(void[..., :pls], never[..., :pls])
    assert (void[..., pls] >= never[..., pls]).all()
    assert void[..., pls].sum() > never[..., pls].sum()
