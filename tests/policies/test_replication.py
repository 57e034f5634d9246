"""Replication: what goes down the chain, who takes over, and when copies are not enough."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.contract import Loss, Recover
from cprsim.contract.expected import expected
from cprsim.sim.engine import play, simulate

# --- The plan ------------------------------------------------------------------------------------


def scenario(policy: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """100 s on 3 servers with cards of 4 GB/s; 4 trainers pull and push 6 GB in a useful second."""
    mapping: dict[str, Any] = {
        "job": {"useful_time": "100 s", "network": "6 GB/s"},
        "model": {"embedding": "30 GB"},
        "cluster": {"parameter_servers": 3, "trainers": 4, "nic": "4 GB/s"},
        "storage": {"write": "100 GB/s", "read": "100 GB/s"},
        "failures": {"exactly": 0},
        "policies": {"p": {"system": "replication", "slowdown": 0.0} | policy},
    }
    return cprsim.Scenario(**(mapping | tables))


@pytest.mark.parametrize(
    ("copies", "aggregation", "passed_on_gb", "slowdown_s"),
    [
        # Pushed updates come in at 2 GB/s a server, and what is passed on besides, of 4 GB/s.
        (1, 1, 0.0, 0.0),
        (2, 1, 6.0, 0.0),  # 2 + 2: the card is just full
        (3, 1, 12.0, 50.0),  # 2 + 4: 1.5 s for each useful second
        (3, 2, 6.0, 0.0),
        (3, 4, 3.0, 0.0),
    ],
)
def test_updates_pass_from_copy_to_copy(
    copies: int, aggregation: int, passed_on_gb: float, slowdown_s: float
) -> None:
    played = scenario({"copies": copies, "aggregation": aggregation})
    plan, run = played.plan("p"), play(played, "p", 0, 0)

    assert plan.peer_bytes_per_s == passed_on_gb * 1e9
    assert plan.memory_overhead == copies - 1
    assert run.slowdown == pytest.approx(slowdown_s, abs=1e-9)
    assert run.wall == pytest.approx(100 + slowdown_s, rel=1e-12)


@pytest.mark.parametrize(
    ("keys", "down", "degraded"),
    [
        ({}, {0}, 0.5),  # the next takes in 2 x 2 + 2 GB/s, of 4; before that it was just full
        ({"copies": 3}, {0}, 1.0),  # 2 x 2 + 4, where the card was too full with 2 + 4
        ({"copies": 3}, {0, 1}, 1.5),  # two in a row: server 2 has the requests of all
        ({"copies": 3}, {2, 0}, 1.5),  # on the ring they are in a row, too
        ({"copies": 2, "aggregation": 4}, {0}, 4.5 / 4 - 1),  # 2 x 2 + 0.5; 2.5 had room
        ({"degraded": 0.2}, {0}, 0.25),  # what was measured wins: of throughput, here of time
        ({}, {}, 0.0),
    ],
)
def test_the_next_server_has_the_requests_of_a_lost_one(
    keys: dict[str, Any], down: set[int], degraded: float
) -> None:
    answer = scenario(keys).plan("p").recover(Loss(frozenset(down), frozenset()))
    assert answer.degraded == pytest.approx(degraded)


def test_copying_shares_the_cards_with_training(tmp_path: Path) -> None:
    """2 + 2 GB/s of 4 are in use; the lost server's 10 GB come into its replacement's card.

    Max-min gives each 2 GB/s: copying takes 10 / 2 = 5 s, in which training does 2.5 useful
    seconds. It takes 2.5 s longer.
    """
    log = tmp_path / "log.csv"
    log.write_text("time_s,node\n10,0\n")
    run = play(scenario({"takeover": "0 s"}, failures={"trace": str(log)}), "p", 0, 0)

    assert run.slowdown == pytest.approx(2.5, rel=1e-12)
    assert run.wall == pytest.approx(102.5, rel=1e-12)


@pytest.mark.parametrize(
    ("servers", "trainers", "answer"),
    [
        ({0}, set(), Recover("none", keep_training=True, source="copies", pause_s=1.0)),
        ({0, 1}, set(), Recover("none", keep_training=True, source="copies", pause_s=1.0)),
        ({0}, {0}, Recover("none", source="copies")),
        (set(), {0, 1}, Recover("none", source="copies")),
        ({7, 0, 1}, set(), Recover("all")),
        ({7, 0, 1}, {2}, Recover("all")),
    ],
)
def test_the_neighbours_serve(servers: set[int], trainers: set[int], answer: Recover) -> None:
    policy = {"copies": 3, "takeover": "1 s"}
    cluster = {"parameter_servers": 8, "trainers": 4, "nic": "4 GB/s"}
    recover = scenario(policy, cluster=cluster).plan("p").recover

    assert recover(Loss(frozenset(servers), frozenset(trainers))) == answer


def test_the_estimate_counts_taking_over() -> None:
    failures = {"distribution": "exponential", "mean": "50 s", "hits": {"parameter_servers": 1}}
    planned = scenario({"takeover": "1 s"}, failures=failures)
    found = expected(planned.plan("p"), planned.context)

    assert found.reschedule == pytest.approx(1 / 50)
    assert found.updates_lost == found.lost == found.load == 0.0


# --- One copy is none ----------------------------------------------------------------------------


@pytest.mark.parametrize("interval", ["40 s", "optimal"])
def test_with_one_copy_it_is_full_recovery_to_the_last_digit(interval: str) -> None:
    replication = {"copies": 1, "aggregation": 4, "takeover": "1 s", "interval": interval}
    policies = {
        "replication": {"system": "replication"} | replication,
        "full": {"system": "full", "interval": interval},
    }
    failures = {"distribution": "exponential", "mean": "50 s", "hits": {"parameter_servers": 2}}
    played = scenario({}, policies=policies, failures=failures)
    both = simulate(played, list(policies), range(50), 0)

    assert both[:, 0].tobytes() == both[:, 1].tobytes()
    assert both[:, 0].max() > 0


# --- Rings, counted out --------------------------------------------------------------------------


def stands(down: tuple[int, ...], servers: int, copies: int) -> bool:
    """Whether no `copies` neighbours on a ring are all down."""
    return not any(
        all((first + i) % servers in down for i in range(copies)) for first in range(servers)
    )


@pytest.mark.parametrize(("copies", "hit"), [(2, 2), (2, 4), (3, 4)])
def test_how_often_copies_are_all_hit_at_once(copies: int, hit: int) -> None:
    every = list(combinations(range(16), hit))
    share = sum(stands(down, 16, copies) for down in every) / len(every)
    played = cprsim.Scenario(
        job={"useful_time": "100 s"},
        cluster={"parameter_servers": 16},
        costs={"save": "1 s", "load": "1 s"},
        failures={"exactly": 1, "hits": {"parameter_servers": hit}},
        policies={"p": {"system": "replication", "copies": copies}},
    )
    lost = cprsim.run(played, replications=2000).replications.lost_s

    spread = (share * (1 - share) / 2000) ** 0.5
    assert (lost == 0).mean() == pytest.approx(share, abs=3 * spread)


def test_how_long_a_ring_stands_that_nobody_mends() -> None:
    """8 servers that live 100 s on average, for 40 s, none of them replaced.

    After that each is down with probability q, on its own; sum over who is.
    """
    q = 1 - 2.718281828459045**-0.4
    standing = sum(
        q ** len(down) * (1 - q) ** (8 - len(down))
        for number in range(9)
        for down in combinations(range(8), number)
        if stands(down, 8, 2)
    )
    played = cprsim.Scenario(
        job={"useful_time": "40 s"},
        cluster={"parameter_servers": 8},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1000 s"},
        failures={"distribution": "exponential", "mean": "100 s", "per": "node"},
        policies={"p": {"system": "replication", "copies": 2}},
    )
    lost = cprsim.run(played, replications=1500).replications.lost_s

    spread = (standing * (1 - standing) / 1500) ** 0.5
    assert (lost == 0).mean() == pytest.approx(standing, abs=3 * spread)
