"""What lost updates cost of learning: -ln(1 - u) of each shard, a mean over all (rule 24)."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.contract import Save, Schedule
from cprsim.machine import rules
from cprsim.machine.codes import MORE_ROOM
from cprsim.machine.rules import LEAST_KEPT
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from tests.sim.learned import State

NEAR, FAR = Save("near"), Save("far")
TIERS = (Schedule(10.0, NEAR), Schedule(30.0, FAR))


def learning_lost(*shares: float) -> float:
    """Of shards that have lost these shares of their own updates for good."""
    return -math.fsum(math.log(1 - each) for each in shares) / len(shares)


def state(**more: Any) -> State:
    """A job of 100 s on four servers."""
    return State(useful_time_s=100.0, servers=4, schedules=TIERS, **more)


# --- One shard -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "lost"),
    [
        (0.0, 0.0),
        (1e-12, 1e-12),
        (0.01, 0.0100503358535),
        (0.5, math.log(2)),
        (0.75, math.log(4)),
        (1 - LEAST_KEPT, math.log(1e4)),
        (1.0, math.log(1e4)),
        (1.0 + 1e-15, math.log(1e4)),
    ],
)
def test_a_shard_that_keeps_a_share_of_its_samples_loses_its_logarithm(
    share: float, lost: float
) -> None:
    assert rules.learning_lost(share) == pytest.approx(lost, rel=1e-11)


# --- By hand: when which shards of four fail in a job of 100 s, and what each has lost -----------

#: Interval, when which servers are lost, shares of updates that each shard has lost for good.
CASES: dict[str, tuple[str, list[tuple[float, int]], list[float]]] = {
    "never saved, lost at three quarters": ("never", [(75, 0)], [0.75, 0, 0, 0]),
    "never saved, lost at the end": ("never", [(99.999, 0)], [0.99999, 0, 0, 0]),
    "lost twice, what is lost is lost once": ("never", [(25, 1), (75, 1)], [0, 0.75, 0, 0]),
    "two shards, each its own": ("never", [(25, 1), (75, 2)], [0, 0.25, 0.75, 0]),
    "a save between two losses": ("50 s", [(25, 1), (75, 1)], [0, 0.25 + 0.25, 0, 0]),
    "many small losses": ("10 s", [(10 * i + 5, 3) for i in range(10)], [0, 0, 0, 0.5]),
    "the same, one of each shard": ("10 s", [(10 * i + 5, i) for i in range(4)], [0.05] * 4),
}


@pytest.mark.parametrize("case", CASES)
def test_losses_by_hand(tmp_path: Path, case: str) -> None:
    interval, failures, lost = CASES[case]
    for found in played(tmp_path, failures, {"system": "partial", "interval": interval}):
        assert found["updates_lost"] == pytest.approx(math.fsum(lost) / 4)
        kept = [min(each, 1 - LEAST_KEPT) for each in lost]
        assert found["learning_lost"] == pytest.approx(learning_lost(*kept))


def test_a_share_is_one_of_the_shards_own_updates(tmp_path: Path) -> None:
    policy = {"system": "partial", "interval": "never"}
    for found in played(tmp_path, [(75, 0), (75, 3)], policy, updates=[5, 2, 2, 1]):
        assert found["updates_lost"] == pytest.approx(0.75 * (0.5 + 0.1))
        assert found["learning_lost"] == pytest.approx(learning_lost(0.75, 0, 0, 0.75))


def test_what_a_shard_misses_while_it_is_away_counts(tmp_path: Path) -> None:
    policy = {"system": "accepted-loss", "interval": "50 s"}
    for found in played(tmp_path, [(20, 2)], policy, {"reschedule": "30 s"}):
        assert found["updates_lost"] == pytest.approx(0.5 / 4)
        assert found["learning_lost"] == pytest.approx(learning_lost(0, 0, 0.5, 0))


def played(
    folder: Path,
    failures: Sequence[tuple[float, int]],
    policy: dict[str, Any],
    costs: dict[str, str] | None = None,
    **cluster: Any,
) -> list[dict[str, float]]:
    """The ledger of a job whose saves and recoveries take no time, by either engine."""
    lines = [
        "time_s,node,kind",
        *(f"{at_s},{server},parameter_server" for at_s, server in failures),
    ]
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    free = dict.fromkeys(("save", "load", "reschedule"), "0 s")
    job = Scenario(
        job={"useful_time": "100 s"},
        cluster={"trainers": 1, "parameter_servers": 4, **cluster},
        costs=free | (costs or {}),
        failures={"trace": str(folder / "log.csv")},
        policies={"it": policy},
    )
    one, other = simulate(job, ["it"], [0], 0), batch.simulate(job, ["it"], [0], 0)
    assert one.tobytes() == other.tobytes()
    return [dict(zip(COLUMNS, each[0, 0].tolist(), strict=True)) for each in (one, other)]


# --- Returns to checkpoints ----------------------------------------------------------------------


def test_a_job_that_returns_takes_back_what_its_shards_lost_since() -> None:
    job = state()
    job.train_to(10.0)
    job.lose([0], "near")  # 10 s
    job.usable(job.taken(NEAR), NEAR)
    job.usable(job.taken(FAR), FAR)
    job.train_to(20.0)
    job.lose([0, 1], "near")  # 10 s each
    job.usable(job.taken(NEAR), NEAR)
    job.train_to(30.0)
    job.lose([2], "near")
    assert job.learning_lost == pytest.approx(learning_lost(0.2, 0.1, 0.1, 0))

    job.roll_back("near")
    assert job.learning_lost == pytest.approx(learning_lost(0.2, 0.1, 0, 0))
    job.roll_back("far")
    assert job.learning_lost == pytest.approx(learning_lost(0.1, 0, 0, 0))
    job.train_to(30.0)
    job.lose([3], "far")
    assert job.learning_lost == pytest.approx(learning_lost(0.1, 0, 0, 0.2))
    job.roll_back("")
    assert (job.learning_lost, job.updates_lost) == (0.0, 0.0)


def test_rows_that_a_save_leaves_out_are_lost_of_each_shard() -> None:
    save = Save("near", portion=0.5, unsaved_s=(4.0,))
    job = State(100.0, 4, (Schedule(10.0, save),))
    job.train_to(10.0)
    job.usable(job.taken(save), save)
    job.train_to(20.0)
    job.lose([1], "near")  # 10 s since the save, 4 s of other rows
    assert job.updates_lost == pytest.approx(0.14 / 4)
    assert job.learning_lost == pytest.approx(learning_lost(0, 0.14, 0, 0))


def test_a_job_that_returns_lacks_the_rows_that_its_save_left_out() -> None:
    save = Save("near", portion=0.5, unsaved_s=(4.0,))
    job = State(100.0, 4, (Schedule(10.0, save),), update_shares=[0.5, 0.2, 0.2, 0.1])
    job.train_to(10.0)
    job.usable(job.taken(save), save)
    job.train_to(20.0)
    job.roll_back("near")  # 4 s of a mean shard's updates, of each
    assert job.updates_lost == pytest.approx(0.04)
    assert job.learning_lost == pytest.approx(learning_lost(0.02, 0.05, 0.05, 0.1))


@pytest.mark.parametrize("room", [2, 3, 7])
def test_little_room_changes_nothing(room: int) -> None:
    """What no checkpoint can take back is forgotten."""
    rng = np.random.default_rng(room)
    small, large = state(room=room), state()
    for step in range(60):
        servers, rolls = [int(rng.integers(4))], rng.random() < 0.2
        for job in (small, large):
            job.train_to(job.progress_s + 1.0)
            job.lose(servers, "near")
            if step % 2:
                job.usable(job.taken(NEAR), NEAR)
            if rolls:
                job.roll_back("near")
        assert small.status == 0
        assert small.learning_lost == large.learning_lost > 0


def test_what_a_save_under_way_may_take_back_is_kept() -> None:
    job = state(room=2)
    job.train_to(10.0)
    job.lose([0], "near")
    taken = job.begun(NEAR)
    for to_s, server in ((20.0, 1), (30.0, 2)):  # there is no room for a third loss
        job.train_to(to_s)
        job.lose([server], "near")
    job.usable(taken, NEAR)
    job.roll_back("near")
    assert job.learning_lost == pytest.approx(learning_lost(0.1, 0, 0, 0))


def test_too_little_room_is_said() -> None:
    job = state(room=1)
    job.train_to(10.0)
    job.lose([0], "near")
    job.usable(job.taken(FAR), FAR)
    job.train_to(20.0)
    job.lose([1], "near")
    assert job.status == 0  # what is in the only checkpoint is never taken back
    job.train_to(30.0)
    job.lose([2], "near")
    assert job.status == MORE_ROOM


def test_both_engines_take_back_as_much_where_losses_are_many() -> None:
    """More than there is room for at first, between checkpoints that were verified."""
    job = Scenario(
        job={"useful_time": "20 d"},
        cluster={"trainers": 2, "parameter_servers": 4},
        costs=dict.fromkeys(("save", "load", "reschedule", "verify"), "1 min"),
        failures={
            "distribution": "exponential",
            "mean": "2 h",
            "silent": {"distribution": "exponential", "mean": "8 d"},
        },
        policies={"it": {"system": "partial", "interval": "6 h", "verify_every": 20, "keep": 30}},
    )
    one, other = (each(job, ["it"], range(8), 0) for each in (simulate, batch.simulate))
    assert one.tobytes() == other.tobytes()
    lost = {name: one[..., COLUMNS.index(name)] for name in ("lost", "updates_lost")}
    assert (lost["lost"] > 0).any()
    assert (one[..., COLUMNS.index("learning_lost")] > lost["updates_lost"]).all()
