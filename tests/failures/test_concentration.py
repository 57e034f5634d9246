"""How unevenly failures are spread over nodes, against what can be counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import node_failures, worst_share


def log(nodes: list[int], population: int | None = None, kinds=None) -> FailureLog:
    times = np.arange(len(nodes), dtype=float)
    return FailureLog(times, np.array(nodes), 0.0, 9.0, kinds=kinds, population=population)


@pytest.mark.parametrize(
    ("nodes", "population", "counts"),
    [
        ([2, 2, 0], None, [2, 1]),
        ([2, 2, 0], 4, [2, 1, 0, 0]),
        ([0], 1, [1]),
    ],
)
def test_every_node_is_counted_those_that_never_fail_too(nodes, population, counts):
    assert node_failures(log(nodes, population)).counts.tolist() == counts


def test_a_trainer_and_a_server_of_one_number_are_two_nodes():
    kinds = ("trainer", "parameter_server", "trainer")

    assert node_failures(log([0, 0, 0], None, kinds)).counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("counts", "tenth", "share"),
    [
        ([1] * 10, 0.1, 0.1),
        ([9, *[0] * 9], 0.1, 1.0),
        ([3, 4, 1, *[0] * 7], 0.1, 4 / 8),
        ([1, 4, 3, *[0] * 12], 0.1, 5.5 / 8),  # 1.5 of 15 nodes: the worst, and half of the next
        ([1, 3], 0.1, 0.15),  # a fifth of a node with 3 of 4
        ([5, 2], 0, 0.0),
        ([5, 2], 1, 1.0),
    ],
)
def test_the_share_of_the_worst(counts, tenth, share):
    assert worst_share(np.array(counts), tenth) == pytest.approx(share, rel=1e-12)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(sum), st.floats(0, 1))
def test_the_worst_have_no_less_than_their_share_in_any_order(counts, tenth):
    share = worst_share(np.array(counts), tenth)

    assert tenth <= share + 1e-12 <= 1 + 2e-12
    assert share == worst_share(np.array(counts[::-1]), tenth)
