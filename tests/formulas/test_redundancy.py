"""Copies and spares against `systems.md`, sections 3.7 and 3.8, and enumeration."""

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from cprsim.policies.cpr import _share_waited
from tests.formulas.forms import group_survival
from tools.validation.formulas import erlang_b


@pytest.mark.parametrize(
    ("case", "expected"),
    [((16, 2, 2), 0.93333), ((16, 2, 3), 0.8), ((16, 2, 4), 0.61538), ((128, 2, 2), 0.99213)],
)
def test_printed_survival(case, expected):
    assert group_survival(*case) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(("nodes", "copies"), [(8, 2), (9, 3), (8, 4), (6, 1), (6, 6), (10, 5)])
def test_survival_by_enumeration(nodes, copies):
    groups = [set(range(first, first + copies)) for first in range(0, nodes, copies)]
    for failed in range(nodes + 1):
        hits = [set(hit) for hit in itertools.combinations(range(nodes), failed)]
        survived = sum(not any(group <= hit for group in groups) for hit in hits)
        assert group_survival(nodes, copies, failed) == pytest.approx(survived / len(hits))


def test_many_nodes_lose_no_digits():
    # 100 of 1000 pairs' nodes: a product over the draws, each of a pair that isn't hit yet.
    exact = Fraction(1)
    for drawn in range(100):
        exact *= Fraction(2000 - 2 * drawn, 2000 - drawn)
    assert group_survival(2000, 2, 100) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("spares", "load", "expected"), [(2, 1.0, 0.0625), (1, 1.6, 0.329897), (4, 3.072, 0.116245)]
)
def test_printed_stalls(spares, load, expected):
    assert erlang_b(spares + 1, load) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize("channels", range(6))
def test_erlang_b_sum(channels):
    # a^c / c! over the sum of a^j / j!, the formula that the recursion stands for
    terms = [1.7**j / math.factorial(j) for j in range(channels + 1)]
    assert erlang_b(channels, 1.7) == pytest.approx(terms[-1] / sum(terms))


def test_erlang_b_at_its_ends():
    assert erlang_b(0, 3.0) == 1.0
    assert erlang_b(3, 0.0) == 0.0
    assert erlang_b(10_000, 5000.0) == 0.0  # underflows, where a^c / c! would overflow


def test_stalls_of_repairs_in_two_stages():
    # Two spares, repairs of two exponential stages (Erlang-2): the chain of (nodes in stage one,
    # nodes in stage two), solved for its stationary distribution.
    nodes, spares, mtbf, repair = 5, 2, 40.0, 6.0
    states = [(i, j) for i in range(spares + 2) for j in range(spares + 2 - i)]
    rates = np.zeros((len(states), len(states)))
    for (i, j), row in zip(states, rates, strict=True):
        if i + j <= spares:
            row[states.index((i + 1, j))] = nodes / mtbf
        if i:
            row[states.index((i - 1, j + 1))] = 2 * i / repair
        if j:
            row[states.index((i, j - 1))] = 2 * j / repair
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[-1] = 1.0
    shares = np.linalg.solve(balance, np.eye(len(states))[-1])
    stalled = sum(share for (i, j), share in zip(states, shares, strict=True) if i + j > spares)
    assert erlang_b(spares + 1, nodes * repair / mtbf) == pytest.approx(stalled)


@pytest.mark.parametrize(("spares", "away"), [(1, 0.3), (2, 1.0), (3, 4.0)])
def test_a_pool_of_spares_is_waited_for_so_long(spares: int, away: float) -> None:
    """Failures at a constant rate; each sends a machine to the pool and takes the first there."""
    rng, now, waits = np.random.default_rng(7), 0.0, []
    pool = [0.0] * spares
    for gap in rng.exponential(1 / away, 200_000).tolist():
        now += gap
        waits.append(max(heapq.heappushpop(pool, now + 1.0) - now, 0.0))
    batches = np.array(waits).reshape(200, -1).mean(axis=1)

    error = batches.std(ddof=1) / 200**0.5
    assert abs(_share_waited(spares, away) - batches.mean()) < 3 * error


def test_without_spares_the_whole_delay_is_waited_for() -> None:
    assert _share_waited(0, 0.5) == 1.0
    assert _share_waited(4, 0.0) == 0.0
