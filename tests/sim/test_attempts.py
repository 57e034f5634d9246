"""Saves that turn out void and loads that fail, worked by hand.

The job has 128 s of training on four servers; it saves every 32 s, which takes 8 s. Noticing a
failure takes 1 s, replacing nodes 2 s, loading 4 s. Half of all saves or loads fail: which ones,
`o` for those that succeed and `x` for the others, is a matter of the seed.
"""

import math
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.basics.streams import Cause, stream
from cprsim.job.platform import Outages
from cprsim.scenario import Scenario
from cprsim.sim import draws
from cprsim.sim.engine import COLUMNS, play, simulate
from cprsim.sim.observer import BackgroundTask
from cprsim.testing import Recording
from tests.by_hand import ASYNC, FULL, PARTIAL, Run, played

SKIP, RETRY = {"after_void": "skip"}, {"after_void": "retry"}


def seed_of(saves: str = "", loads: str = "") -> int:
    """One whose first saves and loads go so."""

    def goes(seed: int, cause: Cause, pattern: str) -> bool:
        rng = stream(seed, 0, cause)
        return all((rng.random() < 0.5) == (each == "x") for each in pattern)

    return next(
        seed
        for seed in count()
        if goes(seed, Cause.SAVE_VOID, saves) and goes(seed, Cause.LOAD_FAILED, loads)
    )


@dataclass
class Seen(Recording):
    """Also what went on in the background."""

    tasks: list[tuple[str, float, float]] = field(default_factory=list)

    def background(
        self, task: BackgroundTask, start_s: float, end_s: float, completed: bool
    ) -> None:
        self.tasks.append((task.kind, start_s, end_s))


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """`job(policy, strikes, saves="xo")` plays the job of this page."""

    def playing(
        policy: dict[str, Any],
        *strikes: tuple[float, int],
        saves: str = "",
        loads: str = "",
        final_save: bool = False,
        **tables: Any,
    ) -> Run:
        storage = {"save_fails": 0.5 if saves else 0.0, "load_fails": 0.5 if loads else 0.0}
        return played(
            tmp_path,
            policy,
            strikes,
            seed_of(saves, loads),
            Seen(),
            job={"final_save": final_save},
            storage=storage | tables.pop("storage", {}),
            **tables,
        )

    return playing


# --- Saves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [FULL, PARTIAL | RETRY])
def test_a_void_save_is_tried_again_at_once(job: Any, policy: dict[str, Any]) -> None:
    run = job(policy, saves="oxxoo")

    # The second takes three tries, from 72 to 96.
    assert run.spans("save")[:4] == [(32, 40), (72, 80), (80, 88), (88, 96)]
    assert (run.ledger.save, run.ledger.wall) == (40, 168)
    assert (run.ledger.saves, run.ledger.stored) == (3, 5)  # void ones were written, too


def test_a_void_save_is_left_out_until_the_next_is_due(job: Any) -> None:
    # The second, of 64 s of training, ends at 80 for nothing; the next is due at 112. Server 0
    # fails at 100 s, with 84 s of training done, of which the first checkpoint holds 32.
    full = job(FULL | SKIP, (100.0, 0), saves="oxoo")
    assert (full.ledger.lost, full.ledger.pls) == (52, 0)
    # From 32 on it saves at 64 and 96, what it would have saved without a failure.
    assert full.ledger.wall == 100 + 7 + 96 + 2 * 8

    partial = job(PARTIAL | SKIP, (100.0, 0), saves="oxoo")
    assert partial.ledger.pls == partial.ledger.updates_lost == 52 / 128 / 4
    assert (partial.ledger.saves, partial.ledger.save) == (2, 24)
    assert partial.ledger.wall == 128 + 24 + 7


def test_a_failure_in_a_further_try_is_one_in_a_save(job: Any) -> None:
    # It strikes 4 s into the second try, at 44: under full recovery all is void, and training
    # starts over at 51; under partial recovery the try goes on there, and lasts until 55.
    full = job(FULL, (44.0, 0), saves="xoooo")
    assert (full.ledger.lost, full.ledger.save) == (32, 8 + 4 + 24)
    partial = job(PARTIAL, (44.0, 0), saves="xoooo")
    assert partial.spans("save")[:3] == [(32, 40), (40, 44), (51, 55)]
    assert partial.ledger.pls == 32 / 128 / 4


def test_a_void_save_in_the_background_is_left_out_or_sent_again(job: Any) -> None:
    # Taken from 32 to 33, it is stored at 41, or at 49 if it is sent again. Of the 66 s of
    # training that are done at 100, the save of 64 (stored at 74 + 8 at most) holds 64.
    left_out = job(ASYNC, (60.0, 0), saves="xooooo")
    assert left_out.ledger.lost == 59
    sent_again = job(ASYNC | RETRY, (60.0, 0), saves="xooooo")
    assert sent_again.ledger.lost == 59 - 32
    assert sent_again.seen.tasks[:2] == [("save", 33, 41), ("save", 41, 49)]
    assert sent_again.ledger.stall == len(sent_again.spans("stall"))


@pytest.mark.parametrize("policy", [FULL | SKIP, ASYNC, ASYNC | RETRY])
def test_the_last_save_is_always_tried_again(job: Any, policy: dict[str, Any]) -> None:
    run = job(policy, saves="oooxxo", final_save=True)

    assert run.ledger.saves == 4
    waited = [end - start for start, end in run.spans("save")]
    assert sum(waited[-3:]) == 24


def test_a_save_that_leaves_rows_to_others_is_always_tried_again(job: Any) -> None:
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


def test_what_lies_with_hosts_never_turns_out_void(job: Any) -> None:
    tiers = {
        "local": {"interval": "16 s", "save": "1 s", "load": "1 s"},
        "remote": {"interval": "64 s", "save": "8 s", "load": "4 s"},
    }
    run = job({"system": "tiered"} | tiers, saves="xo")

    # Those of 16, 32, 48, 80, 96 and 112 s take 1 s each; that of 64 s takes two tries.
    assert run.ledger.save == 6 + 16
    assert run.ledger.saves == 7
    skipped = job({"system": "tiered"} | SKIP | tiers, saves="xo")
    # The local tier, which that of 64 s would have served, is then due: 7 of them.
    assert skipped.ledger.save == 7 + 8
    assert (skipped.ledger.saves, skipped.ledger.stored) == (7, 1)


# --- Loads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [FULL, PARTIAL])
def test_a_failed_load_is_begun_again(job: Any, policy: dict[str, Any]) -> None:
    run = job(policy, (50.0, 0), loads="xxo")

    assert run.spans("load") == [(53, 57), (57, 61), (61, 65)]
    assert run.ledger.failures == 1
    assert run.ledger.lost == (10 if policy is FULL else 0)
    assert run.ledger.updates_lost == (0 if policy is FULL else 10 / 128 / 4)


def test_a_failure_strikes_while_a_load_is_begun_again(job: Any) -> None:
    # 2 s into the second load server 1 fails, which is noticed at 60 and replaced at 62.
    run = job(PARTIAL, (50.0, 0), (59.0, 1), loads="xo")

    assert run.spans("load") == [(53, 57), (57, 59), (62, 66)]
    assert run.ledger.pls == 2 * 10 / 128 / 4
    # As a load that never ended, that one drew nothing.
    assert run.ledger.failures == 2


def test_a_failure_when_a_load_has_failed_strikes_in_the_next(job: Any) -> None:
    run = job(FULL, (50.0, 0), (57.0, 1), loads="xo")

    assert run.spans("load") == [(53, 57), (57, 57), (60, 64)]


def test_a_server_is_filled_again_in_the_background(job: Any) -> None:
    lossy = {"system": "accepted-loss", "interval": "64 s"}
    once, thrice = (job(lossy, (16.0, 0), loads=loads) for loads in ("o", "xxo"))

    # Down for 2 + 4 s after the failure was noticed, and for two loads more.
    assert once.ledger.updates_lost == (16 + 6) / 128 / 4
    assert thrice.ledger.updates_lost == (16 + 6 + 8) / 128 / 4
    assert once.ledger.wall == thrice.ledger.wall


def test_copies_of_peers_never_fail(job: Any) -> None:
    copies = {"system": "replication", "interval": "64 s"}
    run = job(copies, (16.0, 0), loads="xxx")
    assert run.seen.tasks == job(copies, (16.0, 0)).seen.tasks


# --- Outages -------------------------------------------------------------------------------------


class Clockwork:
    """In place of a stream: the store is there for 45 s each time."""

    def __init__(self, *_: object, entity: int = 0) -> None:
        self.random = np.ones

    def exponential(self, _mean_s: float, count: int) -> Any:
        return np.full(count, 45.0)


def test_what_an_outage_falls_into_is_in_vain(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "stream", Clockwork)
    # Away from 45 to 75, from 120 to 150, from 195 to 225.
    away = {"storage": {"outages": {"every": "45 s", "lasts": "30 s"}}}

    # The second save, from 72 to 80, and four tries of the third, from 120 on.
    retried = job(FULL, **away)
    assert [end for _, end in retried.spans("save")] == [40, 80, 88, 128, 136, 144, 152, 160]
    assert (retried.ledger.saves, retried.ledger.wall) == (3, 192)
    # After 72 to 80 the next is due at 112, and is stored as the store goes away.
    skipped = job(FULL | SKIP, **away)
    assert [end for _, end in skipped.spans("save")] == [40, 80, 120]
    assert (skipped.ledger.saves, skipped.ledger.wall) == (2, 152)
    # Stored from 33 to 41, 66 to 74 and 99 to 107.
    assert job(ASYNC, **away).ledger.saves == 2
    # The failure is over at 74, and the store is back at 75.
    assert job(FULL, (71.0, 0), **away).spans("load") == [(74, 78), (78, 82)]


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
