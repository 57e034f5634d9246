"""Accepted loss: nobody waits, and what that loses; worked by hand."""

from typing import Any, ClassVar

import pytest

import cprsim
from cprsim.contract import Loss, Recover, Save
from cprsim.contract.expected import expected
from cprsim.sim.engine import COLUMNS, simulate
from cprsim.testing import PolicyConformance


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


#: One second of one shard's updates, as a share of all.
SHARD_SECOND = 1 / 8000


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
