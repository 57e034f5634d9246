"""Accepted loss: nobody waits, and what that loses; worked by hand."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

import cprsim
from cprsim.contract import Loss, Recover, Save
from cprsim.contract.expected import expected
from cprsim.sim.engine import COLUMNS, play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import assert_entries, log_of


class TestAcceptedLoss(PolicyConformance):
    policy: ClassVar = {"system": "accepted-loss", "interval": "4 h"}


# --- The plan ------------------------------------------------------------------------------------

POLICY = {"system": "accepted-loss", "interval": "100 s"}


def scenario(**tables: Any) -> cprsim.Scenario:
    """1,000 s on 8 servers and 4 trainers; a save takes 10 s, a recovery 5 + 50 + 20 s."""
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": {"save": "10 s", "load": "20 s", "reschedule": "50 s", "detect": "5 s"},
        "failures": {"exactly": 0},
        "policies": {"p": POLICY},
    }
    return cprsim.Scenario(**(mapping | tables))


def test_a_snapshot_a_day_by_default() -> None:
    plan = scenario(policies={"p": {"system": "accepted-loss"}}).plan("p")

    assert plan.interval_s == 86400.0
    assert plan.schedules[0].save == Save(blocking=False)
    assert plan.peer_bytes_per_s == plan.slowdown == 0.0
    assert plan.memory_overhead == 1.0  # the copy that the save under way is written from


@pytest.mark.parametrize(
    ("servers", "trainers", "answer"),
    [
        ({0}, set(), Recover("lost", keep_training=True)),
        (set(range(7)), set(), Recover("lost", keep_training=True)),
        (set(range(8)), set(), Recover("lost")),
        (set(), {0}, Recover("lost", keep_training=True, degraded=1 / 3)),
        ({3}, {0, 1, 2}, Recover("lost", keep_training=True, degraded=3.0)),
        (set(), {0, 1, 2, 3}, Recover("lost")),
    ],
)
def test_who_waits_for_whom(servers: set[int], trainers: set[int], answer: Recover) -> None:
    recover = scenario().plan("p").recover

    assert recover(Loss(frozenset(servers), frozenset(trainers))) == answer


def test_the_estimate_by_hand() -> None:
    """One failure in 500 s, of one of 8 servers: 50 s, and 10 s landing; down for 50 + 20 s."""
    failures = {"distribution": "exponential", "mean": "500 s", "hits": {"parameter_servers": 1}}
    policies = {"p": POLICY | {"snapshot": "4 s"}}
    planned = scenario(failures=failures, policies=policies)
    found = expected(planned.plan("p"), planned.context)

    assert (found.detect, found.stall) == pytest.approx((5 / 500, 4 / 100))
    assert found.overhead == pytest.approx(found.detect + found.stall)
    assert found.pls == pytest.approx((50 + 10) / 500 / 8)
    assert found.updates_lost == pytest.approx((50 + 10 + 70) / 500 / 8)


# --- Runs, worked by hand ------------------------------------------------------------------------

#: One second of one shard's updates, as a share of all.
SHARD_SECOND = 1 / 8000


#: Snapshots are taken after 100, 200, ... s of training and land 10 s later; node 8 is trainer 0.
#: What is lost for good, in seconds of one shard's updates, and entries of the ledger.
RUNS: dict[str, tuple[str, dict[str, Any], float, dict[str, float]]] = {
    # 50 s since the snapshot of 200, and 70 s until the replacement is there and filled, which
    # the job trains on.
    "a lost shard is yesterday's and nobody waits": (
        "250,0",
        {},
        50 + 70,
        {"pls": 50 * SHARD_SECOND, "detect": 5, "wall": 1005},
    ),
    # It is down until 325 on the wall clock all the same; 5 s of that are detection again.
    "the replacement that fails has nothing more to lose": (
        "250,0 300,0",
        {},
        50 + 65,
        {"detect": 10, "wall": 1010},
    ),
    # Server 0 misses 5 s less: the second detection. Server 1 fails at 295 s of training, 95 s
    # after the last snapshot.
    "a second server lost meanwhile loses its own": (
        "250,0 300,1",
        {},
        50 + 65 + 95 + 70,
        {"wall": 1010},
    ),
    # Server 0 fails at 205, and the snapshot of 200 would have landed at 210: it returns to that of
    # 100. So does server 1, after 285 s of training: until 300 there is no other. Saves at 100,
    # 300, ..., 900.
    "a failure before a snapshot has landed voids it": (
        "205,0 290,1",
        {},
        105 + 70 + 185 + 70,
        {"saves": 8},
    ),
    # From 100 to 104, but for the detection from 102 to 107: to 109. Server 0 is filled at 177,
    # 68 s of training later.
    "a snapshot goes on that a failure interrupts": (
        "102,0",
        {"snapshot": "4 s"},
        100 + 68,
        {"stall": 36, "wall": 1041},
    ),
    # That snapshot lands: server 1 fails after 191 - 9 s, 82 s later.
    "a snapshot that was interrupted is returned to": (
        "102,0 191,1",
        {"snapshot": "4 s"},
        100 + 68 + 82 + 66,
        {},
    ),
    "without any server left the job waits": (
        " ".join(f"250,{server}" for server in range(8)),
        {},
        8 * 50,
        {"detect": 5, "reschedule": 50, "load": 20, "wall": 1075},
    ),
    # Seven miss what is trained until 325: 45 s from 255 to 300, when the eighth fails after 295 s
    # of training. It is waited for until 375.
    "the last server left is waited for alone": (
        " ".join([*(f"250,{server}" for server in range(7)), "300,7"]),
        {},
        7 * (50 + 45) + 95,
        {"wall": 1005 + 75},
    ),
    # Three of four for the 50 s that the replacement takes.
    "the other trainers go on slower": (
        "250,8",
        {},
        0,
        {"pls": 0, "slowdown": 50 / 4, "wall": 1005 + 50 / 4},
    ),
    "without any trainer left the job waits": (
        " ".join(f"250,{trainer}" for trainer in range(8, 12)),
        {},
        0,
        {"reschedule": 50, "slowdown": 0, "wall": 1055},
    ),
    # 90 s since the snapshot of 900, and the last 10 s of training.
    "a shard that is down when the job ends has missed the rest": (
        "990,0",
        {},
        90 + 10,
        {"wall": 1005},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_accepted_losses_by_hand(name: str, tmp_path: Path) -> None:
    strikes, keys, lost, entries = RUNS[name]
    planned = scenario(failures=log_of(tmp_path, strikes), policies={"p": POLICY | keys})

    assert_entries(play(planned, "p", 0, 0), {"updates_lost": lost * SHARD_SECOND} | entries)


def test_a_failure_of_the_spare_loses_nothing_more(tmp_path: Path) -> None:
    # The spare takes over at 255 and would be filled at 275; hit at 260, so it is, 5 s of that
    # being detection.
    cluster = {"parameter_servers": 8, "trainers": 4, "spares": 1}
    run = play(scenario(cluster=cluster, failures=log_of(tmp_path, "250,0 260,0")), "p", 0, 0)

    assert_entries(run, {"updates_lost": (50 + 15) * SHARD_SECOND, "wall": 1010})


# --- Beside partial recovery ---------------------------------------------------------------------

FAILURES = {"distribution": "exponential", "mean": "200 s"}
PARTIAL = {"system": "partial", "interval": "100 s"}


def test_where_nothing_takes_time_it_is_partial_recovery() -> None:
    """To the last digit: there is nothing to wait for, and a save lands at once."""
    free = {"save": "0 s", "load": "0 s", "reschedule": "0 s", "detect": "5 s"}
    policies = {"p": POLICY, "partial": PARTIAL}
    both = simulate(
        scenario(costs=free, policies=policies, failures=FAILURES | {"while_waiting": False}),
        list(policies),
        range(50),
        0,
    )

    assert both[:, 0].tobytes() == both[:, 1].tobytes()
    assert both[:, 0].max() > 0


@pytest.mark.slow
def test_it_costs_no_time_and_loses_little_more_than_partial_recovery() -> None:
    """A failure before a save has landed loses what one in a blocking save does.

    On top comes what is trained while a shard is down, 10 s, for half a failure a job, and that a
    failure in the 10 s before a save lands voids it: 100 s for one in 200 failures.
    """
    costs = {"save": "10 s", "load": "2 s", "reschedule": "8 s"}
    hits = {"parameter_servers": 1}
    failures = {"distribution": "exponential", "mean": "2000 s", "hits": hits}
    policies = {"p": POLICY, "partial": PARTIAL}
    runs = simulate(
        scenario(costs=costs, failures=failures, policies=policies),
        ["p", "partial"],
        range(4000),
        0,
    )
    column = dict(zip(COLUMNS, runs.T, strict=True))
    ours, theirs = column["updates_lost"] / SHARD_SECOND
    more = ours - theirs

    assert column["wall"][0] == pytest.approx(1000.0, rel=1e-12)
    assert column["save"][1] == pytest.approx(90.0, rel=1e-12)
    assert more.mean() == pytest.approx(0.5 * 10.5, abs=3 * more.std() / 4000**0.5)
