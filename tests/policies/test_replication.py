"""Replication: how often copies are not enough."""

from itertools import combinations

import pytest

import cprsim


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


@pytest.mark.slow
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
